//! Tasks: a row a policy, repetition and task, with the columns of `--format csv`.

use arrow_array::{ArrayRef, Int32Array, Int64Array};
use divvy_results::report::{Quantiles, Report, TaskResult};

use super::names::Names;
use super::{numbers, some_numbers, some_whole, whole};
use crate::table::column;

/// The distributions of a task, and the unit at the end of their columns' names.
type Distribution = (&'static str, &'static str, fn(&TaskResult) -> &Quantiles);

const DISTRIBUTIONS: [Distribution; 4] = [
    ("response", "_ns", |task| &task.response_ns),
    ("wait", "_ns", |task| &task.wait_ns),
    ("wake_delay", "_ns", |task| &task.wake_delay_ns),
    ("slowdown", "", |task| &task.slowdown),
];

type Number = (&'static str, fn(&Quantiles) -> Option<f64>);

const NUMBERS: [Number; 7] = [
    ("mean", |q| q.mean),
    ("ci95", |q| q.ci95),
    ("p50", |q| q.p50),
    ("p90", |q| q.p90),
    ("p99", |q| q.p99),
    ("p999", |q| q.p999),
    ("max", |q| q.max),
];

/// All tasks of all runs.
pub fn tasks(report: &Report) -> Vec<(String, ArrayRef)> {
    let rows: Vec<(&str, u32, &TaskResult)> = report
        .runs
        .iter()
        .flat_map(|run| run.tasks.iter().map(|task| (run.policy.as_str(), run.rep, task)))
        .collect();
    let tasks = || rows.iter().map(|(.., task)| *task);
    let names = |of: fn(&TaskResult) -> &str| tasks().map(of).collect::<Names>().column();
    let time = |of: fn(&TaskResult) -> u64| whole(tasks().map(of));
    let number = |of: fn(&TaskResult) -> f64| numbers(tasks().map(of));
    let error = |of: fn(&TaskResult) -> i64| column(Int64Array::from_iter_values(tasks().map(of)));
    let mut columns = vec![
        ("policy", rows.iter().map(|(policy, ..)| *policy).collect::<Names>().column()),
        ("rep", column(Int32Array::from_iter_values(rows.iter().map(|(_, rep, _)| *rep as i32)))),
        ("task", names(|task| &task.name)),
        ("process", names(|task| &task.process)),
        ("weight", number(|task| task.weight)),
        ("service_ns", time(|task| task.service_ns)),
        ("entitled_ns", time(|task| task.entitled_ns)),
        ("share", number(|task| task.share)),
        ("error_min_ns", error(|task| task.error_min_ns)),
        ("error_max_ns", error(|task| task.error_max_ns)),
        ("jobs", time(|task| task.jobs)),
        ("finished_ns", some_whole(tasks().map(|task| task.finished_ns))),
    ]
    .into_iter()
    .map(|(name, column)| (name.to_owned(), column))
    .collect::<Vec<_>>();
    for (name, unit, of) in DISTRIBUTIONS {
        columns.push((format!("{name}_count"), whole(tasks().map(|task| of(task).count))));
        for (part, value) in NUMBERS {
            columns.push((format!("{name}_{part}{unit}"), some_numbers(tasks().map(|task| value(of(task))))));
        }
    }
    columns
}
