//! The state of one thread during reconstruction. A thread is a number and its generation, because numbers are used again.

use crate::event::{Comm, TaskRef};
use crate::interval::{Queued, Wake};
use divvy_policy::CpuId;
use divvy_results::schedule::State;

/// A thread that goes to sleep is open to wakers a little before its switch is recorded: the time that the kernel needs in between
/// to choose the next thread.
const EARLY_WAKE_NS: u64 = 50_000;

/// The present activity of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Unknown,
    /// Made, but not runnable yet.
    Embryo,
    Runnable(Queued),
    /// On that CPU.
    Running(CpuId),
    Blocked(State),
    Dead,
}

#[derive(Debug)]
pub(crate) struct Life {
    pub tid: i32,
    pub process: Option<i32>,
    /// Number of its last cgroup.
    pub cgroup: Option<u64>,
    /// Index of the thread that made it.
    pub parent: Option<usize>,
    pub first_comm: Comm,
    pub comm: Comm,
    pub prio: Option<i16>,
    pub phase: Phase,
    pub since_ns: u64,
    /// Became runnable for the first time at `start_ns`, within the recording.
    pub born: bool,
    pub start_ns: u64,
    pub exiting: bool,
    /// The present interval is the first.
    pub is_first: bool,
    /// The start of the present interval was inferred.
    pub inferred: bool,
    /// The last wake while it ran, and its time: the thread may have been on its way to sleep.
    pub early: Option<(Wake, u64)>,
    /// It runs after a sleep whose wake has not been seen.
    pub wake_missing: bool,
    /// The CPU where it last ran, and that CPU's losses then.
    pub last_on: Option<(CpuId, u32)>,
    pub migrations: u64,
    /// CPU time by switches.
    pub run_ns: u64,
    /// CPU time by the kernel's account.
    pub kernel_ns: u64,
    /// The part of it that no run has claimed yet.
    pub unclaimed_ns: u64,
}

impl Life {
    pub fn new(task: &TaskRef, since_ns: u64, known: Option<(i32, Comm)>) -> Self {
        let (process, name) = known.unwrap_or((-1, Comm::default()));
        let comm = if task.comm.is_empty() { name } else { task.comm };
        Life {
            tid: task.tid,
            process: (process > 0).then_some(process),
            cgroup: None,
            parent: None,
            first_comm: comm,
            comm,
            prio: task.prio,
            phase: Phase::Unknown,
            since_ns,
            born: false,
            start_ns: since_ns,
            exiting: false,
            is_first: true,
            inferred: false,
            early: None,
            wake_missing: false,
            last_on: None,
            migrations: 0,
            run_ns: 0,
            kernel_ns: 0,
            unclaimed_ns: 0,
        }
    }

    /// Takes over a name and a priority.
    pub fn learn(&mut self, task: &TaskRef) {
        if !task.comm.is_empty() {
            self.comm = task.comm;
            if self.first_comm.is_empty() {
                self.first_comm = task.comm;
            }
        }
        self.prio = task.prio.or(self.prio);
    }

    /// The first thread of a process gives its number to the thread that calls exec when it has ended, but for its last switch.
    pub fn may_be_succeeded(&self) -> bool {
        match self.phase {
            Phase::Dead => true,
            Phase::Running(_) | Phase::Runnable(_) => self.exiting,
            _ => false,
        }
    }

    /// It was preempted while it exited.
    pub fn is_to_leave_for_good(&self) -> bool {
        self.exiting && matches!(self.phase, Phase::Runnable(_))
    }

    /// The early wake, if it came so shortly before the thread left its CPU that it was meant for the sleep that began there.
    pub fn take_early(&mut self) -> Option<Wake> {
        let (wake, t) = self.early.take()?;
        (self.since_ns.saturating_sub(t) <= EARLY_WAKE_NS).then_some(wake)
    }

    /// It is on a CPU from `since_ns` on.
    pub fn come_on(&mut self, cpu: CpuId, losses: u32, inferred: bool) {
        self.migrations += u64::from(self.last_on.is_some_and(|(last, _)| last != cpu));
        self.last_on = Some((cpu, losses));
        self.phase = Phase::Running(cpu);
        self.inferred = inferred;
        self.early = None;
    }
}
