//! The program of a replayed thread: how much CPU time it needs, and what it waits for.

/// One thread's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayTask {
    /// Printable name.
    pub name: String,
    /// Thread id in the recording. Not unique: numbers are used again.
    pub tid: i32,
    /// Process: name and number of its leader, or of the thread itself where the trace does not say.
    pub process: String,
    /// When it becomes runnable for the first time.
    pub start: Start,
    /// Nice value; -20 for real-time threads, 0 when unknown.
    pub nice: i32,
    /// The steps of its program. A program without [`Step::Exit`] ends with the recording.
    pub steps: Vec<Step>,
}

impl ReplayTask {
    /// Whether it needs CPU time for ever.
    pub fn is_endless(&self) -> bool {
        self.steps.last() == Some(&Step::Endless)
    }
}

/// When a task starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At a time from the start of the recording, nanoseconds.
    At(u64),
    /// When the task with this index reaches the [`Step::Fork`] that names it.
    ForkedBy(usize),
}

/// One step of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Needs CPU time.
    Run {
        /// How much.
        ns: u64,
    },
    /// Ends another task's wait for a dependency, the present one or the next.
    Wake {
        /// Index of that task.
        task: usize,
    },
    /// Starts another task.
    Fork {
        /// Index of that task.
        task: usize,
    },
    /// Sleeps.
    Wait(Cause),
    /// Ends for good.
    Exit,
    /// Needs CPU time for ever: in the recording it never slept and did not end.
    Endless,
    /// Begins again at the first step: in the recording it was there all the time, and the replay lasts as long.
    Repeat,
}

/// The cause that ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// One [`Step::Wake`] that names this task. A wake that comes first is remembered.
    Dependency,
    /// A timer set at the start of the wait.
    Timer {
        /// Its duration.
        ns: u64,
    },
    /// A timer with a period of its own.
    Periodic {
        /// Time from the start of the recording. If that is past, the wait ends at once.
        at_ns: u64,
    },
    /// A device answers.
    Device {
        /// After this time.
        ns: u64,
    },
    /// Something outside of the workload.
    External {
        /// Time from the start of the recording. If that is past, the wait ends at once.
        at_ns: u64,
    },
    /// Not known.
    Unknown {
        /// The recorded duration.
        ns: u64,
    },
}

/// When a wait ends, which is all that a simulator has to know of its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// When a wake comes, or has come.
    OnWake,
    /// After this many nanoseconds.
    After(u64),
    /// At this time from the start of the recording, or at once.
    At(u64),
}

impl Cause {
    /// When a wait with this cause ends.
    pub fn timing(self) -> Timing {
        match self {
            Cause::Dependency => Timing::OnWake,
            Cause::Timer { ns } | Cause::Device { ns } | Cause::Unknown { ns } => Timing::After(ns),
            Cause::Periodic { at_ns } | Cause::External { at_ns } => Timing::At(at_ns),
        }
    }
}
