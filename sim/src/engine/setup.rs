//! How to run a workload, apart from the workload itself.

use crate::sharing::Sharing;

/// How to run a workload, apart from the workload itself.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of all random streams.
    pub seed: u64,
    /// Repetition: part of the streams' names.
    pub rep: u32,
    /// When to stop; a run also ends when all tasks have.
    pub until_ns: Option<u64>,
    /// Number of first decisions to list for each CPU.
    pub schedule: usize,
    /// The meaning of the rows of the result.
    pub rows: Rows,
    /// The rule by which weights entitle tasks to service.
    pub sharing: Sharing,
}

/// The meaning of the rows of a result.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Each task instance; all instances together for open arrivals and forked tasks.
    EachInstance,
    /// All tasks of a name; a name for each task of the workload.
    Named(Vec<String>),
}
