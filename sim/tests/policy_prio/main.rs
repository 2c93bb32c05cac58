//! pbs, eevdf, cfs and their logarithm, each against an expectation that shares no code with it.

mod bench;
mod cfs;
mod cfs_queues;
mod eevdf;
#[path = "../policy_shares/lockstep.rs"]
#[allow(dead_code, reason = "shared with the tests of other policies")]
mod lockstep;
mod log2;
mod pbs;
mod pbs_choice;
mod pbs_properties;
