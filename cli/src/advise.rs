//! A search for settings (policy, quantum, weights) under which a workload reaches goals. Many candidates run for a short time, the best
//! of them for longer, and the last few for the whole time in several repetitions: successive halving.

mod candidate;
mod search;

pub use candidate::{Candidate, candidates, default_specs};
pub use search::{Advice, Finding, Problem, search};
