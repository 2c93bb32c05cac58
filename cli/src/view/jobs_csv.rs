//! The jobs of a run as CSV (RFC 4180): one row each, in the order in which they ended.

use std::fmt::Write as _;

use divvy_policy::{Failure, FailureKind};
use divvy_results::csv::field;
use divvy_results::report::Report;

const HEAD: &str = "policy,task,arrival_ns,start_ns,completion_ns,service_ns,wait_ns\r\n";

/// There was no room for all jobs.
#[derive(Debug, thiserror::Error)]
#[error(
    "--jobs-csv: under {policy} there are more jobs and events than fit, 8 million: give a shorter --duration"
)]
pub struct TooManyJobs {
    policy: String,
}

impl Failure for TooManyJobs {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// Writes the jobs of each policy's first repetition. A job that never had a CPU has no start.
///
/// # Errors
/// If not all of them were kept.
pub fn write(report: &Report) -> Result<String, TooManyJobs> {
    let mut out = HEAD.to_owned();
    for run in &report.runs {
        let Some(schedule) = &run.schedule else { continue };
        if schedule.is_cut {
            return Err(TooManyJobs { policy: run.policy.clone() });
        }
        let policy = field(&run.policy);
        for job in &schedule.jobs {
            let task = field(&schedule.tasks[job.task as usize].name);
            let start = job.started_ns.map_or_else(String::new, |ns| ns.to_string());
            let (from_ns, to_ns, service_ns, wait_ns) = (job.from_ns, job.to_ns, job.service_ns, job.wait_ns);
            let _ = write!(out, "{policy},{task},{from_ns},{start},{to_ns},{service_ns},{wait_ns}\r\n");
        }
    }
    Ok(out)
}
