//! The one event model that every importer speaks.
//!
//! Importers hand events over one at a time, in the order of time as far as the file knows it, and keep none:
//! the engine behind them decides how much memory a trace needs.

use divvy_policy::CpuId;
use divvy_results::schedule::State;
use std::fmt;

/// A thread's name as the kernel keeps it: at most 15 bytes, any bytes but NUL.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Comm {
    len: u8,
    bytes: [u8; 15],
}

impl Comm {
    /// The first 15 bytes of `name`, up to a NUL.
    pub fn new(name: &[u8]) -> Self {
        let end = name.iter().position(|&b| b == 0).unwrap_or(name.len()).min(15);
        let mut bytes = [0; 15];
        bytes[..end].copy_from_slice(&name[..end]);
        Comm { len: end as u8, bytes }
    }

    /// The bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// True when no name is known.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The name for people: invalid UTF-8 and control characters are shown as replacement characters.
    pub fn printable(&self) -> String {
        let replace = |c: char| {
            if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }
        };
        String::from_utf8_lossy(self.as_bytes()).chars().map(replace).collect()
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.printable())
    }
}

/// A thread as an event names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRef {
    /// Thread id; 0 is the idle task of the CPU in question.
    pub tid: i32,
    /// Name at that moment; empty when the event has none.
    pub comm: Comm,
    /// Kernel priority: 100..=139 is nice -20..=19, lower is real-time or deadline.
    pub prio: Option<i16>,
}

impl TaskRef {
    /// A thread with a name and an unknown priority.
    pub fn named(tid: i32, comm: &[u8]) -> Self {
        TaskRef { tid, comm: Comm::new(comm), prio: None }
    }
}

/// The context in which an event was recorded: the activity of the CPU at that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// The current thread, -1 when unknown.
    pub tid: i32,
    /// Its process (thread group), -1 when unknown.
    pub process: i32,
    /// Whether it was in an interrupt (hard or soft); `None` when the format does not say.
    pub interrupt: Option<bool>,
}

impl Context {
    /// Nothing is known.
    pub const UNKNOWN: Context = Context { tid: -1, process: -1, interrupt: None };
}

/// One scheduler event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The trace's own clock, nanoseconds.
    pub t_ns: u64,
    /// The CPU that recorded it.
    pub cpu: CpuId,
    /// The context in which it was recorded.
    pub context: Context,
    /// The kind of event.
    pub kind: Kind,
}

/// The kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The CPU goes from one thread to another.
    Switch {
        /// The thread that leaves the CPU.
        prev: TaskRef,
        /// In which state it leaves: still runnable, asleep, dead.
        state: State,
        /// The thread that gets the CPU.
        next: TaskRef,
    },
    /// A thread is about to be woken; recorded on the CPU of the waker (`sched_waking`).
    Waking {
        /// The thread that is woken.
        task: TaskRef,
    },
    /// A woken thread is on a run queue (`sched_wakeup`), perhaps recorded on another CPU.
    Woken {
        /// The thread that is woken.
        task: TaskRef,
    },
    /// A new thread is on a run queue for the first time (`sched_wakeup_new`).
    WokenNew {
        /// The new thread.
        task: TaskRef,
    },
    /// A thread was made. It is not runnable before its `WokenNew`.
    Fork {
        /// The thread that made it, 0 or negative when unknown.
        parent: i32,
        /// The new thread.
        child: TaskRef,
        /// The new thread's process, -1 when unknown.
        process: i32,
    },
    /// The thread's name changed (exec or prctl).
    Rename {
        /// The thread with its new name.
        task: TaskRef,
    },
    /// The thread will not come back once it leaves the CPU.
    Exit {
        /// Which thread.
        tid: i32,
    },
    /// The kernel's own account of CPU time that a thread has received since the last such event.
    Runtime {
        /// Which thread.
        task: TaskRef,
        /// How much.
        ns: u64,
    },
    /// A fact about a thread that was there before the recording. Has no time of its own.
    Identity {
        /// The thread.
        task: TaskRef,
        /// Its process, -1 when unknown.
        process: i32,
    },
    /// A thread's cgroup, by its number. Has no time of its own.
    Cgroup {
        /// Which thread.
        tid: i32,
        /// The cgroup's number.
        cgroup: u64,
    },
    /// The recorder lost events on this CPU.
    Lost {
        /// How many, 0 when unknown.
        events: u64,
    },
    /// A scheduler event without data that is needed here. It still shows which thread is on the CPU.
    Other,
}
