//! Workloads: tasks, their programs, and the machine that they run on.
//!
//! A workload comes from a TOML file ([`Workload::parse`]), from rt-app's JSON ([`rtapp`]), from a log of jobs ([`JobLog`];
//! [`Workload::load`] takes any) or is built in code, from a recorded trace for instance; all pass the same
//! [`Workload::check`]. All times are integer nanoseconds.
//! Nothing here knows about policies or about how a workload is run.

mod check;
mod dist;
mod error;
mod heavy_tail;
mod normal;
mod notes;
pub mod program;
mod read;
pub mod rtapp;
mod stream;
mod swf;
mod text;
mod topology;
mod weight;

use divvy_policy::{CpuId, CpuLimit};

pub use check::{Place, Problem};
pub use dist::Dist;
pub use error::WorkloadError;
pub use read::toml_kind;
pub use stream::{Purpose, Stream, instance, stream};
pub use swf::JobLog;
pub use topology::{Distance, Topology};
pub use weight::WeightSetting;

/// Most CPUs that a workload may ask for.
pub const MAX_CPUS: u32 = 4096;

/// Most task instances that a workload may start by itself (open arrivals and forks come on top).
pub const MAX_INSTANCES: u64 = 1_000_000;

/// Longest workload file: longer ones are not written by people, and would only fill the memory.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// Quantum of a workload that names none: 4 ms, one tick at 250 Hz.
pub const DEFAULT_QUANTUM_NS: u64 = 4_000_000;
/// Period of a limit if a workload does not say, as in the kernel.
pub const DEFAULT_PERIOD_NS: u64 = 100_000_000;

/// A machine and the tasks that run on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Shown in reports; the file's name unless the file says otherwise.
    pub name: String,
    /// Number of CPUs, 1 to [`MAX_CPUS`].
    pub cpus: u32,
    /// The slice that policies hand out unless they say otherwise.
    pub quantum_ns: u64,
    /// When the run ends; `None` runs until every task has ended.
    pub duration_ns: Option<u64>,
    /// Statistics start here; what came before fills the machine.
    pub warmup_ns: u64,
    /// Slices end at multiples of this, as on a ticking kernel; `None` ends them exactly.
    pub tick_ns: Option<u64>,
    /// CPU time lost whenever a CPU changes from one task to another.
    pub switch_cost_ns: u64,
    /// CPU time lost, on top of that, when a task resumes on another CPU than the last time.
    pub migration_cost_ns: u64,
    /// Which CPUs share what; `None` if the file does not say.
    pub topology: Option<Topology>,
    /// Each after the one that it is in; [`Task::group`] and [`Group::parent`] hold indices into this.
    pub groups: Vec<Group>,
    /// In the file's order; [`Step::Fork`] and [`Step::Wake`] hold indices into this.
    pub tasks: Vec<Task>,
    /// Names of the mutexes; [`Step::Lock`] and [`Step::Unlock`] hold indices into this.
    pub locks: Vec<String>,
    /// Names of the semaphores; [`Step::Post`] and [`Step::Take`] hold indices into this.
    pub semaphores: Vec<String>,
    /// [`Step::Barrier`] holds indices into this.
    pub barriers: Vec<Barrier>,
}

/// Most groups that a workload may have.
pub const MAX_GROUPS: usize = 4095;

/// Tasks that share what their group gets, such as those of a user or a cgroup. It may be in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its path: names from the outermost group to this one, with `/` between them.
    pub name: String,
    /// Its share, in relation to the tasks and groups beside it.
    pub weight: WeightSetting,
    /// The group that it is in.
    pub parent: Option<usize>,
    /// The most CPU time that its tasks get together, with those of the groups in it.
    pub cpu_max: Option<CpuLimit>,
}

impl Group {
    /// A group with the default weight and no limit.
    #[must_use]
    pub fn new(name: String, parent: Option<usize>) -> Group {
        Group { name, weight: WeightSetting::DEFAULT, parent, cpu_max: None }
    }
}

/// A meeting point: whoever arrives waits until `parties` instances have, then all go on and it starts afresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Its name in the file.
    pub name: String,
    /// Number of instances that it waits for.
    pub parties: u32,
}

