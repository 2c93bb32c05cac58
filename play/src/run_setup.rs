//! The data that every process of a run needs. It is complete before the first fork and does not change.

use std::path::Path;

use divvy_workload::program::Program;
use divvy_workload::{Arrivals, Workload};

use super::burn::Speed;
use super::weight::SetWeight;

/// Number of the spawner that forks processes: the first process, which supervises the run.
pub const SUPERVISOR: usize = 0;

/// One repetition of a workload, ready to run.
pub struct RunSetup<'a> {
    pub workload: &'a Workload,
    /// The program of each task.
    pub programs: Vec<Program>,
    pub seed: u64,
    pub rep: u32,
    /// The machine's CPUs on which the workload runs: the workload's CPU `i` is the `i`-th.
    pub cpus: Vec<usize>,
    pub speed: Speed,
    pub set_weight: &'a dyn SetWeight,
    /// The names of processes with threads. The name of spawner `i` is at `i - 1`.
    pub processes: Vec<&'a str>,
    /// The command that tasks with a program of their own execute: see `handover`.
    pub command: Option<&'a Path>,
}

impl<'a> RunSetup<'a> {
    /// The spawner that starts the instances of a task: their own process, or the supervisor if the task names none.
    pub fn spawner(&self, class: usize) -> usize {
        let process = self.workload.tasks[class].process.as_deref();
        process.and_then(|name| self.processes.iter().position(|&p| p == name)).map_or(SUPERVISOR, |i| i + 1)
    }

    /// When the instances of a task must end, in ns of the run; `u64::MAX` means never.
    pub fn deadline_ns(&self, class: usize) -> u64 {
        let stop_ns = self.workload.tasks[class].stop_ns.unwrap_or(u64::MAX);
        stop_ns.min(self.workload.duration_ns.unwrap_or(u64::MAX))
    }

    /// Number of instances of a task that are set up before the run starts. Some may then wait for their start time.
    pub fn initial(&self, class: usize) -> u32 {
        let task = &self.workload.tasks[class];
        match task.arrivals {
            Arrivals::Once | Arrivals::Closed { .. } if task.start_ns < self.deadline_ns(class) => task.count,
            _ => 0,
        }
    }

    /// The names of the processes that have threads, in the workload's order.
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

/// An instance to start.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Index of its task.
    pub class: usize,
    /// Its number among the instances of the task, from 0.
    pub number: u32,
    /// When it is due, in ns of the run.
    pub due_ns: u64,
}
