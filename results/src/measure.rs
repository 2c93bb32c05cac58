//! Reads one number from a report by its name: the names that tables and `--assert` use.
//!
//! A run's distributions are over all its jobs, a task's over its own jobs. Several tasks that are named together are
//! pooled from the report's numbers: the mean of means, weighted by the number of samples; and the worst percentile,
//! which the percentile of all samples together cannot exceed.

use crate::report::{Quantiles, Run, TaskResult};

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
    /// One number a run, if it was measured.
    Run(fn(&Run) -> Option<f64>),
    /// One number a task.
    Task(fn(&TaskResult) -> Option<f64>),
    /// A distribution a run, and one a task.
    Samples {
        /// Over all jobs of the run.
        run: fn(&Run) -> &Quantiles,
        /// Over the task's own.
        task: fn(&TaskResult) -> &Quantiles,
    },
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
    /// 99.9th percentile of samples.
    P999,
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
    source: Source::Run(|run| Some(run.jain)),
    help: "Jain's index of received over entitled service, 1 is fair",
};
/// Jobs that leave in the order in which they came.
pub const SENIORITY: Quantity = Quantity {
    name: "seniority",
    unit: Unit::Ratio,
    source: Source::Run(|run| run.seniority),
    help: "part of the pairs of jobs that left in the order in which they came",
};
/// From a job's start to its end.
pub const RESPONSE: Quantity = Quantity {
    name: "response",
    unit: Unit::Time,
    source: Source::Samples { run: |run| &run.response_ns, task: |task| &task.response_ns },
    help: "from a job's start to its end",
};
/// Runnable but not running, per job.
pub const WAIT: Quantity = Quantity {
    name: "wait",
    unit: Unit::Time,
    source: Source::Samples { run: |run| &run.wait_ns, task: |task| &task.wait_ns },
    help: "runnable but not running, per job",
};
/// From a wake-up until it first runs.
pub const DELAY: Quantity = Quantity {
    name: "delay",
    unit: Unit::Time,
    source: Source::Samples { run: |run| &run.wake_delay_ns, task: |task| &task.wake_delay_ns },
    help: "from a wake-up until the task first runs",
};
/// Response over service.
pub const SLOWDOWN: Quantity = Quantity {
    name: "slowdown",
    unit: Unit::Ratio,
    source: Source::Samples { run: |run| &run.slowdown, task: |task| &task.slowdown },
    help: "response over service, per job",
};
/// Changes from one task to another.
pub const SWITCHES: Quantity = Quantity {
    name: "switches",
    unit: Unit::Count,
    source: Source::Run(|run| Some(run.switches as f64)),
    help: "changes from one task to another",
};
/// Runs on another CPU than the last time.
pub const MIGRATIONS: Quantity = Quantity {
    name: "migrations",
    unit: Unit::Count,
    source: Source::Run(|run| run.migrations.map(|count| count as f64)),
    help: "runs on another CPU than the last time",
};
/// Migrations to another hardware thread of the core.
pub const SAME_CORE: Quantity = Quantity {
    name: "same_core",
    unit: Unit::Count,
    source: Source::Run(|run| run.migrations_by_distance.map(|by| by.same_core as f64)),
    help: "migrations to another hardware thread of the core",
};
/// Migrations to another core with the same last-level cache.
pub const SAME_LLC: Quantity = Quantity {
    name: "same_llc",
    unit: Unit::Count,
    source: Source::Run(|run| run.migrations_by_distance.map(|by| by.same_llc as f64)),
    help: "migrations to another core with the same last-level cache",
};
/// Migrations to another cache of the node.
pub const SAME_NODE: Quantity = Quantity {
    name: "same_node",
    unit: Unit::Count,
    source: Source::Run(|run| run.migrations_by_distance.map(|by| by.same_node as f64)),
    help: "migrations to another cache of the node",
};
/// Migrations to another node.
pub const OTHER_NODE: Quantity = Quantity {
    name: "other_node",
    unit: Unit::Count,
    source: Source::Run(|run| run.migrations_by_distance.map(|by| by.other_node as f64)),
    help: "migrations to another node",
};
/// Times that the policy was asked.
pub const DECISIONS: Quantity = Quantity {
    name: "decisions",
    unit: Unit::Count,
    source: Source::Run(|run| run.decisions.map(|count| count as f64)),
    help: "times that the policy was asked for the next task",
};
/// CPU time given to tasks, as a share of all.
pub const UTILIZATION: Quantity = Quantity {
    name: "utilization",
    unit: Unit::Ratio,
    source: Source::Run(|run| Some(run.utilization)),
    help: "CPU time given to tasks, as a share of all",
};

