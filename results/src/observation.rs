//! Observations of a run: schedules, figures and claims are made from them.

use divvy_policy::{CpuId, TaskId};

/// Service on a CPU, from one accounting to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The CPU.
    pub cpu: CpuId,
    /// Index into the result's rows.
    pub row: usize,
    /// The task; open arrivals have many to a row.
    pub task: TaskId,
    /// Start, in ns.
    pub from_ns: u64,
    /// End, in ns.
    pub to_ns: u64,
}

/// Something that happened in a run. Observations come in order of time; service comes when it is accounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A task had a CPU.
    Served(Service),
    /// A task became runnable.
    Woken {
        /// The task.
        task: TaskId,
        /// Index into the result's rows.
        row: usize,
        /// Time, in ns.
        at_ns: u64,
        /// The CPU whose task caused it; `None` for a timer.
        by: Option<CpuId>,
    },
    /// The task on a CPU left it and is not runnable.
    Rests {
        /// The task.
        task: TaskId,
        /// Time, in ns.
        at_ns: u64,
    },
    /// A number that the policy keeps of a task, after an instant at which something happened to the task.
    Value {
        /// The task.
        task: TaskId,
        /// Index into the policy's shown numbers, as `divvy_policy::Machine::shown` lists them.
        value: u32,
        /// Time, in ns.
        at_ns: u64,
        /// Its new value.
        number: i64,
    },
    /// A job ended.
    JobDone(JobDone),
    /// A task ended; its number may be used again.
    Gone {
        /// The task.
        task: TaskId,
        /// Time, in ns.
        at_ns: u64,
    },
}

/// Gets the observations of a run.
pub type Observer<'a> = &'a mut dyn FnMut(Observation);

/// A job that ended, whether or not the warm-up was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobDone {
    /// The task.
    pub task: TaskId,
    /// Index into the result's rows.
    pub row: usize,
    /// When it began, in ns.
    pub from_ns: u64,
    /// When it ended, in ns.
    pub to_ns: u64,
    /// CPU time that it received, in ns.
    pub service_ns: u64,
    /// Time in which it was runnable and not running, in ns.
    pub wait_ns: u64,
}
