//! The kernel's side of divvy: loads policies as sched_ext schedulers, also at boot, runs them in a model of sched_ext, records what the kernel
//! schedules, stores what `+flow` learned of programs, shows what threads receive under the kernel's own scheduler, and makes that one fair.

pub mod apply;
mod cpu_list;
pub mod flow;
pub mod hosted;
pub mod load;
mod proc_text;
pub mod record;
pub mod service;
pub mod stock;