/// All that can be named, in the order of the help.
pub const QUANTITIES: [Quantity; 23] = [
    JAIN,
    SENIORITY,
    UTILIZATION,
    SWITCHES,
    MIGRATIONS,
    SAME_CORE,
    SAME_LLC,
    SAME_NODE,
    OTHER_NODE,
    DECISIONS,
    Quantity {
        name: "duration",
        unit: Unit::Time,
        source: Source::Run(|run| Some(run.duration_ns as f64)),
        help: "simulated time; of real threads, real time",
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
pub const STATISTICS: [(&str, Statistic); 9] = [
    ("mean", Statistic::Mean),
    ("p50", Statistic::P50),
    ("p90", Statistic::P90),
    ("p99", Statistic::P99),
    ("p999", Statistic::P999),
    ("max", Statistic::Max),
    ("min", Statistic::Min),
    ("sum", Statistic::Sum),
    ("count", Statistic::Count),
];

impl Quantity {
    /// The quantity over all of a run; `None` when nothing was measured.
    pub fn of_run(&self, run: &Run, statistic: Statistic) -> Option<f64> {
        match self.source {
            Source::Run(value) => value(run),
            Source::Task(value) => pool_values(run.tasks.iter().filter_map(value), statistic),
            Source::Samples { run: samples, .. } => of_samples(samples(run), statistic),
        }
    }

    /// The quantity over some tasks of a run. A quantity of the run as a whole is the same for any tasks.
    pub fn of_tasks(&self, run: &Run, tasks: &[&TaskResult], statistic: Statistic) -> Option<f64> {
        match self.source {
            Source::Run(value) => value(run),
            Source::Task(value) => pool_values(tasks.iter().filter_map(|task| value(task)), statistic),
            Source::Samples { task: samples, .. } => {
                let distributions: Vec<&Quantiles> = tasks.iter().map(|task| samples(task)).collect();
                pool_samples(&distributions, statistic)
            }
        }
    }

    /// Whether the statistic is defined for this quantity. A quantity of the run as a whole has only its value.
    pub fn takes(&self, statistic: Statistic) -> bool {
        use Statistic::{Count, Max, Mean, Min, P50, P90, P99, P999, Sum};
        match self.source {
            Source::Run(_) => false,
            Source::Task(_) => matches!(statistic, Mean | Max | Min | Sum),
            Source::Samples { .. } => matches!(statistic, Mean | P50 | P90 | P99 | P999 | Max | Count),
        }
    }
}

/// Mean over all samples of several distributions.
pub fn pooled_mean(distributions: &[&Quantiles]) -> Option<f64> {
    let measured = || distributions.iter().filter_map(|q| Some((q.count as f64, q.mean?)));
    let samples: f64 = measured().map(|(count, _)| count).sum();
    (samples > 0.0).then(|| measured().map(|(count, mean)| count * mean).sum::<f64>() / samples)
}

fn pool_samples(distributions: &[&Quantiles], statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Mean => pooled_mean(distributions),
        Statistic::Count => Some(distributions.iter().map(|q| q.count as f64).sum()),
        _ => distributions.iter().filter_map(|q| of_samples(q, statistic)).reduce(f64::max),
    }
}

fn of_samples(distribution: &Quantiles, statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Mean => distribution.mean,
        Statistic::P50 => distribution.p50,
        Statistic::P90 => distribution.p90,
        Statistic::P99 => distribution.p99,
        Statistic::P999 => distribution.p999,
        Statistic::Max => distribution.max,
        Statistic::Count => Some(distribution.count as f64),
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
