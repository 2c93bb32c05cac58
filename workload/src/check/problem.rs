//! A problem that a check finds, and its place in the workload.

/// A problem of a workload: its place, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}{help}", if .help.is_empty() { "" } else { "; " })]
pub struct Problem {
    /// The part that is wrong.
    pub place: Place,
    /// The problem.
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
}

/// A part of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The machine's setting of this key.
    Workload(&'static str),
    /// The topology's setting of this key.
    Topology(&'static str),
    /// The group of this index.
    Group(usize),
    /// The barrier of this index.
    Barrier(usize),
    /// The task of this index, and its setting of this key.
    Task(usize, &'static str),
    /// The task of this index, and the path to a step: an index into the program, then into the bodies of loops.
    Step(usize, Vec<usize>),
}

impl Problem {
    pub(super) fn new(place: Place, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place, message: message.into(), help: help.into() }
    }
}
