//! The commands: each has its arguments and runs them.

pub mod advise;
pub mod completions;
pub mod convert;
pub mod doctor;
pub mod enable;
pub mod exercise;
pub mod flow;
pub mod help;
pub mod latency;
pub mod load;
pub mod man;
pub mod map;
pub mod paper;
pub mod paper_kernel;
pub mod play;
pub mod policies;
pub mod record;
pub mod replay;
pub mod report;
pub mod scheduler_log;
pub mod set;
pub mod sim;
pub mod sweep;
pub mod timehist;
pub mod top;
pub mod verify;
