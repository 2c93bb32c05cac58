//! What is measured at a point: means over repetitions, and how sure they are.

use divvy_sim::report::Run;
use divvy_sim::stats::interval95;

/// Something that each run has one number for.
pub struct Measure {
    /// Its column.
    pub name: &'static str,
    /// What follows the column's name: `_ns`, or nothing for plain numbers.
    pub unit: &'static str,
    of: fn(&Run) -> Option<f64>,
}

/// In the order of their columns.
pub const MEASURES: [Measure; 13] = [
    Measure { name: "response_mean", unit: "_ns", of: |run| run.response_ns.mean },
    Measure { name: "response_p50", unit: "_ns", of: |run| run.response_ns.p50 },
    Measure { name: "response_p99", unit: "_ns", of: |run| run.response_ns.p99 },
    Measure { name: "wait_mean", unit: "_ns", of: |run| run.wait_ns.mean },
    Measure { name: "wake_delay_mean", unit: "_ns", of: |run| run.wake_delay_ns.mean },
    Measure { name: "wake_delay_p99", unit: "_ns", of: |run| run.wake_delay_ns.p99 },
    Measure { name: "slowdown_mean", unit: "", of: |run| run.slowdown.mean },
    Measure { name: "utilization", unit: "", of: |run| Some(run.utilization) },
    Measure { name: "jain", unit: "", of: |run| Some(run.jain) },
    Measure { name: "service_error_max", unit: "_ns", of: service_error },
    Measure { name: "switches_per_s", unit: "", of: |run| per_second(run, Some(run.switches)) },
    Measure { name: "migrations_per_s", unit: "", of: |run| per_second(run, run.migrations) },
    Measure { name: "decisions_per_s", unit: "", of: |run| per_second(run, run.decisions) },
];

/// The greatest distance of a task's received from its entitled service.
fn service_error(run: &Run) -> Option<f64> {
    let errors =
        run.tasks.iter().map(|task| task.error_min_ns.unsigned_abs().max(task.error_max_ns.unsigned_abs()));
    errors.max().map(|ns| ns as f64)
}

fn per_second(run: &Run, count: Option<u64>) -> Option<f64> {
    (run.duration_ns > 0).then_some(count? as f64 * 1e9 / run.duration_ns as f64)
}

/// A mean over repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Of the repetitions that have a value; absent if none has.
    pub mean: Option<f64>,
    /// Half-width of its 95 % interval; absent with fewer than two.
    pub ci95: Option<f64>,
}

/// One policy at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number, from 1.
    pub point: usize,
    /// The policy as it was asked for.
    pub policy: String,
    /// For each key that is varied the index of its value; none of what this policy does not have.
    pub values: Vec<Option<usize>>,
    /// Number of CPUs.
    pub cpus: u32,
    /// What did not count.
    pub warm_up_ns: u64,
    /// Mean length of what counted.
    pub counted_ns: u64,
    /// Jobs that ended, over all repetitions.
    pub jobs: u64,
    /// In the order of [`MEASURES`].
    pub estimates: Vec<Estimate>,
}

/// From the values of repetitions, in their order.
pub(super) fn estimates(runs: &[Run]) -> Vec<Estimate> {
    MEASURES
        .iter()
        .map(|measure| estimate(&runs.iter().filter_map(measure.of).collect::<Vec<f64>>()))
        .collect()
}

fn estimate(values: &[f64]) -> Estimate {
    match interval95(values) {
        Some(interval) => Estimate { mean: Some(interval.mean), ci95: Some(interval.half_width) },
        None => Estimate { mean: values.first().copied(), ci95: None },
    }
}
