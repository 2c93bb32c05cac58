//! What runs have in common, whoever ran them: the simulator, a replay, real threads. One schema of results, the
//! statistics in it, what pictures are drawn from, and how results are compared.

pub mod compare;
pub mod csv;
pub mod figures;
pub mod measure;
pub mod metrics;
pub mod observation;
pub mod progress;
pub mod report;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod schedule;
pub mod stats;
pub mod summary;
pub mod text;
