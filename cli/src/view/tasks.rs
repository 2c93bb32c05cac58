//! The sheet that has a row a task.

use divvy_sim::report::{Quantiles, Run, TaskResult};

use crate::compare::Policy;
use crate::measure::pooled_mean;
use crate::view::page::{ABSENT, Cell, Column, SERVICE, Sheet, TIMES};
use crate::view::text;

/// A row a task. Of several repetitions: means, and the extremes of the service error.
pub fn sheet(policy: &Policy, cpus: u32) -> Sheet {
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
    let rows = (0..policy.runs[0].tasks.len())
        .map(|index| {
            let of_runs: Vec<(&Run, &TaskResult)> =
                policy.runs.iter().filter_map(|run| Some((*run, run.tasks.get(index)?))).collect();
            task_row(&of_runs, cpus)
        })
        .collect();
    Sheet { title: Some(text::escape(policy.spec)), columns, rows }.without_empty_columns()
}

fn task_row(runs: &[(&Run, &TaskResult)], cpus: u32) -> Vec<Cell> {
    let (_, first) = runs[0];
    let mean = |value: &dyn Fn(&Run, &TaskResult) -> f64| {
        runs.iter().map(|(run, task)| value(run, task)).sum::<f64>() / runs.len() as f64
    };
    let samples = |of: fn(&TaskResult) -> &Quantiles| -> Vec<&Quantiles> {
        runs.iter().map(|(_, task)| of(task)).collect()
    };
    let time = |value: Option<f64>| value.map_or(ABSENT.to_owned(), text::time);
    let least = runs.iter().map(|(_, task)| task.error_min_ns).min().unwrap_or(0);
    let most = runs.iter().map(|(_, task)| task.error_max_ns).max().unwrap_or(0);
    let entitled = mean(&|run, task| {
        let all_ns = run.duration_ns as f64 * f64::from(cpus);
        if all_ns > 0.0 { task.entitled_ns as f64 / all_ns } else { 0.0 }
    });
    [
        text::escape(&first.name),
        text::plain(first.weight),
        text::percent(entitled, 2),
        text::percent(mean(&|_, task| task.share), 2),
        text::time(least as f64),
        text::time(most as f64),
        text::count(mean(&|_, task| task.jobs as f64)),
        time(pooled_mean(&samples(|task| &task.response_ns))),
        time(samples(|task| &task.response_ns).iter().filter_map(|q| q.p99).reduce(f64::max)),
        time(pooled_mean(&samples(|task| &task.wait_ns))),
    ]
    .into_iter()
    .map(Cell::plain)
    .collect()
}
