//! The kernel's side of divvy: policies as sched_ext schedulers, and what programs' behaviour was learned.

pub mod flow;
pub mod load;
