//! The kernel's side of divvy.

pub mod flow;
pub mod load;
pub mod log;
pub mod play;
