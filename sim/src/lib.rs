//! Runs divvy's scheduling policies against workloads, and measures what each task got.

pub mod engine;
pub mod policy;
pub mod report;
pub mod stats;
pub mod workload;
