//! What every process of a run knows from before the first fork on.

use divvy_workload::program::Program;
use divvy_workload::{Arrivals, Workload};

use super::burn::Speed;
use super::weight::SetWeight;

/// The nursery that forks processes: the first process itself.
pub const FIRST: usize = 0;

/// A run, planned. It does not change.
pub struct PlayPlan<'a> {
    pub workload: &'a Workload,
    /// One a task.
    pub programs: Vec<Program>,
    pub seed: u64,
    pub rep: u32,
    /// The machine's CPUs that are the workload's.
    pub cpus: Vec<usize>,
    pub speed: Speed,
    pub set_weight: &'a dyn SetWeight,
    /// The names of processes with threads: that of nursery `i` is at `i - 1`.
    pub processes: Vec<&'a str>,
}

impl<'a> PlayPlan<'a> {
    /// Who starts the instances of a task: the process that they are threads of, or the first.
    pub fn nursery(&self, class: usize) -> usize {
        let process = self.workload.tasks[class].process.as_deref();
        process.and_then(|name| self.processes.iter().position(|&p| p == name)).map_or(FIRST, |i| i + 1)
    }

    /// When the instances of a task end, whatever they do; `u64::MAX` never.
    pub fn deadline_ns(&self, class: usize) -> u64 {
        let stop_ns = self.workload.tasks[class].stop_ns.unwrap_or(u64::MAX);
        stop_ns.min(self.workload.duration_ns.unwrap_or(u64::MAX))
    }

    /// Number of instances of a task that are there from the beginning, if only to wait for their start.
    pub fn initial(&self, class: usize) -> u32 {
        let task = &self.workload.tasks[class];
        match task.arrivals {
            Arrivals::Once | Arrivals::Closed { .. } if task.start_ns < self.deadline_ns(class) => task.count,
            _ => 0,
        }
    }

    /// The names of processes that have threads, in the workload's order.
    pub fn processes_of(workload: &'a Workload) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for name in workload.tasks.iter().filter_map(|task| task.process.as_deref()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}
