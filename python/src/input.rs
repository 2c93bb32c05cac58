//! Arguments as the rooms above take them.

use std::path::PathBuf;

use divvy_policy::Chosen;
use divvy_policy::units::parse_duration_ns;
use divvy_sim::run::Options;
use divvy_workload::{MAX_CPUS, Workload, WorkloadError};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use crate::error::{raised, usage};

/// Most repetitions, as the command has it.
const MOST_REPS: u32 = 10_000;

/// A workload: a file, or its text.
#[derive(FromPyObject)]
pub enum Source {
    /// A name, and the text itself.
    Text(String, String),
    /// The path of a file.
    File(PathBuf),
}

impl Source {
    /// Reads it, and says where it differs from the file.
    pub fn workload(&self) -> Result<(Workload, Vec<String>), WorkloadError> {
        match self {
            Source::File(path) => Workload::load(path),
            Source::Text(name, text) => Workload::parse_any(text, name),
        }
    }

    /// Its text, which a sweep changes, and its name.
    pub fn text(&self) -> Result<(String, String), WorkloadError> {
        match self {
            Source::File(path) => Ok((Workload::read(path)?, path.display().to_string())),
            Source::Text(name, text) => Ok((text.clone(), name.clone())),
        }
    }
}

/// The machine, random numbers and repetitions of a run. Times are texts, as in `30s`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Run {
    seed: u64,
    reps: u32,
    cpus: Option<u32>,
    duration: Option<String>,
    quantum: Option<String>,
}

impl Run {
    /// The options of a simulation.
    pub fn options(&self) -> PyResult<Options> {
        let Run { seed, reps, cpus, .. } = *self;
        if !(1..=MOST_REPS).contains(&reps) {
            return Err(usage(format!("reps={reps}: it must be 1 to {MOST_REPS}")));
        }
        if let Some(cpus) = cpus.filter(|cpus| !(1..=MAX_CPUS).contains(cpus)) {
            return Err(usage(format!("cpus={cpus}: it must be 1 to {MAX_CPUS}")));
        }
        let duration_ns = positive_ns("duration", self.duration.as_deref())?;
        let quantum_ns = positive_ns("quantum", self.quantum.as_deref())?;
        Ok(Options { seed, reps, cpus, duration_ns, quantum_ns, ..Options::default() })
    }
}

/// A time above 0, if it was given.
pub fn positive_ns(name: &str, text: Option<&str>) -> PyResult<Option<u64>> {
    match text.map(parse_duration_ns).transpose() {
        Ok(Some(0)) => Err(usage(format!("{name}: it must be more than 0"))),
        Ok(ns) => Ok(ns),
        Err(what) => Err(usage(format!("{name}: {what}"))),
    }
}

/// The policies of specs, each once; their files are compiled.
pub fn policies(specs: &[String], baseline: Option<&str>) -> PyResult<Chosen> {
    Chosen::read(specs, baseline).map_err(raised)
}

/// Python's warnings, for what the command says on stderr.
pub fn warn(py: Python<'_>, notes: impl IntoIterator<Item = String>) -> PyResult<()> {
    for note in notes {
        let note = std::ffi::CString::new(note.replace('\0', " "))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &note, 2)?;
    }
    Ok(())
}
