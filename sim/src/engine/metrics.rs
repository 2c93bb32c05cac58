//! What each task got, from events only.

use crate::report::TaskResult;
use crate::stats::{Sampler, ratio};

/// One row of the result: a task, or a class of short ones.
#[derive(Debug)]
pub(super) struct Row {
    pub name: String,
    pub process: String,
    pub weight: f64,
    pub service_ns: u64,
    pub entitled_ns: f64,
    pub error_min_ns: f64,
    pub error_max_ns: f64,
    pub finished_ns: Option<u64>,
    pub delays: Delays,
}

/// How long jobs took, of one row or of all.
#[derive(Debug, Default)]
pub(super) struct Delays {
    pub response: Sampler,
    pub wait: Sampler,
    pub wake_delay: Sampler,
    pub slowdown: Sampler,
}

/// A job that just ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub response_ns: u64,
    pub wait_ns: u64,
    pub service_ns: u64,
}

impl Row {
    pub(super) fn new(name: String, process: String, weight: f64) -> Row {
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

    /// Statistics begin: what came before does not count.
    pub(super) fn reset(&mut self) {
        *self = Row::new(std::mem::take(&mut self.name), std::mem::take(&mut self.process), self.weight);
    }

    pub(super) fn result(&self, cpu_time_ns: u64) -> TaskResult {
        let delays = &self.delays;
        let response_ns = delays.response.finish();
        TaskResult {
            name: self.name.clone(),
            process: self.process.clone(),
            weight: self.weight,
            service_ns: self.service_ns,
            entitled_ns: self.entitled_ns.round() as u64,
            share: if cpu_time_ns == 0 { 0.0 } else { self.service_ns as f64 / cpu_time_ns as f64 },
            error_min_ns: self.error_min_ns.round() as i64,
            error_max_ns: self.error_max_ns.round() as i64,
            jobs: response_ns.count,
            finished_ns: self.finished_ns,
            response_ns,
            wait_ns: delays.wait.finish(),
            wake_delay_ns: delays.wake_delay.finish(),
            slowdown: delays.slowdown.finish_ratio(),
        }
    }
}

impl Delays {
    pub(super) fn job(&mut self, job: Job) {
        self.response.record(job.response_ns);
        self.wait.record(job.wait_ns);
        if job.service_ns > 0 {
            self.slowdown.record(ratio(job.response_ns, job.service_ns));
        }
    }
}
