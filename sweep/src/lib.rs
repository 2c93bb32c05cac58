//! Sweeps: a workload under policies, at every combination of values of what is varied.
//!
//! [`Plan::new`] reads and checks everything before anything runs. [`run`] gives a row for each policy and point: means
//! over repetitions, with 95 % intervals by Student's t, each repetition being one value. Repetition `r` has the same
//! random numbers under all policies and at all points (common random numbers), so that differences between rows
//! have less noise than the rows: with a baseline there are rows of differences from it, repetition by repetition. Rows come in a fixed order, with the same bytes on any number of threads.

mod load;
mod measure;
#[cfg(feature = "parquet")]
pub mod parquet;
mod plan;
mod read;
mod run;
pub mod table;
mod toml_value;
mod vary;

use divvy_policy::spec::SpecError;
use divvy_sim::run::RunError;
use divvy_workload::WorkloadError;

use divvy_policy::{Failure, FailureKind};
pub use measure::{Estimate, MEASURES, Measure, Row};
pub use plan::{Plan, SweepOptions, WarmUp};
pub use read::{Finished, read};
pub use run::run;
pub use table::TableError;
pub use vary::Vary;

/// Why a sweep cannot be run, or broke off.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A `--vary` does not read, or names nothing.
    #[error("--vary {vary}: {what}")]
    Vary {
        /// As given.
        vary: String,
        /// What is wrong with it.
        what: String,
    },
    /// More than there may be.
    #[error("the sweep has {}, more than {most}; vary less, or allow more with --max-points", some(*points, *most))]
    TooMany {
        /// How many there are; one more than there may be stands for any number.
        points: u64,
        /// How many there may be.
        most: u64,
    },
    /// What was asked for does not go together.
    #[error("{0}")]
    Options(String),
    /// A value that the workload does not take.
    #[error("{}{error}", before(at))]
    Workload {
        /// The point; empty before anything is varied.
        at: String,
        /// Why not.
        error: Box<WorkloadError>,
    },
    /// A value that a policy does not take.
    #[error("at {at}: {error}")]
    Spec {
        /// The point.
        at: String,
        /// Why not.
        error: Box<SpecError>,
    },
    /// A run has no result.
    #[error("at {at}: {error}")]
    Run {
        /// The point.
        at: String,
        /// Why not.
        error: RunError,
    },
}

fn before(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!("at {at}: ") }
}

fn some(points: u64, most: u64) -> String {
    if points == most + 1 { "too many points".to_owned() } else { format!("{points} points") }
}

impl Failure for SweepError {
    fn kind(&self) -> FailureKind {
        match self {
            SweepError::Workload { .. } => FailureKind::BadInput,
            SweepError::Run { error, .. } => error.kind(),
            SweepError::Vary { .. }
            | SweepError::TooMany { .. }
            | SweepError::Options(_)
            | SweepError::Spec { .. } => FailureKind::Usage,
        }
    }
}
