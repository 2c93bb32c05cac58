//! Reading one number off a report: what tables and `--assert` can name.
//!
//! Nothing here is measured anew. A number of several tasks or repetitions pools what the report
//! says of each: means weighted by their samples, and of percentiles the worst, which the
//! percentile of all samples together cannot exceed.

use divvy_sim::report::{Quantiles, Run, TaskResult};

/// The scale of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Plain: an index, a share of one, a ratio.
    Ratio,
    /// Things that are counted.
    Count,
}

/// Something that a report knows.
#[derive(Debug)]
pub struct Quantity {
    /// As written in `--assert`.
    pub name: &'static str,
    /// Its scale.
    pub unit: Unit,
    /// Where it is.
    pub source: Source,
    /// One line for `--help`.
    pub help: &'static str,
}

/// Where in a report a quantity is.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// One number a run.
    Run(fn(&Run) -> f64),
    /// One number a task.
    Task(fn(&TaskResult) -> Option<f64>),
    /// A distribution a task.
    Samples(fn(&TaskResult) -> &Quantiles),
}

/// How several numbers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Mean of samples, or of tasks.
    Mean,
    /// Median of samples.
    P50,
    /// 90th percentile of samples.
    P90,
    /// 99th percentile of samples.
    P99,
    /// Greatest.
    Max,
    /// Least of the tasks.
    Min,
    /// Sum over tasks.
    Sum,
    /// Number of samples.
    Count,
}

/// Greatest distance of received from entitled service, either way.
pub const ERROR: Quantity = Quantity {
    name: "error",
    unit: Unit::Time,
    source: Source::Task(|task| Some(behind_ns(task).max(ahead_ns(task)))),
    help: "service error: distance from the fluid share, either way",
};
/// Jain's fairness index.
pub const JAIN: Quantity = Quantity {
    name: "jain",
    unit: Unit::Ratio,
    source: Source::Run(|run| run.jain),
    help: "Jain's index of received over entitled service, 1 is fair",
};
/// From a job's start to its end.
pub const RESPONSE: Quantity = Quantity {
    name: "response",
    unit: Unit::Time,
    source: Source::Samples(|task| &task.response_ns),
    help: "from a job's start to its end",
};
/// Runnable but not running, per job.
pub const WAIT: Quantity = Quantity {
    name: "wait",
    unit: Unit::Time,
    source: Source::Samples(|task| &task.wait_ns),
    help: "runnable but not running, per job",
};
/// From a wake-up until it first runs.
pub const DELAY: Quantity = Quantity {
    name: "delay",
    unit: Unit::Time,
    source: Source::Samples(|task| &task.wake_delay_ns),
    help: "from a wake-up until the task first runs",
};
/// Response over service.
pub const SLOWDOWN: Quantity = Quantity {
    name: "slowdown",
    unit: Unit::Ratio,
    source: Source::Samples(|task| &task.slowdown),
    help: "response over service, per job",
};
/// Changes from one task to another.
pub const SWITCHES: Quantity = Quantity {
    name: "switches",
    unit: Unit::Count,
    source: Source::Run(|run| run.switches as f64),
    help: "changes from one task to another",
};
/// Runs on another CPU than the last time.
pub const MIGRATIONS: Quantity = Quantity {
    name: "migrations",
    unit: Unit::Count,
    source: Source::Run(|run| run.migrations as f64),
    help: "runs on another CPU than the last time",
};
/// Times that the policy was asked.
pub const DECISIONS: Quantity = Quantity {
    name: "decisions",
    unit: Unit::Count,
    source: Source::Run(|run| run.decisions as f64),
    help: "times that the policy was asked for the next task",
};
/// CPU time given to tasks, as a share of all.
pub const UTILIZATION: Quantity = Quantity {
    name: "utilization",
    unit: Unit::Ratio,
    source: Source::Run(|run| run.utilization),
    help: "CPU time given to tasks, as a share of all",
};

/// All that can be named, in the order of the help.
pub const QUANTITIES: [Quantity; 18] = [
    JAIN,
    UTILIZATION,
    SWITCHES,
    MIGRATIONS,
    DECISIONS,
    Quantity {
        name: "duration",
        unit: Unit::Time,
        source: Source::Run(|run| run.duration_ns as f64),
        help: "simulated time",
    },
    ERROR,
    Quantity {
        name: "behind",
        unit: Unit::Time,
        source: Source::Task(|task| Some(behind_ns(task))),
        help: "greatest service that the task was behind its share",
    },
    Quantity {
        name: "ahead",
        unit: Unit::Time,
        source: Source::Task(|task| Some(ahead_ns(task))),
        help: "greatest service that the task was ahead of its share",
    },
    Quantity {
        name: "share",
        unit: Unit::Ratio,
        source: Source::Task(|task| Some(task.share)),
        help: "CPU time received, as a share of all CPU time",
    },
    Quantity {
        name: "service",
        unit: Unit::Time,
        source: Source::Task(|task| Some(task.service_ns as f64)),
        help: "CPU time received",
    },
    Quantity {
        name: "entitled",
        unit: Unit::Time,
        source: Source::Task(|task| Some(task.entitled_ns as f64)),
        help: "CPU time that the fluid model gives",
    },
    Quantity {
        name: "jobs",
        unit: Unit::Count,
        source: Source::Task(|task| Some(task.jobs as f64)),
        help: "jobs finished",
    },
    Quantity {
        name: "finished",
        unit: Unit::Time,
        source: Source::Task(|task| task.finished_ns.map(|ns| ns as f64)),
        help: "when the task's last job finished",
    },
    RESPONSE,
    WAIT,
    DELAY,
    SLOWDOWN,
];

