//! A sweep on the workers of a cluster: this end, and theirs. `divvy/cluster.py` carries the parts between them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use divvy_sweep::{Answer, Dispatch, Part, Plan, Request, SweepOptions, identity, table};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::{InternalError, raised};
use crate::sweep::Sweep;
use crate::work;

/// A sweep that workers are given parts of.
#[pyclass(frozen, module = "divvy._divvy")]
pub struct Job {
    request: String,
    state: Mutex<State>,
}

struct State {
    parts: Dispatch,
    csv: String,
}

impl Job {
    /// All rows of a plan.
    pub fn new(request: &SweepOptions, plan: Plan) -> PyResult<Job> {
        let text = json(&Request::new(request))?;
        let plan = Arc::new(plan);
        let parts = Dispatch::new(&plan, &table::shard(&plan, 1, 1), identity(request.specs));
        Ok(Job { request: text, state: Mutex::new(State { parts, csv: table::header(&plan) }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Job {
    /// All that the parts share.
    #[getter]
    fn request(&self) -> &str {
        &self.request
    }

    /// A part with its number, if so many threads of workers can use one more.
    fn next(&self, threads: usize) -> PyResult<Option<(usize, String)>> {
        let next = self.state().parts.next(threads);
        next.map(|(number, part)| Ok((number, json(&part)?))).transpose()
    }

    /// The rows of a part, for people.
    fn points(&self, number: usize) -> String {
        self.state().parts.part_points(number)
    }

    /// Takes the answer to a part.
    fn take(&self, number: usize, answer: &str, worker: &str, seconds: f64) -> PyResult<()> {
        let answer: Answer = from_json(answer)?;
        let mut state = self.state();
        let lines = state.parts.take(number, answer, worker, seconds).map_err(|(_, error)| raised(error))?;
        state.csv.push_str(&lines);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.state().parts.is_complete()
    }

    /// The result, when it is complete.
    fn sweep(&self) -> PyResult<Sweep> {
        Sweep::read(self.state().csv.clone())
    }
}

/// Runs a part on one thread of a worker, as Dask runs as many parts at a time as a worker has threads. It ends if it was cancelled.
#[pyfunction]
pub fn run_part(
    py: Python<'_>,
    request: &str,
    part: &str,
    is_cancelled: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let (request, part): (Request, Part) = (from_json(request)?, from_json(part)?);
    let look = || match is_cancelled.call0()?.is_truthy()? {
        true => Err(PyRuntimeError::new_err("cancelled")),
        false => Ok(()),
    };
    work::done_while(py, 1, look, |stop| json(&Answer::to(request, &part, stop)))
}

fn json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| InternalError::new_err(error.to_string()))
}

fn from_json<T: for<'a> serde::Deserialize<'a>>(text: &str) -> PyResult<T> {
    let other = |error| InternalError::new_err(format!("this is of another version of divvy: {error}"));
    serde_json::from_str(text).map_err(other)
}
