//! The table with one row per task.

use divvy_results::compare::Policy;
use divvy_results::measure::pooled_mean;
use divvy_results::report::{Buckets, Quantiles, TaskResult};
use divvy_results::text;

use crate::view::histogram::{self, Axis};
use crate::view::table::{ABSENT, Cell, Column, Picture, SERVICE, TIMES, Table};

/// One row per task. Over repetitions: means, and the extremes of the service error.
pub fn table(policy: &Policy, cpus: u32) -> Table {
    let heads: [([&'static str; 2], u8); 9] = [
        (["", "weight"], SERVICE),
        (["", "entitled"], SERVICE),
        (["", "share"], SERVICE),
        (["error", "least"], SERVICE),
        (["error", "most"], SERVICE),
        (["", "jobs"], TIMES),
        (["response", "mean"], TIMES),
        (["response", "p99"], TIMES),
        (["wait", "mean"], TIMES),
    ];
    let mut columns = vec![Column::name("task")];
    columns.extend(heads.into_iter().map(|(head, group)| Column::number(head, group)));
    let duration_ns = policy.runs.iter().map(|run| run.duration_ns as f64).sum::<f64>();
    let tasks: Vec<Vec<&TaskResult>> =
        (0..policy.runs[0].tasks.len()).map(|index| policy.task(index)).collect();
    let rows = tasks.iter().map(|task| task_row(task, duration_ns * f64::from(cpus))).collect();
    let mut table = Table { title: Some(text::escape(policy.spec)), columns, rows, meaning: None };
    add_histograms(&mut table, &tasks);
    table.without_empty_columns()
}

/// Adds a histogram of waiting times beside each task's mean.
fn add_histograms(table: &mut Table, tasks: &[Vec<&TaskResult>]) {
    let buckets =
        |task: &Vec<&TaskResult>| histogram::sum(task.iter().filter_map(|task| task.wait_buckets.as_ref()));
    let all: Vec<Option<Buckets>> = tasks.iter().map(buckets).collect();
    let Some(axis) = Axis::of(all.iter().flatten()) else { return };
    for (row, buckets) in table.rows.iter_mut().zip(&all) {
        if let (Some(cell), Some(buckets)) = (row.last_mut(), buckets) {
            cell.picture = Some(Picture::Histogram(axis.draw(buckets)));
        }
    }
    table.meaning = Some(format!(
        "histograms: the task's jobs by waiting time, {}, three places a factor of ten (1, 2, 5); the highest of all is full",
        axis.span()
    ));
}

/// `cpu_time_ns` is that of all CPUs in all repetitions.
fn task_row(task: &[&TaskResult], cpu_time_ns: f64) -> Vec<Cell> {
    let time = |value: Option<f64>| value.map_or(ABSENT.to_owned(), text::time);
    let percent = |share: f64| text::percent(share, 2);
    let count = task.len() as f64;
    let least = task.iter().map(|task| task.error_min_ns).min().unwrap_or(0);
    let most = task.iter().map(|task| task.error_max_ns).max().unwrap_or(0);
    let entitled_ns: f64 = task.iter().map(|task| task.entitled_ns as f64).sum();
    [
        text::escape(&task[0].name),
        text::plain(task[0].weight),
        percent(if cpu_time_ns > 0.0 { entitled_ns / cpu_time_ns } else { 0.0 }),
        mean_share(task).map_or(ABSENT.to_owned(), percent),
        text::time(least as f64),
        text::time(most as f64),
        text::count(task.iter().map(|task| task.jobs as f64).sum::<f64>() / count),
        time(mean_response(task)),
        time(p99_response(task)),
        time(pooled_mean(&all(task, |task| &task.wait_ns))),
    ]
    .into_iter()
    .map(Cell::plain)
    .collect()
}

/// Over the repetitions of a task.
pub fn mean_share(task: &[&TaskResult]) -> Option<f64> {
    (!task.is_empty()).then(|| task.iter().map(|task| task.share).sum::<f64>() / task.len() as f64)
}

/// Over all jobs of a task in its repetitions.
pub fn mean_response(task: &[&TaskResult]) -> Option<f64> {
    pooled_mean(&all(task, |task| &task.response_ns))
}

/// The worst of a task's repetitions.
pub fn p99_response(task: &[&TaskResult]) -> Option<f64> {
    task.iter().filter_map(|task| task.response_ns.p99).reduce(f64::max)
}

fn all<'a>(task: &[&'a TaskResult], of: fn(&TaskResult) -> &Quantiles) -> Vec<&'a Quantiles> {
    task.iter().map(|task| of(task)).collect()
}
