//! Runs divvy's scheduling policies against workloads, and measures what each task got.

pub mod course;
pub mod engine;
pub mod export;
pub mod figures;
pub mod observed;
pub mod oracle;
pub mod policy;
pub mod quantity;
pub mod replay;
pub mod report;
pub mod run;
pub mod sharing;
pub mod spec;
pub mod stats;
pub mod workload;
