//! The baselines against their papers: worked examples, references that are written here from the formulas, and
//! the ranges of error that the GR3 paper prints.

#[path = "../policy_prio/bench.rs"]
#[allow(dead_code, reason = "shared with the tests of other policies")]
mod bench;
#[path = "../policy_shares/lockstep.rs"]
#[allow(dead_code, reason = "shared with the tests of other policies")]
mod lockstep;

mod blind;
mod cases;
mod clairvoyant;
mod linux;
mod lottery;
mod queues;
mod rounds;
mod study;
mod virtual_time;
