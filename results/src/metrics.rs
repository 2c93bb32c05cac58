//! The numbers of each task, from events only.

use crate::figures::TaskCcdfs;
use crate::report::{Buckets, Quantiles, TaskResult};
use crate::stats;
use crate::stats::{BucketCounts, Sampler, ratio};
use divvy_workload::{Arrivals, Task};

/// One row of the result: a task, or a class of short ones.
#[derive(Debug)]
pub struct Row {
    /// As in [`TaskResult::name`].
    pub name: String,
    /// As in [`TaskResult::process`].
    pub process: String,
    /// As in [`TaskResult::weight`].
    pub weight: f64,
    /// CPU time received.
    pub service_ns: u64,
    /// CPU time that the fluid model gives it.
    pub entitled_ns: f64,
    /// Least service error so far.
    pub error_min_ns: f64,
    /// Greatest service error so far.
    pub error_max_ns: f64,
    /// When its last job finished.
    pub finished_ns: Option<u64>,
    /// How long its jobs took.
    pub delays: Delays,
}

/// How long jobs took, of one row or of all.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// Jobs that ended last, not yet in what follows: the memory of many samplers is rarely in a cache.
    jobs: Vec<Job>,
    /// Response times of jobs, ns.
    response: Sampler,
    /// Waiting times of jobs, ns.
    wait: Sampler,
    /// The same, counted by size.
    wait_buckets: BucketCounts,
    /// Response over service, as [`ratio`] has it.
    slowdown: Sampler,
    /// Wake-up latencies, ns.
    pub wake_delay: Sampler,
}

/// [`Delays`] as a report has them.
#[derive(Debug)]
pub struct DelayResults {
    /// Response times of jobs, ns.
    pub response_ns: Quantiles,
    /// Waiting times of jobs, ns.
    pub wait_ns: Quantiles,
    /// The same, counted by size.
    pub wait_buckets: Option<Buckets>,
    /// Wake-up latencies, ns.
    pub wake_delay_ns: Quantiles,
    /// Response over service.
    pub slowdown: Quantiles,
}

/// Jobs that are kept before they are counted.
const KEPT: usize = 64;

/// A job that just ended.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// From its start to its end.
    pub response_ns: u64,
    /// Runnable but not running.
    pub wait_ns: u64,
    /// CPU time received.
    pub service_ns: u64,
}

/// A row for each instance; of open arrivals and forked tasks, one for all.
pub fn rows_of(task: &Task) -> Vec<Row> {
    if matches!(task.arrivals, Arrivals::Open { .. } | Arrivals::Forked { .. }) {
        return vec![Row::of(task, task.name.clone())];
    }
    (0..task.count).map(|i| Row::of(task, task.instance_name(i))).collect()
}

/// Rows of which results are made at a time.
const BLOCK: usize = 4096;

/// The entries of the rows in the report of a run with this much CPU time. Rows go as results come: of many tasks, both
/// would be most of the memory of a run.
pub fn results(mut rows: Vec<Row>, cpu_time_ns: u64) -> Vec<TaskResult> {
    let mut results = Vec::with_capacity(rows.len());
    while !rows.is_empty() {
        let last = rows.split_off(rows.len().saturating_sub(BLOCK));
        rows.shrink_to_fit();
        results.extend(last.into_iter().rev().map(|row| row.result(cpu_time_ns)));
    }
    results.reverse();
    results
}

/// Jain's index of received over entitled service; 1 if no task was entitled to any.
pub fn jain(rows: &[Row]) -> f64 {
    let entitled = rows.iter().filter(|r| r.entitled_ns > 0.0);
    let allotments: Vec<f64> = entitled.map(|r| r.service_ns as f64 / r.entitled_ns).collect();
    stats::jain(&allotments).unwrap_or(1.0)
}

impl Row {
    /// A row for instances of a task.
    pub fn of(task: &Task, name: String) -> Row {
        let process = task.process.clone().unwrap_or_else(|| name.clone());
        Row::new(name, process, task.weight.units())
    }

    fn new(name: String, process: String, weight: f64) -> Row {
        Row {
            name,
            process,
            weight,
            service_ns: 0,
            entitled_ns: 0.0,
            error_min_ns: 0.0,
            error_max_ns: 0.0,
            finished_ns: None,
            delays: Delays::default(),
        }
    }

    /// Statistics begin; earlier events do not count.
    pub fn reset(&mut self) {
        *self = Row::new(std::mem::take(&mut self.name), std::mem::take(&mut self.process), self.weight);
    }

    /// The entry of this row in the report of a run with this much CPU time.
    fn result(self, cpu_time_ns: u64) -> TaskResult {
        let DelayResults { response_ns, wait_ns, wait_buckets, wake_delay_ns, slowdown } =
            self.delays.finish();
        TaskResult {
            name: self.name,
            process: self.process,
            weight: self.weight,
            service_ns: self.service_ns,
            entitled_ns: self.entitled_ns.round() as u64,
            share: if cpu_time_ns == 0 { 0.0 } else { self.service_ns as f64 / cpu_time_ns as f64 },
            error_min_ns: self.error_min_ns.round() as i64,
            error_max_ns: self.error_max_ns.round() as i64,
            jobs: response_ns.count,
            finished_ns: self.finished_ns,
            response_ns,
            wait_ns,
            wait_buckets,
            wake_delay_ns,
            slowdown,
        }
    }
}

impl Delays {
    /// Takes in a job that ended.
    pub fn job(&mut self, job: Job) {
        if self.jobs.len() == KEPT {
            self.count();
        }
        self.jobs.push(job);
    }

    /// Counts the jobs that were kept.
    fn count(&mut self) {
        let jobs = self.jobs.len();
        for sampler in [&mut self.response, &mut self.wait, &mut self.slowdown] {
            sampler.reserve(jobs);
        }
        for job in self.jobs.drain(..) {
            self.response.record(job.response_ns);
            self.wait.record(job.wait_ns);
            self.wait_buckets.record(job.wait_ns);
            if job.service_ns > 0 {
                self.slowdown.record(ratio(job.response_ns, job.service_ns));
            }
        }
    }

    /// As a report has them.
    #[must_use]
    pub fn finish(mut self) -> DelayResults {
        self.count();
        DelayResults {
            response_ns: self.response.finish(),
            wait_ns: self.wait.finish(),
            wait_buckets: self.wait_buckets.finish(),
            wake_delay_ns: self.wake_delay.finish(),
            slowdown: self.slowdown.finish_ratio(),
        }
    }

    /// The whole distributions of responses and waiting times.
    #[must_use]
    pub fn ccdfs(&self) -> TaskCcdfs {
        let mut all = self.clone();
        all.count();
        TaskCcdfs { response: all.response.ccdf(), wait: all.wait.ccdf() }
    }
}
