//! The table with one row per task.

use divvy_results::compare::Policy;
use divvy_results::pooled::PooledTask;
use divvy_results::text;

use crate::view::histogram::Axis;
use crate::view::picture::Picture;
use crate::view::table::{ABSENT, Cell, Column, SERVICE, TIMES, Table};

/// One row per task, or per group of them as `head` says; beside the mean of its waiting times a histogram of them.
pub fn table(policy: &Policy, head: &str) -> Table {
    let tasks = &policy.tasks;
    let axis = Axis::of(tasks.iter().filter_map(|task| task.wait_buckets.as_ref()));
    let time = |ns: Option<f64>| ns.map_or(ABSENT.to_owned(), text::time);
    let percent = |share| text::percent(share, 2);
    let column = |head, group, text: &dyn Fn(&PooledTask) -> String| {
        let cells: Vec<Cell> = tasks.iter().map(|task| Cell::plain(text(task))).collect();
        (Column::number(head, group), cells)
    };
    let mut columns = vec![
        column(["", "weight"], SERVICE, &|task| text::plain(task.weight)),
        column(["", "entitled"], SERVICE, &|task| percent(task.entitled)),
        column(["", "share"], SERVICE, &|task| percent(task.share)),
        column(["error", "least"], SERVICE, &|task| text::time(task.error_min_ns as f64)),
        column(["error", "most"], SERVICE, &|task| text::time(task.error_max_ns as f64)),
        column(["", "jobs"], TIMES, &|task| text::count(task.jobs)),
        column(["response", "mean"], TIMES, &|task| time(task.response_mean_ns)),
        column(["response", "p99"], TIMES, &|task| time(task.response_p99_ns)),
        column(["wait", "mean"], TIMES, &|task| time(task.wait_mean_ns)),
    ];
    if let (Some(axis), Some((_, waits))) = (&axis, columns.last_mut()) {
        for (cell, task) in waits.iter_mut().zip(tasks) {
            cell.picture = task.wait_buckets.as_ref().map(|buckets| Picture::Histogram(axis.draw(buckets)));
        }
    }
    let names = tasks.iter().map(|task| text::escape(task.name)).collect();
    let spec = text::escape(policy.spec);
    let table = Table::of_columns(Some(&spec), (head, names), columns).without_empty_columns();
    Table { meaning: axis.map(|axis| meaning(&axis)), ..table }
}

fn meaning(axis: &Axis) -> String {
    format!(
        "histograms: the task's jobs by waiting time, {}, three places a factor of ten (1, 2, 5); the highest of all is full",
        axis.span()
    )
}
