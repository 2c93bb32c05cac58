//! Measures at a point: means over repetitions, and their intervals.

use divvy_results::report::{Run, TaskResult};
use divvy_results::stats::{are_identical, interval95};

/// Something that each run has one number for.
pub struct Measure {
    /// Its column.
    pub name: &'static str,
    /// Suffix of the column's name: `_ns`, or nothing for plain numbers.
    pub unit: &'static str,
    of: fn(&Run) -> Option<f64>,
    of_task: fn(&TaskResult) -> Option<f64>,
}

/// A measure that a single task does not have.
const NO_TASK: fn(&TaskResult) -> Option<f64> = |_| None;

/// In the order of their columns.
pub const MEASURES: [Measure; 18] = [
    Measure {
        name: "response_mean",
        unit: "_ns",
        of: |run| run.response_ns.mean,
        of_task: |t| t.response_ns.mean,
    },
    Measure {
        name: "response_p50",
        unit: "_ns",
        of: |run| run.response_ns.p50,
        of_task: |t| t.response_ns.p50,
    },
    Measure {
        name: "response_p90",
        unit: "_ns",
        of: |run| run.response_ns.p90,
        of_task: |t| t.response_ns.p90,
    },
    Measure {
        name: "response_p99",
        unit: "_ns",
        of: |run| run.response_ns.p99,
        of_task: |t| t.response_ns.p99,
    },
    Measure {
        name: "response_p999",
        unit: "_ns",
        of: |run| run.response_ns.p999,
        of_task: |t| t.response_ns.p999,
    },
    Measure { name: "wait_mean", unit: "_ns", of: |run| run.wait_ns.mean, of_task: |t| t.wait_ns.mean },
    Measure {
        name: "wake_delay_mean",
        unit: "_ns",
        of: |run| run.wake_delay_ns.mean,
        of_task: |t| t.wake_delay_ns.mean,
    },
    Measure {
        name: "wake_delay_p99",
        unit: "_ns",
        of: |run| run.wake_delay_ns.p99,
        of_task: |t| t.wake_delay_ns.p99,
    },
    Measure { name: "slowdown_mean", unit: "", of: |run| run.slowdown.mean, of_task: |t| t.slowdown.mean },
    Measure { name: "slowdown_p50", unit: "", of: |run| run.slowdown.p50, of_task: |t| t.slowdown.p50 },
    Measure { name: "slowdown_p90", unit: "", of: |run| run.slowdown.p90, of_task: |t| t.slowdown.p90 },
    Measure { name: "slowdown_p99", unit: "", of: |run| run.slowdown.p99, of_task: |t| t.slowdown.p99 },
    // For a task, this is its share.
    Measure { name: "utilization", unit: "", of: |run| Some(run.utilization), of_task: |t| Some(t.share) },
    Measure { name: "jain", unit: "", of: |run| Some(run.jain), of_task: NO_TASK },
    Measure {
        name: "service_error_max",
        unit: "_ns",
        of: greatest_error,
        of_task: |t| Some(service_error(t)),
    },
    Measure {
        name: "switches_per_s",
        unit: "",
        of: |run| per_second(run, Some(run.switches)),
        of_task: NO_TASK,
    },
    Measure {
        name: "migrations_per_s",
        unit: "",
        of: |run| per_second(run, run.migrations),
        of_task: NO_TASK,
    },
    Measure { name: "decisions_per_s", unit: "", of: |run| per_second(run, run.decisions), of_task: NO_TASK },
];

/// The greatest distance of a task's received from its entitled service.
fn greatest_error(run: &Run) -> Option<f64> {
    run.tasks.iter().map(service_error).reduce(f64::max)
}

fn service_error(task: &TaskResult) -> f64 {
    task.error_min_ns.unsigned_abs().max(task.error_max_ns.unsigned_abs()) as f64
}

fn per_second(run: &Run, count: Option<u64>) -> Option<f64> {
    (run.duration_ns > 0).then_some(count? as f64 * 1e9 / run.duration_ns as f64)
}

/// A mean over repetitions, in the unit of its measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Mean of the repetitions that have a value; absent if none has.
    pub mean: Option<f64>,
    /// Half-width of its 95 % interval, in the same unit; absent with fewer than two values, and if these are identical.
    pub ci95: Option<f64>,
    /// Two values or more, and all are identical.
    pub is_exact: bool,
}

/// One policy at one point, or how much one has more than another.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number, from 1.
    pub point: usize,
    /// The policy as it was asked for.
    pub policy: String,
    /// The task; none for all tasks together.
    pub task: Option<String>,
    /// The policy whose numbers were subtracted, repetition by repetition; none unless this is a difference.
    pub baseline: Option<String>,
    /// For each varied key the index of its value; none if this policy does not have the key.
    pub values: Vec<Option<usize>>,
    /// Number of CPUs.
    pub cpus: u32,
    /// Length of the warm-up, in ns; it does not count.
    pub warm_up_ns: u64,
    /// Mean length of what counted.
    pub counted_ns: u64,
    /// Jobs that ended, over all repetitions; a difference has none.
    pub jobs: Option<u64>,
    /// In the order of [`MEASURES`].
    pub estimates: Vec<Estimate>,
}

/// The numbers of a repetition that are kept.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub counted_ns: u64,
    pub all: Numbers,
    /// In the order of the run's tasks; empty without --per-task.
    pub tasks: Vec<Numbers>,
}

/// Numbers of a run, or of a task in it.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub jobs: u64,
    /// In the order of [`MEASURES`].
    values: [Option<f64>; MEASURES.len()],
}

impl Measured {
    pub fn of(run: &Run, with_tasks: bool) -> Measured {
        let task = |task: &TaskResult| Numbers {
            jobs: task.jobs,
            values: std::array::from_fn(|i| (MEASURES[i].of_task)(task)),
        };
        Measured {
            counted_ns: run.duration_ns,
            all: Numbers {
                jobs: run.response_ns.count,
                values: std::array::from_fn(|i| (MEASURES[i].of)(run)),
            },
            tasks: if with_tasks { run.tasks.iter().map(task).collect() } else { Vec::new() },
        }
    }
}

/// From the numbers of repetitions, in their order.
pub(super) fn estimates(reps: &[&Numbers]) -> Vec<Estimate> {
    let of = |i: usize| estimate(&reps.iter().filter_map(|rep| rep.values[i]).collect::<Vec<f64>>());
    (0..MEASURES.len()).map(of).collect()
}

/// Estimates of differences between repetitions with the same random numbers: variation that both share
/// does not widen the intervals.
pub(super) fn differences(reps: &[&Numbers], baseline: &[&Numbers]) -> Vec<Estimate> {
    let of = |i: usize| {
        let pairs = reps.iter().zip(baseline);
        let values = pairs.filter_map(|(rep, base)| Some(rep.values[i]? - base.values[i]?));
        estimate(&values.collect::<Vec<f64>>())
    };
    (0..MEASURES.len()).map(of).collect()
}

fn estimate(values: &[f64]) -> Estimate {
    let is_exact = are_identical(values);
    match interval95(values).filter(|_| !is_exact) {
        Some(interval) => Estimate { mean: Some(interval.mean), ci95: Some(interval.half_width), is_exact },
        None => Estimate { mean: values.first().copied(), ci95: None, is_exact },
    }
}