/// Statistics by name.
pub const STATISTICS: [(&str, Statistic); 8] = [
    ("mean", Statistic::Mean),
    ("p50", Statistic::P50),
    ("p90", Statistic::P90),
    ("p99", Statistic::P99),
    ("max", Statistic::Max),
    ("min", Statistic::Min),
    ("sum", Statistic::Sum),
    ("count", Statistic::Count),
];

impl Quantity {
    /// The quantity in one run, over the given tasks; `None` when nothing was measured.
    pub fn of(&self, run: &Run, statistic: Statistic, tasks: &[&TaskResult]) -> Option<f64> {
        match self.source {
            Source::Run(value) => Some(value(run)),
            Source::Task(value) => pool_values(tasks.iter().filter_map(|task| value(task)), statistic),
            Source::Samples(samples) => pool_samples(tasks.iter().map(|task| samples(task)), statistic),
        }
    }

    /// The quantity over all tasks of a run.
    pub fn of_run(&self, run: &Run, statistic: Statistic) -> Option<f64> {
        self.of(run, statistic, &run.tasks.iter().collect::<Vec<_>>())
    }

    /// Whether the statistic means something for it; a number a run is what it is.
    pub fn takes(&self, statistic: Statistic) -> bool {
        use Statistic::{Count, Max, Mean, Min, P50, P90, P99, Sum};
        match self.source {
            Source::Run(_) => false,
            Source::Task(_) => matches!(statistic, Mean | Max | Min | Sum),
            Source::Samples(_) => matches!(statistic, Mean | P50 | P90 | P99 | Max | Count),
        }
    }
}

/// Mean over all samples of several distributions, with a half-width of its 95 % interval that holds
/// however the distributions depend on each other: the weighted sum of theirs.
pub fn pooled_mean<'a>(distributions: impl Iterator<Item = &'a Quantiles>) -> Option<(f64, Option<f64>)> {
    let (mut samples, mut sum, mut half_sum) = (0.0, 0.0, Some(0.0));
    for distribution in distributions {
        let Some(mean) = distribution.mean else { continue };
        let count = distribution.count as f64;
        samples += count;
        sum += count * mean;
        half_sum = half_sum.zip(distribution.ci95).map(|(all, half)| all + count * half);
    }
    (samples > 0.0).then(|| (sum / samples, half_sum.map(|half| half / samples)))
}

fn pool_samples<'a>(distributions: impl Iterator<Item = &'a Quantiles>, statistic: Statistic) -> Option<f64> {
    let worst = |of: fn(&Quantiles) -> Option<f64>, all: &mut dyn Iterator<Item = &'a Quantiles>| {
        all.filter_map(of).reduce(f64::max)
    };
    let mut distributions = distributions;
    match statistic {
        Statistic::Mean => pooled_mean(distributions).map(|(mean, _)| mean),
        Statistic::P50 => worst(|q| q.p50, &mut distributions),
        Statistic::P90 => worst(|q| q.p90, &mut distributions),
        Statistic::P99 => worst(|q| q.p99, &mut distributions),
        Statistic::Max => worst(|q| q.max, &mut distributions),
        Statistic::Count => Some(distributions.map(|q| q.count as f64).sum()),
        Statistic::Min | Statistic::Sum => None,
    }
}

fn pool_values(values: impl Iterator<Item = f64>, statistic: Statistic) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    if values.is_empty() {
        return None;
    }
    let sum: f64 = values.iter().sum();
    match statistic {
        Statistic::Mean => Some(sum / values.len() as f64),
        Statistic::Sum => Some(sum),
        Statistic::Max => values.into_iter().reduce(f64::max),
        Statistic::Min => values.into_iter().reduce(f64::min),
        _ => None,
    }
}

fn behind_ns(task: &TaskResult) -> f64 {
    task.error_min_ns.min(0).unsigned_abs() as f64
}

fn ahead_ns(task: &TaskResult) -> f64 {
    task.error_max_ns.max(0) as f64
}
