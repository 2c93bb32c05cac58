//! The laboratory: what the five papers show in figures and claim in numbers, reproduced by simulation and compared
//! with what they print.
//!
//! A figure is a driver in `figures/`, workloads in `workloads/` where it has any, and a table in `expected/`: what
//! the paper prints, how near to that is near enough, and what the small version measures, which a test compares.
//! What does not reproduce says so in its table, with the reason; no tolerance is made to hide it.

mod catalog;
mod claim;
mod cost;
mod error;
mod expected;
mod figures;
mod measurements;
mod reproduce;
mod requests;
mod run;
mod setting;
mod study;

pub use catalog::{Figure, all, find};
pub use claim::{Claim, Printed, Value, Verdict};
pub use error::LabError;
pub use measurements::Measurements;
pub use reproduce::{Reproduction, reproduce};
pub use setting::Setting;
