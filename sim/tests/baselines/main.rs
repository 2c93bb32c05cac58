//! The baselines against their papers: worked examples, references that are written here from the formulas, and
//! the ranges of error that the GR3 paper prints.

#[path = "../policy_shares/lockstep.rs"]
#[allow(dead_code, reason = "shared with the tests of the papers' own policies")]
mod lockstep;

mod cases;
mod queues;
mod rounds;
mod study;