/// A task, or `count` alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name, unique in the workload.
    pub name: String,
    /// Its share, in relation to the others.
    pub weight: WeightSetting,
    /// The process whose thread it is; `None` gives each instance a process of its own.
    pub process: Option<String>,
    /// The group that it is in.
    pub group: Option<usize>,
    /// The program that each instance executes; `None` is that of its own process: [`Workload::executable`].
    pub executable: Option<String>,
    /// Number of instances; of a forked task, the number that each fork starts.
    pub count: u32,
    /// When it starts (open arrivals: when the source starts).
    pub start_ns: u64,
    /// When it is ended from outside, if it is: instances exit, and arrivals cease.
    pub stop_ns: Option<u64>,
    /// CPUs that it may use, ascending; `None` is all of them.
    pub affinity: Option<Vec<CpuId>>,
    /// The event that makes it run its program.
    pub arrivals: Arrivals,
    /// Its steps; at the end it exits (or thinks: [`Arrivals::Closed`]).
    pub program: Vec<Step>,
}

impl Task {
    /// The name of instance `i` (from 0) in reports: `T`, or `T/1`, `T/2`.. of several.
    pub fn instance_name(&self, i: u32) -> String {
        if self.count == 1 { self.name.clone() } else { format!("{}/{}", self.name, u64::from(i) + 1) }
    }
}

/// The event that makes a task run its program.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Each instance runs it once, from `start_ns` on.
    Once,
    /// Each instance runs it once, when a [`Step::Fork`] starts it.
    Forked {
        /// Number of instances in all, after which forks start none; `None` if there is no bound. A task that forks
        /// itself, perhaps through others, has one.
        limit: Option<u64>,
    },
    /// From `start_ns` on a new instance arrives after every `interarrival` (the first after one of them),
    /// runs the program once and exits.
    Open {
        /// Time from one arrival to the next.
        interarrival: Dist,
        /// Number of arrivals after which the source is dry; `None` never.
        limit: Option<u64>,
    },
    /// Each instance repeats: sleep for a `think` time, then run the program, as one job.
    Closed {
        /// Time from the end of one job to the start of the next.
        think: Dist,
    },
}

/// One step of a task's program.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Use this much CPU time.
    Run(Dist),
    /// Use all the CPU time there is.
    RunForever,
    /// Sleep this long.
    Sleep(Dist),
    /// Sleep until the next multiple of this period, counted from the instance's start. Whoever overruns misses
    /// the releases that it ran through.
    Period(u64),
    /// Sleep until this moment of the run; go on at once if it has passed.
    Until(u64),
    /// Take a mutex, or wait for it, first come first served.
    Lock(usize),
    /// Give it back.
    Unlock(usize),
    /// Wait for the others at a barrier.
    Barrier(usize),
    /// Start `count` new instances of a task whose arrivals are [`Arrivals::Forked`], or fewer if its limit is reached.
    Fork(usize),
    /// Let others run first.
    Yield,
    /// Say that what comes is work for another request.
    Session,
    /// Give a token to a task (of a single instance).
    Wake(usize),
    /// Take a token, or wait for one. Tokens that arrive early are kept.
    Wait,
    /// Add one to a semaphore: the instance that waits longest goes on.
    Post(usize),
    /// Take one off a semaphore, or wait until there is one. Those that arrive early are kept.
    Take(usize),
    /// Repeat.
    Loop {
        /// How often; `None` for ever.
        times: Option<u64>,
        /// The steps that are repeated.
        body: Vec<Step>,
    },
}

impl Workload {
    /// Whether a change to another task costs nothing: neither the switch, nor a migration over any distance.
    pub fn switches_take_no_time(&self) -> bool {
        let is_far = |topology: &Topology| topology.costs_ns.iter().any(|&cost| cost > 0);
        self.switch_cost_ns == 0 && self.migration_cost_ns == 0 && !self.topology.as_ref().is_some_and(is_far)
    }

    /// The program that instances of a task execute, for policies that know programs: its `executable`, else its
    /// process. Of a process with several tasks each has its own, as they do different things.
    pub fn executable(&self, task: usize) -> String {
        let task = &self.tasks[task];
        match (&task.executable, &task.process) {
            (Some(executable), _) => executable.clone(),
            (None, None) => task.name.clone(),
            (None, Some(process)) => {
                let of_process = self.tasks.iter().filter(|other| other.process == task.process);
                if of_process.count() == 1 { process.clone() } else { format!("{process}/{}", task.name) }
            }
        }
    }
}
