//! A task's numbers over all repetitions of a policy.

use crate::measure::pooled_mean;
use crate::report::{Buckets, Quantiles, Run, TaskResult};

/// One task under one policy, over all repetitions.
#[derive(Debug)]
pub struct PooledTask<'a> {
    /// Its name; not escaped.
    pub name: &'a str,
    /// Its weight, in which nice 0 is 1024.
    pub weight: f64,
    /// CPU time that it was entitled to, as a share of all.
    pub entitled: f64,
    /// CPU time that it received, as a share of all: the mean.
    pub share: f64,
    /// The service error furthest behind, in ns.
    pub error_min_ns: i64,
    /// The service error furthest ahead, in ns.
    pub error_max_ns: i64,
    /// Finished jobs: the mean.
    pub jobs: f64,
    /// Mean of all jobs, in ns.
    pub response_mean_ns: Option<f64>,
    /// The worst of the repetitions, in ns.
    pub response_p99_ns: Option<f64>,
    /// Mean of all jobs, in ns.
    pub wait_mean_ns: Option<f64>,
    /// All jobs by waiting time.
    pub wait_buckets: Option<Buckets>,
}

impl<'a> PooledTask<'a> {
    /// The tasks of these repetitions, of which there is at least one, on so many CPUs.
    pub fn all(runs: &[&'a Run], cpus: u32) -> Vec<Self> {
        let cpu_time_ns = runs.iter().map(|run| run.duration_ns as f64).sum::<f64>() * f64::from(cpus);
        let task = |(index, first): (usize, &'a TaskResult)| {
            let reps: Vec<&TaskResult> = runs.iter().filter_map(|run| run.tasks.get(index)).collect();
            Self::of(first, &reps, cpu_time_ns)
        };
        runs[0].tasks.iter().enumerate().map(task).collect()
    }

    /// `cpu_time_ns` is that of all CPUs in all repetitions.
    fn of(first: &'a TaskResult, reps: &[&TaskResult], cpu_time_ns: f64) -> Self {
        let mean = |number: fn(&TaskResult) -> f64| {
            reps.iter().map(|task| number(task)).sum::<f64>() / reps.len() as f64
        };
        let mean_of_jobs = |of: fn(&TaskResult) -> &Quantiles| {
            pooled_mean(&reps.iter().map(|task| of(task)).collect::<Vec<_>>())
        };
        let entitled_ns: f64 = reps.iter().map(|task| task.entitled_ns as f64).sum();
        Self {
            name: &first.name,
            weight: first.weight,
            entitled: if cpu_time_ns > 0.0 { entitled_ns / cpu_time_ns } else { 0.0 },
            share: mean(|task| task.share),
            error_min_ns: reps.iter().map(|task| task.error_min_ns).min().unwrap_or(0),
            error_max_ns: reps.iter().map(|task| task.error_max_ns).max().unwrap_or(0),
            jobs: mean(|task| task.jobs as f64),
            response_mean_ns: mean_of_jobs(|task| &task.response_ns),
            response_p99_ns: reps.iter().filter_map(|task| task.response_ns.p99).reduce(f64::max),
            wait_mean_ns: mean_of_jobs(|task| &task.wait_ns),
            wait_buckets: Buckets::sum(reps.iter().filter_map(|task| task.wait_buckets.as_ref())),
        }
    }
}
