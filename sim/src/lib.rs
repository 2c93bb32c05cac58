//! Runs divvy's scheduling policies against workloads, and measures what each task got.

pub mod report;
pub mod stats;
pub mod workload;
