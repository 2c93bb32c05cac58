//! Intervals of a thread: it ran, waited or slept, from when to when.

use divvy_policy::CpuId;
use divvy_results::schedule::State;

/// A time in which a thread did one thing. A thread's intervals are in order, without gaps and without overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Start, nanoseconds from the first event of the recording.
    pub start_ns: u64,
    /// End, in the same unit.
    pub end_ns: u64,
    /// The thread's activity.
    pub activity: Activity,
    /// Cut by the start or the end of the recording, or by lost events. Such an interval counts for utilisation, but would
    /// be misleading in a percentile.
    pub censored: bool,
    /// A switch was missing, so the start or the end was inferred from other events.
    pub inferred: bool,
}

impl Interval {
    /// Length, in ns.
    pub fn len_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// A thread's activity in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It runs.
    Run {
        /// The CPU.
        cpu: CpuId,
    },
    /// It could run and waits for a CPU.
    Wait {
        /// How it came to wait.
        why: Queued,
    },
    /// It sleeps.
    Blocked {
        /// In which state.
        state: State,
        /// The cause of its end.
        wake: Wake,
    },
    /// Events were lost, or it had not been seen yet.
    Unknown,
}

/// How a thread came to wait for a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queued {
    /// It was woken: the wait is its wake-up delay.
    Woken,
    /// It was taken off its CPU while it could still run: preempted, slice over, or yielded.
    Preempted,
    /// It is new.
    New,
}

/// The cause that ended a sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A thread of the recording, by its index.
    By(u32),
    /// An interrupt, or code on an idle CPU: a timer, a device, the network.
    Interrupt,
    /// A thread that [`crate::Recording::keep`] removed.
    Removed,
    /// The thread ran again, but its wake is not in the trace.
    Missing,
    /// The recording ends first.
    Never,
}
