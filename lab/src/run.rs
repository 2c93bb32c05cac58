//! Runs a workload under a policy and keeps every slice of service.

use divvy_policy::spec;
use divvy_results::observation::{JobDone, Observation, Service};
use divvy_results::report::Run;
use divvy_sim::engine::{Engine, Setup};
use divvy_sim::run::{Rows, machine};
use divvy_sim::sharing::Sharing;
use divvy_workload::Workload;

use crate::error::LabError;

/// Nanoseconds in a second.
pub const S: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;

/// A workload of `workloads/`.
pub fn workload(file: &str, text: &str) -> Result<Workload, LabError> {
    let own = |what: String| LabError::Own { file: format!("workloads/{file}"), what };
    Workload::parse(text, file).map_err(|error| own(error.to_string()))
}

/// A run, and its slices.
pub struct Record {
    /// Its numbers.
    pub run: Run,
    /// In the order of their ends.
    pub slices: Vec<Service>,
}

/// The first of the policies and modifiers of a spec that this build does not have.
pub fn missing(spec: &str) -> Option<String> {
    let names = spec.split('+').map(|part| part.split(':').next().unwrap_or(part));
    names.into_iter().find(|name| divvy_policy::find(name).is_none()).map(str::to_owned)
}

/// Runs a workload to its end.
pub fn run(workload: &Workload, text: &str, seed: u64, rep: u32) -> Result<Record, LabError> {
    let mut slices = Vec::new();
    let mut keep = |observation: Observation| {
        if let Observation::Served(slice) = observation {
            slices.push(slice);
        }
    };
    let run = with_engine(workload, text, seed, rep, |engine| engine.observe(&mut keep))?;
    Ok(Record { run, slices })
}

/// Every job of a run.
pub struct Jobs {
    /// Names of the rows.
    pub names: Vec<String>,
    /// In the order of their ends.
    pub done: Vec<JobDone>,
}

/// Runs a workload to its end, for its jobs.
pub fn jobs(workload: &Workload, text: &str, seed: u64, rep: u32) -> Result<Jobs, LabError> {
    let mut done = Vec::new();
    let mut keep = |observation: Observation| {
        if let Observation::JobDone(job) = observation {
            done.push(job);
        }
    };
    let run = with_engine(workload, text, seed, rep, |engine| engine.observe(&mut keep))?;
    Ok(Jobs { names: run.tasks.into_iter().map(|task| task.name).collect(), done })
}

fn with_engine<'a>(
    workload: &'a Workload,
    text: &str,
    seed: u64,
    rep: u32,
    observe: impl FnOnce(&mut Engine<'a>),
) -> Result<Run, LabError> {
    let broken = |what: String| LabError::Run(format!("{} under {text}: {what}", workload.name));
    let spec = spec::parse(text, divvy_policy::all()).map_err(|error| broken(error.to_string()))?;
    let machine = machine(&spec, workload, seed, rep).map_err(|error| broken(error.to_string()))?;
    let setup = Setup {
        seed,
        rep,
        until_ns: workload.duration_ns,
        schedule: 0,
        rows: Rows::EachInstance,
        sharing: Sharing::of(&spec),
    };
    let mut engine = Engine::new(workload, machine, setup);
    observe(&mut engine);
    engine.run(text, &|_| true).map_err(|violation| broken(violation.to_string()))
}

impl Record {
    /// The row of a task; none has this name if the workload has no such task.
    pub fn row(&self, name: &str) -> Option<usize> {
        self.run.tasks.iter().position(|task| task.name == name)
    }

    /// Stretches in which a task was served, in order.
    pub fn stretches_ns(&self, name: &str) -> Vec<(u64, u64)> {
        let row = self.row(name);
        let own = self.slices.iter().filter(|slice| Some(slice.row) == row);
        own.map(|slice| (slice.from_ns, slice.to_ns)).collect()
    }

    /// Service of a task from one moment to another, in ns.
    pub fn service_ns(&self, name: &str, from_ns: u64, to_ns: u64) -> u64 {
        let within = |(a, b): (u64, u64)| b.min(to_ns).saturating_sub(a.max(from_ns));
        self.stretches_ns(name).into_iter().map(within).sum()
    }

    /// Service of a task in each of the first `n` windows of this length, in ns.
    pub fn windows_ns(&self, name: &str, window_ns: u64, n: usize) -> Vec<u64> {
        let mut services = vec![0; n];
        for (from, to) in self.stretches_ns(name) {
            let mut at = from;
            while at < to && (at / window_ns) < n as u64 {
                let window = at / window_ns;
                let end = to.min((window + 1) * window_ns);
                services[window as usize] += end - at;
                at = end;
            }
        }
        services
    }

    /// Service of all tasks whose names begin so, in ns.
    pub fn service_of_all_ns(&self, prefix: &str) -> u64 {
        let rows = self.run.tasks.iter().filter(|task| task.name.starts_with(prefix));
        rows.map(|task| task.service_ns).sum()
    }

    /// When the last task of a process ended, in s.
    pub fn end_of_s(&self, process: &str) -> f64 {
        let own = self.run.tasks.iter().filter(|task| task.process == process);
        own.filter_map(|task| task.finished_ns).max().map_or(f64::NAN, |ns| ns as f64 / S as f64)
    }

    /// Cumulative service of a task at the multiples of a step until the run's end: (s, s).
    pub fn curve(&self, name: &str, step_ns: u64) -> Vec<(f64, f64)> {
        let mut points = vec![(0.0, 0.0)];
        let (mut at, mut sum) = (step_ns, 0);
        for (from, to) in self.stretches_ns(name) {
            while at <= to && at <= self.run.duration_ns {
                let partly = at.saturating_sub(from).min(to - from);
                points.push((seconds(at), seconds(sum + partly)));
                at += step_ns;
            }
            sum += to - from;
        }
        while at <= self.run.duration_ns {
            points.push((seconds(at), seconds(sum)));
            at += step_ns;
        }
        points
    }
}

/// As a number of seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / S as f64
}
