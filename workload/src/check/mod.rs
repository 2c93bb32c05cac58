//! Whether a workload makes sense, wherever it came from.

mod forks;
mod problem;
mod program;
mod topology;

use super::{Arrivals, Dist, MAX_CPUS, MAX_GROUPS, MAX_INSTANCES, Task, WeightSetting, Workload};
use divvy_policy::units::{MAX_NS, show_duration};
use divvy_policy::{CpuLimit, Weight};

/// Below this level groups have no part of their own (groups R5).
const DEEPEST_GROUP: usize = 8;
/// The least quota and period, and the longest period, as in the kernel.
const LEAST_NS: u64 = 1_000_000;
const LONGEST_PERIOD_NS: u64 = 1_000_000_000;

pub(super) use self::forks::barrier_users;
pub use self::problem::{Place, Problem};
use self::program::is_endless;

impl Workload {
    /// Checks everything that running it relies on: ranges, references, that programs make progress, that locks are
    /// taken and given back in turn, that forks end, that waits are woken, that barriers can open.
    /// [`Workload::parse`] has done so; call it on workloads built or changed in code.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), Problem> {
        self.check_machine()?;
        self.check_groups()?;
        let mut names = std::collections::BTreeSet::new();
        for (index, task) in self.tasks.iter().enumerate() {
            if !names.insert(task.name.as_str()) {
                let help = "give each task its own; `count` makes several alike";
                return Err(Problem::new(Place::Task(index, "name"), "another task has this name", help));
            }
            check_task(index, task, self.cpus)?;
            program::check(self, index)?;
        }
        forks::check(self)
    }

    /// The first task that goes on for ever unless the run's duration ends it; `None` if all end by themselves.
    pub fn endless_task(&self) -> Option<&Task> {
        self.tasks.iter().find(|task| {
            let comes_again = match task.arrivals {
                Arrivals::Open { limit: None, .. } | Arrivals::Closed { .. } => true,
                Arrivals::Open { .. } | Arrivals::Once | Arrivals::Forked { .. } => false,
            };
            task.stop_ns.is_none() && (comes_again || is_endless(&task.program))
        })
    }

    fn check_groups(&self) -> Result<(), Problem> {
        if self.groups.len() > MAX_GROUPS {
            let message = format!("{} groups", self.groups.len());
            return Err(Problem::new(Place::Workload("group"), message, "there may be 4095"));
        }
        for (index, group) in self.groups.iter().enumerate() {
            let problem = |message, help| Err(Problem::new(Place::Group(index), message, help));
            if !is_path(&group.name) {
                return problem("the path of a group is none", "write names with `/` between them");
            }
            if group.parent.is_some_and(|parent| parent >= index) {
                return problem("a group comes before the one that it is in", "put the outer one first");
            }
            check_weight(&group.weight).or_else(|(_, message, help)| problem(message, help))?;
            if let Some(limit) = &group.cpu_max {
                check_limit(limit).or_else(|(message, help)| problem(message, help))?;
                if self.level(index) > DEEPEST_GROUP {
                    let help = "give it to one of the eight outermost";
                    return problem("a group this deep has no limit of its own", help);
                }
            }
        }
        let in_none = |task: &Task| task.group.is_some_and(|group| group >= self.groups.len());
        match self.tasks.iter().position(in_none) {
            Some(index) => Err(Problem::new(Place::Task(index, "group"), "there is no such group", "")),
            None => Ok(()),
        }
    }

    /// How many groups are around it, and itself.
    fn level(&self, group: usize) -> usize {
        std::iter::successors(Some(group), |&group| self.groups[group].parent).count()
    }

    fn check_machine(&self) -> Result<(), Problem> {
        let problem =
            |key, message: String, help: &str| Err(Problem::new(Place::Workload(key), message, help));
        if !(1..=MAX_CPUS).contains(&self.cpus) {
            return problem("cpus", format!("{} CPUs", self.cpus), "there may be 1 to 4096");
        }
        if self.tasks.is_empty() {
            return problem(
                "task",
                "the workload has no tasks".to_owned(),
                "add a [[task]] with a name and a program",
            );
        }
        for (key, value) in
            [("quantum", Some(self.quantum_ns)), ("duration", self.duration_ns), ("tick", self.tick_ns)]
        {
            if value == Some(0) {
                return problem(key, format!("`{key}` is 0"), "it must be more, as in \"1ms\"");
            }
        }
        let times = [
            ("quantum", Some(self.quantum_ns)),
            ("duration", self.duration_ns),
            ("warmup", Some(self.warmup_ns)),
            ("tick", self.tick_ns),
            ("switch_cost", Some(self.switch_cost_ns)),
            ("migration_cost", Some(self.migration_cost_ns)),
        ];
        for (key, value) in times {
            if value.is_some_and(|ns| ns > MAX_NS) {
                return problem(key, format!("`{key}` is too long"), "the most is 2^60 ns (36 years)");
            }
        }
        self.topology.iter().try_for_each(|topology| topology::check(topology, self.cpus))?;
        match self.duration_ns {
            Some(duration) if self.warmup_ns >= duration => {
                let (warmup, duration) = (show_duration(self.warmup_ns), show_duration(duration));
                let message = format!("the warm-up ({warmup}) is not shorter than the run ({duration})");
                problem("warmup", message, "nothing would be measured")
            }
            _ => Ok(()),
        }
    }
}

