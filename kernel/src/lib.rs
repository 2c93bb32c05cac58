//! The kernel's side of divvy: loads policies as sched_ext schedulers, and stores what `+flow` learned of programs.

pub mod flow;
pub mod load;
