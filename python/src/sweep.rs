//! The result of a sweep.

use divvy_sweep::Finished;
use pyo3::prelude::*;

use crate::error::InternalError;
use crate::table::Table;
use crate::tables;

/// All points of a sweep, and its CSV, of which they were read.
#[pyclass(frozen, module = "divvy._divvy")]
pub struct Sweep {
    csv: String,
    finished: Finished,
}

impl Sweep {
    /// Reads a CSV that is whole.
    pub fn read(csv: String) -> PyResult<Sweep> {
        let finished = divvy_sweep::read(&csv).map_err(InternalError::new_err)?;
        Ok(Sweep { csv, finished })
    }
}

#[pymethods]
impl Sweep {
    /// The bytes that `-o x.csv` writes.
    #[getter]
    fn csv(&self) -> &str {
        &self.csv
    }

    /// The points as `--format json` writes them.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.finished).map_err(|error| InternalError::new_err(error.to_string()))
    }

    fn rows(&self) -> PyResult<Table> {
        Table::new(tables::rows(&self.finished))
    }
}