fn check_task(index: usize, task: &Task, cpus: u32) -> Result<(), Problem> {
    let problem =
        |key, message: String, help: &str| Err(Problem::new(Place::Task(index, key), message, help));
    if let Some((key, message)) = check_names(task) {
        return problem(key, message, "use 1 to 128 characters, none of them control characters");
    }
    check_weight(&task.weight).or_else(|(key, message, help)| problem(key, message.to_owned(), help))?;
    if task.count == 0 || u64::from(task.count) > MAX_INSTANCES {
        return problem("count", format!("{} instances", task.count), "there may be 1 to 1000000");
    }
    if task.start_ns > MAX_NS || task.stop_ns.is_some_and(|stop| stop > MAX_NS) {
        return problem("stop", "start or stop is too late".to_owned(), "the latest is 2^60 ns (36 years)");
    }
    if let Some(stop) = task.stop_ns.filter(|&stop| stop <= task.start_ns) {
        let message =
            format!("stop ({}) is not after start ({})", show_duration(stop), show_duration(task.start_ns));
        return problem("stop", message, "the task would never run");
    }
    check_affinity(index, task, cpus)?;
    check_arrivals(index, task)
}

/// An error has the key, the problem, and the remedy.
fn check_weight(weight: &WeightSetting) -> Result<(), (&'static str, &'static str, &'static str)> {
    match weight {
        WeightSetting::Units(weight) if (Weight::MIN..=Weight::MAX_GIVEN).contains(weight) => Ok(()),
        WeightSetting::Nice(-20..=19) => Ok(()),
        WeightSetting::Units(_) => Err(("weight", "weight out of range", "it is 1/1024 to 100000000")),
        WeightSetting::Nice(_) => Err(("nice", "nice value out of range", "it is -20 to 19")),
    }
}

/// Whether the kernel would take a limit. Else the problem, and what to do.
pub(super) fn check_limit(limit: &CpuLimit) -> Result<(), (&'static str, &'static str)> {
    if !(LEAST_NS..=LONGEST_PERIOD_NS).contains(&limit.period_ns) {
        return Err(("the period of a limit is out of range", "give one from 1ms to 1s"));
    }
    if limit.quota_ns < LEAST_NS || limit.quota_ns > u64::from(MAX_CPUS) * limit.period_ns {
        return Err(("the quota of a limit is out of range", "give 1ms at least, and at most 4096 periods"));
    }
    if limit.burst_ns > limit.quota_ns {
        return Err(("the burst of a limit is above its quota", "give at most as much"));
    }
    Ok(())
}

/// Whether it can be the path of a group.
pub(super) fn is_path(path: &str) -> bool {
    !is_bad_name(path) && path.split('/').all(|name| !name.is_empty())
}

fn is_bad_name(name: &str) -> bool {
    name.is_empty() || name.chars().count() > 128 || name.chars().any(char::is_control)
}

/// The first of the task's names that would spoil a table, and what is wrong with it.
fn check_names(task: &Task) -> Option<(&'static str, String)> {
    let names = [("name", Some(task.name.as_str())), ("process", task.process.as_deref())];
    let (key, name) = names.into_iter().find(|(_, name)| name.is_some_and(is_bad_name))?;
    let start: String = name.unwrap_or("").chars().take(32).collect();
    Some((key, format!("`{}` is no name", start.escape_debug())))
}

fn check_affinity(index: usize, task: &Task, cpus: u32) -> Result<(), Problem> {
    let Some(allowed) = &task.affinity else {
        return Ok(());
    };
    let problem =
        |message: String, help: String| Err(Problem::new(Place::Task(index, "affinity"), message, help));
    if allowed.is_empty() {
        return problem(
            "no CPU is allowed".to_owned(),
            "name at least one, or leave out `affinity`".to_owned(),
        );
    }
    if let Some(cpu) = allowed.iter().find(|cpu| cpu.get() >= cpus) {
        let message = format!("there is no CPU {cpu}");
        return problem(message, format!("this machine has CPUs 0 to {}; set `cpus` for more", cpus - 1));
    }
    match allowed.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => {
            problem(format!("CPU {} is named twice or out of order", pair[1]), "name each once".to_owned())
        }
        None => Ok(()),
    }
}

fn check_arrivals(index: usize, task: &Task) -> Result<(), Problem> {
    let problem =
        |message: String, help: &str| Err(Problem::new(Place::Task(index, "arrivals"), message, help));
    let dist = match &task.arrivals {
        Arrivals::Once | Arrivals::Forked { .. } => return Ok(()),
        Arrivals::Open { interarrival, .. } => interarrival,
        Arrivals::Closed { think } => think,
    };
    if let Err(message) = dist.check() {
        return problem(message, "");
    }
    let endless = is_endless(&task.program);
    match &task.arrivals {
        Arrivals::Open { interarrival: Dist::Constant(0), .. } => {
            problem("all arrive at once".to_owned(), "the time between arrivals must be more than 0")
        }
        Arrivals::Open { limit: Some(0), .. } => {
            problem("a limit of no arrivals".to_owned(), "leave the task out")
        }
        Arrivals::Open { .. } if task.count > 1 => problem(
            "`count` with open arrivals".to_owned(),
            "leave out `count` and shorten the time between arrivals",
        ),
        Arrivals::Open { limit: None, .. } if endless => problem(
            "each arrival runs for ever, and they go on arriving".to_owned(),
            "add `limit`, or let the program end",
        ),
        Arrivals::Closed { .. } if endless => {
            problem("the program never ends, so it is never repeated".to_owned(), "leave out `arrivals`")
        }
        Arrivals::Closed { think: Dist::Constant(0) } if program::instant_steps(&task.program).is_some() => {
            problem("neither the thinking nor the program takes time".to_owned(), "add a run or a sleep step")
        }
        _ => Ok(()),
    }
}
