//! The laboratory: figures and claims of the five papers, reproduced by simulation and compared with the printed values.
//!
//! A [`Figure`] is a figure, a table or a worked example of a paper. It has a driver in `figures/`, workloads in `workloads/`
//! if it needs some, and a table in `expected/`. The table lists the claims: what the paper prints, the tolerance, and what
//! the small version measures, which a test compares. A claim that does not reproduce says so in its table, with the reason;
//! no tolerance is widened to hide it.
//!
//! 1. [`all`] lists the figures, [`find`] finds one by its ID.
//! 2. [`reproduce()`] runs a figure with a [`Setting`]: small or full, the seed, the progress, and a directory for results of
//!    runs that take minutes.
//! 3. The [`Reproduction`] has a [`Claim`] with its [`Verdict`] for each row of the table, other measured values, and plots.
//!
//! Some figures also run in a kernel: [`kernel`].
//!
//! # Units
//! The name of a claim states its unit; a [`Value`] is in this unit. Figures take times from simulated clocks, so the same
//! seed gives the same bytes on any machine. Only costs (`gr3-12`, `gr3-13`, `sfs-7`, `sfs-table-1`, `flow-overhead`) are times of this
//! machine: their results vary between runs, and they compare ratios of one run.
//!
//! # How to add a figure
//! Write the driver in `figures/`: a function from [`Setting`] to [`Measurements`]. Write the table in `expected/ID.toml`.
//! Add a line to the list in `catalog.rs`. Tests check that names are unique, that every claim is measured, and that the
//! verdicts of the small version are those that the table foresees.

mod catalog;
mod claim;
mod cost;
pub mod csv;
mod drawing;
mod error;
mod expected;
mod figures;
pub mod json;
pub mod kernel;
mod measured;
mod measurements;
mod papers;
mod reproduce;
mod requests;
mod run;
mod setting;
mod source;
mod study;
mod web;

pub use catalog::{Figure, all, find};
pub use claim::{Claim, Stated, Tolerance, Verdict, judge};
pub use error::LabError;
pub use measured::{Measured, Spread, Value, number_text};
pub use measurements::Measurements;
pub use papers::{Listed, Status, all_of_the_papers};
pub use reproduce::{Reproduction, reproduce};
pub use setting::Setting;
pub use source::Source;
