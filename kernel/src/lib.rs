//! The kernel's side of divvy.

pub mod log;
