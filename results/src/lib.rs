//! Results of runs: one schema for the simulator, a replay and real threads.
//!
//! - [`report`] is the schema of `--format json`: a [`report::Report`] has runs, a [`report::Run`] has tasks.
//! - [`observation`] is what the engine tells while it runs; [`metrics`] makes the numbers of a report from it, and
//!   [`schedule`] makes a [`schedule::Schedule`]: which task ran on which CPU, from when to when.
//! - [`stats`] has distributions of times and confidence intervals in bounded memory.
//! - [`pooled`] has a task's numbers over all repetitions, [`compare`] compares policies, [`summary`] says in one sentence what a comparison supports,
//!   [`verdict`] says it in numbers, [`groups`] has the totals of processes and classes, and [`measure`] finds a number of a report by
//!   its name.
//! - [`figures`] has the data of pictures. Views only draw them.
//! - [`csv`] and [`text`] format values.
//!
//! Times are in nanoseconds. The same input gives the same numbers on every machine.
//!
//! ```
//! use divvy_results::stats::interval95;
//!
//! let interval = interval95(&[9.0, 10.0, 11.0]).expect("at least two values");
//! assert_eq!(interval.mean, 10.0);
//! assert!((interval.half_width - 2.484).abs() < 0.001);
//! ```

pub mod compare;
pub mod csv;
pub mod determinism;
pub mod figures;
pub mod groups;
pub mod measure;
pub mod metrics;
pub mod observation;
pub mod pooled;
pub mod prediction;
pub mod progress;
pub mod report;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod schedule;
pub mod stats;
pub mod summary;
pub mod text;
pub mod verdict;
