//! What happens in a run, as an observer is told: schedules, figures and claims are made of it.

use divvy_policy::TaskId;

/// A stretch of service on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Which CPU.
    pub cpu: u32,
    /// Index into the result's rows.
    pub row: usize,
    /// The task; open arrivals have many to a row.
    pub task: TaskId,
    /// From, in ns.
    pub from_ns: u64,
    /// Until, in ns.
    pub to_ns: u64,
}

/// What an observer is told, in order of time: of a stretch of service, when it is accounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A task had a CPU.
    Served(Service),
    /// A task became runnable.
    Woken {
        /// Which.
        task: TaskId,
        /// Index into the result's rows.
        row: usize,
        /// When, in ns.
        at_ns: u64,
        /// The CPU whose task did it; none if it was a timer.
        by: Option<u32>,
    },
    /// The task on a CPU left it and is not runnable.
    Rests {
        /// Which.
        task: TaskId,
        /// When, in ns.
        at_ns: u64,
    },
    /// What the policy keeps of a task, after an instant at which something happened to it.
    Value {
        /// Which.
        task: TaskId,
        /// Index into [`Machine::shown`].
        value: u32,
        /// When, in ns.
        at_ns: u64,
        /// How much.
        number: i64,
    },
    /// A job ended.
    JobDone(JobDone),
    /// A task is no more; its number may be used again.
    Gone {
        /// Which.
        task: TaskId,
        /// When, in ns.
        at_ns: u64,
    },
}

/// Told of what happens to tasks.
pub type Observer<'a> = &'a mut dyn FnMut(Observation);

/// A job that ended, whether or not the warm-up was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobDone {
    /// Index into the result's rows.
    pub row: usize,
    /// When it began, in ns.
    pub from_ns: u64,
    /// When it ended, in ns.
    pub to_ns: u64,
    /// What it received, in ns.
    pub service_ns: u64,
}
