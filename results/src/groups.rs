//! Tasks in groups: of many, the totals of their processes or classes are what can be read.

use std::collections::BTreeMap;

use crate::measure::pooled_mean;
use crate::report::{Buckets, Quantiles, Report, TaskResult};

/// Rows of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// One for each task.
    #[default]
    Task,
    /// One for all instances of a task of the workload: `T/1`, `T/2` are of class `T`.
    Class,
    /// One for each process.
    Process,
}

/// The task of the workload that a task is an instance of: `T` for `T/1`. Others are a class of their own.
#[must_use]
pub fn class_of(name: &str) -> &str {
    match name.rsplit_once('/') {
        Some((class, number)) if !class.is_empty() && is_number(number) => class,
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The group of a task.
#[must_use]
pub fn group_of(task: &TaskResult, by: By) -> &str {
    match by {
        By::Task => &task.name,
        By::Class => class_of(&task.name),
        By::Process => &task.process,
    }
}

/// The report with a row for each group instead of each task. Figures stay with tasks, so groups have none.
#[must_use]
pub fn grouped(report: &Report, by: By) -> Report {
    let mut report = report.clone();
    if by != By::Task {
        for run in &mut report.runs {
            run.tasks = totals(&run.tasks, by);
            run.figures = None;
        }
    }
    report
}

/// The totals of each group, in the order of their first tasks.
#[must_use]
pub fn totals(tasks: &[TaskResult], by: By) -> Vec<TaskResult> {
    members(tasks, by).into_iter().map(|(name, members)| total(name, &members)).collect()
}

/// The number of tasks in each group, in the same order.
#[must_use]
pub fn sizes(tasks: &[TaskResult], by: By) -> Vec<usize> {
    members(tasks, by).iter().map(|(_, members)| members.len()).collect()
}

fn members(tasks: &[TaskResult], by: By) -> Vec<(&str, Vec<&TaskResult>)> {
    let mut groups: Vec<(&str, Vec<&TaskResult>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for task in tasks {
        let name = group_of(task, by);
        let place = *places.entry(name).or_insert(groups.len());
        if place == groups.len() {
            groups.push((name, Vec::new()));
        }
        groups[place].1.push(task);
    }
    groups
}

/// Sums; of service errors the furthest of any task, of means the mean over all jobs, and of percentiles the worst, which the
/// percentile of all jobs together cannot exceed.
fn total(name: &str, tasks: &[&TaskResult]) -> TaskResult {
    let same_process = tasks.iter().all(|task| task.process == tasks[0].process);
    let samples = |of: fn(&TaskResult) -> &Quantiles| {
        pooled(&tasks.iter().map(|task| of(task)).collect::<Vec<&Quantiles>>())
    };
    TaskResult {
        name: name.to_owned(),
        process: if same_process { tasks[0].process.clone() } else { String::new() },
        weight: tasks.iter().map(|task| task.weight).sum(),
        service_ns: tasks.iter().map(|task| task.service_ns).sum(),
        entitled_ns: tasks.iter().map(|task| task.entitled_ns).sum(),
        share: tasks.iter().map(|task| task.share).sum(),
        error_min_ns: tasks.iter().map(|task| task.error_min_ns).min().unwrap_or(0),
        error_max_ns: tasks.iter().map(|task| task.error_max_ns).max().unwrap_or(0),
        jobs: tasks.iter().map(|task| task.jobs).sum(),
        finished_ns: tasks.iter().filter_map(|task| task.finished_ns).max(),
        response_ns: samples(|task| &task.response_ns),
        wait_ns: samples(|task| &task.wait_ns),
        wait_buckets: Buckets::sum(tasks.iter().filter_map(|task| task.wait_buckets.as_ref())),
        wake_delay_ns: samples(|task| &task.wake_delay_ns),
        slowdown: samples(|task| &task.slowdown),
    }
}

/// A group of one keeps its own numbers, the interval too.
fn pooled(samples: &[&Quantiles]) -> Quantiles {
    if let [only] = samples {
        return (*only).clone();
    }
    let worst = |of: fn(&Quantiles) -> Option<f64>| samples.iter().filter_map(|q| of(q)).reduce(f64::max);
    Quantiles {
        count: samples.iter().map(|q| q.count).sum(),
        mean: pooled_mean(samples),
        ci95: None,
        p50: None,
        p90: worst(|q| q.p90),
        p99: worst(|q| q.p99),
        p999: worst(|q| q.p999),
        max: worst(|q| q.max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn instances_are_of_a_class() {
        assert_eq!(
            ["T/1", "a/b/12", "a/b", "/3", "T/", "T"].map(class_of),
            ["T", "a/b", "a/b", "/3", "T/", "T"]
        );
    }

    #[test]
    fn totals_are_sums_and_the_worst() {
        let report = samples::two_policies();
        let tasks = &report.runs[0].tasks;
        let small = &totals(tasks, By::Class)[1];
        assert_eq!((small.name.as_str(), small.weight, small.jobs), ("small", 2.0, 300));
        assert_eq!(small.service_ns, tasks[1].service_ns + tasks[2].service_ns);
        assert_eq!((small.error_min_ns, small.error_max_ns), (-1_000_000, 2_000_000));
        // One of the two finished no job: the mean is the other's.
        assert_eq!(small.response_ns.mean, tasks[1].response_ns.mean);
        assert_eq!(small.response_ns.p99, tasks[1].response_ns.p99);
        assert_eq!(
            totals(tasks, By::Process).iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
            ["A", "B"]
        );
        assert_eq!(sizes(tasks, By::Process), [1, 2]);
        assert_eq!(totals(tasks, By::Task), *tasks);
        let by_process = grouped(&report, By::Process);
        let total: u64 = by_process.runs[1].tasks.iter().map(|task| task.service_ns).sum();
        assert_eq!(total, report.runs[1].tasks.iter().map(|task| task.service_ns).sum::<u64>());
    }

    /// The mean over all jobs, and not of the tasks' means.
    #[test]
    fn a_mean_weighs_jobs() {
        let mut report = samples::two_policies();
        let tasks = &mut report.runs[0].tasks;
        (tasks[1].response_ns.count, tasks[1].response_ns.mean) = (3, Some(10.0));
        (tasks[2].response_ns.count, tasks[2].response_ns.mean) = (1, Some(50.0));
        assert_eq!(totals(tasks, By::Class)[1].response_ns.mean, Some(20.0));
    }
}
