//! pbs, eevdf, cfs and their logarithm, each against an expectation that shares no code with it.

mod bench;
mod cfs;
mod eevdf;
mod log2;
mod pbs;
mod pbs_choice;
mod pbs_properties;
