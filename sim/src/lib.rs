//! Runs divvy's scheduling policies against workloads, and measures what each task got.

pub mod engine;
pub mod entitlement;
pub mod oracle;
pub mod replay;
pub mod run;
pub mod sharing;
