//! The machine's table of tasks, for a policy that is written in Python.

use divvy_policy::called::Table;
use divvy_policy::{MAX_TASKS, TaskId};
use pyo3::prelude::*;

use crate::error::usage;

/// Facts about tasks, with the contract's names. It answers while one of the policy's methods is called.
#[pyclass(frozen, module = "divvy._divvy")]
pub struct Tasks(Table);

impl Tasks {
    /// Those of a machine.
    pub fn new(table: Table) -> Tasks {
        Tasks(table)
    }
}

fn task(id: u32) -> PyResult<TaskId> {
    let known = TaskId::from_raw(id).filter(|_| id < MAX_TASKS);
    known.ok_or_else(|| usage(format!("{id} is no task: ids begin with 1")))
}

fn answered<T>(answer: Option<T>) -> PyResult<T> {
    answer.ok_or_else(|| usage("a policy may ask this only while divvy calls one of its methods"))
}

#[pymethods]
impl Tasks {
    #[getter]
    fn ncpus(&self) -> PyResult<u64> {
        answered(self.0.cpus())
    }

    #[getter]
    fn nrunnable(&self) -> PyResult<u64> {
        answered(self.0.runnable())
    }

    #[getter]
    fn quantum(&self) -> PyResult<u64> {
        answered(self.0.quantum_ns())
    }

    fn weight_of(&self, id: u32) -> PyResult<u64> {
        answered(self.0.weight(task(id)?)).map(|weight| weight.fixed())
    }

    fn process_of_task(&self, id: u32) -> PyResult<u64> {
        answered(self.0.process(task(id)?))
    }

    fn cpu_of(&self, id: u32) -> PyResult<Option<u32>> {
        answered(self.0.cpu(task(id)?)).map(|cpu| cpu.map(|cpu| cpu.get()))
    }

    fn turn_of(&self, id: u32) -> PyResult<u64> {
        answered(self.0.turn_ns(task(id)?))
    }

    fn debit_of(&self, id: u32) -> PyResult<u64> {
        answered(self.0.debit_ns(task(id)?))
    }

    fn is_runnable(&self, id: u32) -> PyResult<bool> {
        answered(self.0.is_runnable(task(id)?))
    }

    fn is_picked(&self, id: u32) -> PyResult<bool> {
        answered(self.0.is_picked(task(id)?))
    }

    fn uncharged(&self, id: u32, now: u64) -> PyResult<u64> {
        answered(self.0.uncharged_ns(task(id)?, now))
    }
}
