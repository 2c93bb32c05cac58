//! The native half of the Python package `divvy`: it calls the rooms above as the command does, and hands out tables as Arrow.
//!
//! Python's half, in `divvy/`, reads the arguments and draws. What comes here are paths, texts and numbers.

mod cluster;
mod entry;
mod error;
mod input;
mod own;
mod report;
mod sweep;
mod sys;
mod table;
mod tables;
mod tasks;
mod work;

use pyo3::prelude::*;

/// Made for `divvy`, and no interface of its own.
#[pymodule]
mod _divvy {
    #[pymodule_export]
    use super::cluster::{Job, run_part};
    #[pymodule_export]
    use super::entry::{
        claims, description, descriptions, figures, headers, job, nanoseconds, palette, replay, simulate,
        sweep,
    };
    #[pymodule_export]
    use super::error::{BadInput, DivvyError, InternalError, RunError, UsageError};
    #[pymodule_export]
    use super::report::Report;
    #[pymodule_export]
    use super::sweep::Sweep;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::tasks::Tasks;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
