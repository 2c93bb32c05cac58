//! The kernel's side of divvy: loads policies as sched_ext schedulers, runs them in a model of sched_ext, records what the kernel
//! schedules, and stores what `+flow` learned of programs.

mod cpu_list;
pub mod flow;
pub mod hosted;
pub mod load;
pub mod record;
