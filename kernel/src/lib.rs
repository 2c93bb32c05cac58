//! The kernel's side of divvy.

pub mod load;
pub mod play;
