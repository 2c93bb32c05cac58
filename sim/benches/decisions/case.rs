//! The machines and loads of the tables.

use divvy_policy::Weight;
use divvy_workload::{Arrivals, Dist, Group, Step, Task, WeightSetting, Workload};

pub const QUANTUM_NS: u64 = 1_000_000;
pub const BURST_NS: u64 = 5 * QUANTUM_NS;
/// Groups, and classes of tasks that each are a process: each weight in each group.
const GROUPS: u32 = 10;
const CLASSES: u32 = 70;

/// The tasks of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They always run.
    Hogs,
    /// They think and run by turns, for exponential times, and want a little more than there is.
    Think,
}

/// A machine and what it is given to do.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub tasks: u32,
    pub cpus: u32,
    pub load: Kind,
    /// Simulated time: about as many quanta as there are decisions.
    pub decisions: u64,
}

pub const CASES: [Case; 4] = [
    Case { tasks: 100, cpus: 4, load: Kind::Hogs, decisions: 4_000_000 },
    Case { tasks: 100, cpus: 4, load: Kind::Think, decisions: 4_000_000 },
    Case { tasks: 10_000, cpus: 64, load: Kind::Hogs, decisions: 4_000_000 },
    Case { tasks: 10_000, cpus: 64, load: Kind::Think, decisions: 4_000_000 },
];

impl Case {
    pub fn name(&self) -> String {
        format!("{}x{} {}", self.tasks, self.cpus, if self.load == Kind::Hogs { "hogs" } else { "think" })
    }

    pub fn duration_ns(&self) -> u64 {
        self.decisions / u64::from(self.cpus) * QUANTUM_NS
    }

    /// From `TASKSxCPUS` and `hogs` or `think`.
    pub fn parse(size: &str, load: &str, decisions: u64) -> Option<Case> {
        let (tasks, cpus) = size.split_once('x')?;
        let load = match load {
            "hogs" => Kind::Hogs,
            "think" => Kind::Think,
            _ => return None,
        };
        Some(Case { tasks: tasks.parse().ok()?, cpus: cpus.parse().ok()?, load, decisions })
    }

    /// The same tasks in a few classes, as a person would write them.
    pub fn workload_in_classes(&self) -> Workload {
        let mut workload = self.workload();
        workload.tasks.truncate(CLASSES as usize);
        for (i, task) in (0..).zip(&mut workload.tasks) {
            task.count = (self.tasks - i).div_ceil(CLASSES);
        }
        workload
    }

    /// These are threads of a process each, in groups, for modifiers to look at.
    pub fn workload_in_groups(&self) -> Workload {
        let mut workload = self.workload_in_classes();
        let group =
            |i: u32| Group { weight: WeightSetting::Units(weight(i)), ..Group::new(format!("G{i}"), None) };
        workload.groups = (0..GROUPS).map(group).collect();
        for (i, task) in (0..).zip(&mut workload.tasks) {
            task.process = Some(format!("P{i}"));
            task.group = Some((i % GROUPS) as usize);
        }
        workload
    }

    /// So that tasks want 1.1 times the CPUs.
    pub fn think_ns(&self) -> u64 {
        let busy = u64::from(self.tasks) * BURST_NS * 10 / (u64::from(self.cpus) * 11);
        busy - BURST_NS
    }

    pub fn workload(&self) -> Workload {
        let task = |i: u32| Task {
            name: format!("T{i}"),
            weight: WeightSetting::Units(weight(i)),
            process: None,
            group: None,
            count: 1,
            start_ns: 0,
            stop_ns: None,
            executable: None,
            affinity: None,
            arrivals: match self.load {
                Kind::Hogs => Arrivals::Once,
                Kind::Think => Arrivals::Closed { think: Dist::Exp(self.think_ns()) },
            },
            program: match self.load {
                Kind::Hogs => vec![Step::RunForever],
                Kind::Think => vec![Step::Run(Dist::Exp(BURST_NS))],
            },
        };
        Workload {
            name: self.name(),
            cpus: self.cpus,
            quantum_ns: QUANTUM_NS,
            duration_ns: Some(self.duration_ns()),
            warmup_ns: 0,
            tick_ns: None,
            switch_cost_ns: 0,
            migration_cost_ns: 0,
            topology: None,
            groups: Vec::new(),
            tasks: (0..self.tasks).map(task).collect(),
            locks: Vec::new(),
            semaphores: Vec::new(),
            barriers: Vec::new(),
        }
    }
}

/// From 1 to 7, which round-robin does not look at.
pub fn weight(task: u32) -> Weight {
    u64::from(task % 7 + 1) * Weight::ONE
}
