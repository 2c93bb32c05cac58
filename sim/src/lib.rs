//! Runs divvy's scheduling policies against workloads, and measures what each task got.

pub mod policy;
pub mod quantity;
pub mod report;
pub mod spec;
