//! The kernel's side of divvy: policies as sched_ext schedulers.

pub mod load;
