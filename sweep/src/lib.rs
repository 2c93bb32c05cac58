//! Parameter studies: a workload under policies, at every combination of the varied values.
//!
//! 1. [`Plan::new`] reads the workload, the policies and the keys to vary ([`Vary`]), and checks every value before anything
//!    runs. The plan has a fixed order of rows.
//! 2. [`run()`] simulates rows on all cores, and hands out each [`Row`] as soon as it and all rows before it are done.
//! 3. [`table`] writes rows as CSV, finds the finished part of an interrupted file, and merges the files of shards. [`read()`]
//!    takes such a file apart again, for JSON and pages, [`sentences`] says it in short; with the feature `parquet`, `parquet::write` converts it.
//!
//! For a cluster, [`Request`] and [`Part`] carry some rows of a plan to another process, and [`Answer`] brings them back. [`Dispatch`]
//! divides a plan into such parts, and [`identity()`] tells whether the other process gives the same.
//!
//! # Numbers
//! A row has means over repetitions, with 95 % intervals by Student's t; each repetition is one value. Repetition `r` has
//! the same random numbers under all policies and at all points (common random numbers), so differences between rows have
//! less noise than the rows. With a baseline there are also rows of differences from it, repetition by repetition. Names of
//! times end in `_ns`; shares are parts of 1.
//!
//! # Same bytes
//! The same sweep has the same bytes on any number of threads, in one run, resumed, or merged from shards. [`Plan::id`]
//! identifies it: files of another sweep are refused.
//!
//! # Example
//! ```
//! use divvy_policy::spec::parse_list;
//! use divvy_sim::run::Options;
//! use divvy_sweep::{Plan, SweepOptions, SweepError, Vary, run, table};
//!
//! let text = r#"
//! duration = "100ms"
//! task = [{ name = "a", program = [{ run = "1ms" }, { sleep = "2ms" }] }, { name = "b", program = [{ run = "forever" }] }]
//! "#;
//! let specs = parse_list(&["rr,sfq".to_owned()], divvy_policy::all())?;
//! let varied = [Vary::parse("task.a.weight=1,2", 10)?];
//! let options = Options { seed: 1, reps: 2, ..Options::default() };
//! let plan = Plan::new(&SweepOptions {
//!     text,
//!     file: "a.toml",
//!     specs: &specs,
//!     varied: &varied,
//!     options: &options,
//!     warm_up: None,
//!     per_task: false,
//!     baseline: None,
//!     most: 10,
//! })?;
//! let mut csv = table::header(&plan);
//! run(&plan, &table::shard(&plan, 1, 1), &(), |row| -> Result<(), SweepError> {
//!     csv.push_str(&table::line(&plan, &row));
//!     Ok(())
//! })?;
//! assert_eq!(csv.lines().count(), 1 + 4, "two policies at two points");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod dispatch;
mod division;
mod hash;
mod identity;
mod load;
mod measure;
#[cfg(feature = "parquet")]
pub mod parquet;
mod part;
mod plan;
mod read;
mod run;
mod summary;
pub mod table;
pub mod toml_value;
mod vary;
mod warm_up;

use divvy_policy::spec::SpecError;
use divvy_sim::run::RunError;
use divvy_workload::WorkloadError;

pub use answer::{Answer, Refused};
pub use dispatch::{ClusterError, Dispatch};
use divvy_policy::{Failure, FailureKind};
pub use identity::identity;
pub use load::{offered, overload, overload_note, with_load};
pub use measure::{Estimate, MEASURES, Measure, Row};
pub use part::{Opened, Part, Request, Unread};
pub use plan::{Plan, SweepOptions};
pub use read::{Finished, FinishedRow, KIND, Value as SweptValue, read};
pub use run::{run, run_into};
pub use summary::sentences;
pub use table::TableError;
pub use vary::Vary;
pub use warm_up::WarmUp;

/// Why a sweep cannot be run, or broke off.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A `--vary` that does not parse, or names nothing.
    #[error("--vary {vary}: {what}")]
    Vary {
        /// As given.
        vary: String,
        /// The problem.
        what: String,
    },
    /// More points than `--max-points` allows.
    #[error("the sweep has {}, more than {most}; vary less, or allow more with --max-points", some(*points, *most))]
    TooMany {
        /// The number of points; `most` + 1 stands for any larger number.
        points: u64,
        /// The largest number that is allowed.
        most: u64,
    },
    /// Options that do not fit together.
    #[error("{0}")]
    Options(String),
    /// A value that the workload does not take.
    #[error("{}{error}", before(at))]
    Workload {
        /// The point; empty before anything is varied.
        at: String,
        /// The reason.
        error: Box<WorkloadError>,
    },
    /// A value that a policy does not take.
    #[error("at {at}: {error}")]
    Spec {
        /// The point.
        at: String,
        /// The reason.
        error: Box<SpecError>,
    },
    /// A run has no result.
    #[error("at {at}: {error}")]
    Run {
        /// The point.
        at: String,
        /// The reason.
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
