//! Which task ran on which CPU, from when to when: the one type for a simulated run, a recording and a decision log.
//!
//! A [`Recorder`] makes a [`Schedule`] from the observations of a simulation. The trace room makes one from a recording,
//! and the log room from a decision log. The trace writers, the Gantt chart and the SVG timeline take it.
//!
//! [`crate::figures::Timeline`] is a different thing: a column of an HTML page, packed and rounded to fit into few bytes.
//!
//! ```
//! use divvy_results::schedule::{FIRST_TID, NICE_0, Schedule, Slice, State, Task};
//!
//! let name: std::sync::Arc<str> = "make".into();
//! let task = Task { tid: FIRST_TID, process: FIRST_TID, name: name.clone(), process_name: name, prio: NICE_0, row: 0 };
//! let slice = Slice { task: 0, from_ns: 0, to_ns: 4_000_000, left: State::Sleep };
//! let schedule =
//!     Schedule { to_ns: 10_000_000, tasks: vec![task], cpus: vec![vec![slice]], ..Schedule::default() };
//! assert_eq!(schedule.cpus[0][0].len_ns(), 4_000_000);
//! ```

mod activity;
mod decisions;
mod recorder;
mod service_errors;

use std::sync::Arc;

use divvy_policy::CpuId;

pub use activity::{Activity, activities};
pub use decisions::{Decision, decisions};
pub use recorder::{Recorder, Window};
pub use service_errors::with_service_errors;

/// Most slices, wake-ups and rests that a schedule keeps. Each needs at most 32 bytes.
pub const MOST_EVENTS: usize = 1 << 23;

/// The first thread id for tasks that have none of a kernel, so that they do not look like its first threads.
pub const FIRST_TID: i32 = 1000;

/// The kernel's priority of nice 0.
pub const NICE_0: i16 = 120;

/// Which task ran where, what woke it, and numbers over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Start, in ns.
    pub from_ns: u64,
    /// End, in ns.
    pub to_ns: u64,
    /// Whether the schedule ends early because it had no room for more events.
    pub is_cut: bool,
    /// All tasks that ran or were woken.
    pub tasks: Vec<Task>,
    /// The slices of each CPU, in order of time, without overlap.
    pub cpus: Vec<Vec<Slice>>,
    /// Wake-ups, in order of time.
    pub wakes: Vec<Wake>,
    /// Jobs that began and ended within it, in order of their ends; kept if [`Window::jobs`] asks for them.
    pub jobs: Vec<Job>,
    /// Where events of a recording were lost.
    pub losses: Vec<Loss>,
    /// Numbers over time.
    pub counters: Vec<Counter>,
    /// When the counters end, if there was no room for all of their changes.
    pub counters_end_ns: Option<u64>,
}

/// A task of a simulation, or a thread of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Thread id: positive and unique.
    pub tid: i32,
    /// Process id.
    pub process: i32,
    /// Name.
    pub name: Arc<str>,
    /// Name of the process.
    pub process_name: Arc<str>,
    /// The kernel's priority: 120 is nice 0.
    pub prio: i16,
    /// Row of the report that counts this task; the short tasks of a class share one row. Without a report it is the
    /// task's own index.
    pub row: usize,
}

/// A task runs on a CPU without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Index into [`Schedule::tasks`].
    pub task: u32,
    /// Start, in ns.
    pub from_ns: u64,
    /// End, in ns.
    pub to_ns: u64,
    /// The state in which the task leaves the CPU.
    pub left: State,
}

/// A job of a simulation: from a wake-up, or an arrival, until the task sleeps or exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Index into [`Schedule::tasks`].
    pub task: u32,
    /// When it came, in ns.
    pub from_ns: u64,
    /// When it first ran, in ns; `None` if it ended without.
    pub started_ns: Option<u64>,
    /// When it ended, in ns.
    pub to_ns: u64,
    /// CPU time that it received, in ns.
    pub service_ns: u64,
    /// Time in which it was runnable and not running, in ns.
    pub wait_ns: u64,
}

/// A task becomes runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Index into [`Schedule::tasks`].
    pub task: u32,
    /// Time, in ns.
    pub at_ns: u64,
    /// The CPU whose task caused the wake-up; `None` for a timer or an interrupt.
    pub by: Option<CpuId>,
    /// Whether the task is new.
    pub is_new: bool,
}

/// A recorder lost events of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The CPU.
    pub cpu: CpuId,
    /// From then on, to the CPU's next event, nothing is known of it; in ns.
    pub at_ns: u64,
    /// How many events, 0 when unknown.
    pub events: u64,
}

/// A number over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The name of the number, such as `start tag`.
    pub number: &'static str,
    /// The name of the task, or of the report's row, that has it.
    pub task: Arc<str>,
    /// The thread id of the task; `None` of a row.
    pub tid: Option<i32>,
    /// Unit.
    pub unit: &'static str,
    /// Time in ns, and the value from then on.
    pub points: Vec<(u64, i64)>,
}

/// The state in which a thread leaves its CPU, as the kernel names them (`prev_state` of `sched_switch`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Still runnable: preempted, slice over, or yielded. `R` and `R+` are the same here, because a preemption on the way
    /// back to user space prints `R`.
    Runnable,
    /// Interruptible sleep.
    Sleep,
    /// Uninterruptible sleep, mostly for a device or a page.
    Disk,
    /// Stopped by a signal.
    Stopped,
    /// Stopped by a tracer.
    Traced,
    /// Exited.
    Dead,
    /// A parked kernel thread.
    Parked,
    /// A kernel thread that waits for work and does not count as load.
    Idle,
    /// Not known.
    Unknown,
}

impl Counter {
    /// The name of the counter's track.
    ///
    /// ```
    /// use divvy_results::schedule::Counter;
    /// let counter = Counter { number: "start tag", task: "make".into(), tid: None, unit: "ns", points: Vec::new() };
    /// assert_eq!(counter.name(), "start tag of make");
    /// ```
    pub fn name(&self) -> String {
        format!("{} of {}", self.number, self.task)
    }
}

impl Slice {
    /// Length, in ns.
    pub fn len_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

impl Schedule {
    /// The row of a slice's task.
    pub fn row(&self, slice: &Slice) -> usize {
        self.tasks[slice.task as usize].row
    }
}
