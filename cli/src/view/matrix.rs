//! The tables with one row per task and one column per policy.

use divvy_results::compare::Policy;
use divvy_results::report::{RecordedReport, Report, TaskResult};
use divvy_results::text;

use crate::view::bar;
use crate::view::table::{ABSENT, Cell, Column, SERVICE, Table};
use crate::view::tasks::{mean_response, mean_share, p99_response};

/// One number of a task, from its repetitions under one policy.
type Number = fn(&[&TaskResult]) -> Option<f64>;

/// Responses of the tasks that finish jobs, unless there is only one, whose numbers are the run's; shares, if there are tasks
/// that finish none.
pub fn tables(report: &Report, policies: &[Policy]) -> Vec<Table> {
    let percent: fn(f64) -> String = |share| text::percent(share, 2);
    let mut tables = Vec::new();
    if has_endless_task(policies) {
        let mut shares = table("share of CPU time", policies, mean_share, percent);
        add_bars(&mut shares, policies, report.cpus);
        tables.push(with_weights(shares, policies));
    }
    let recorded = report.trace.as_ref().and_then(|trace| trace.recorded.as_ref());
    let responses = [
        with_recorded(table("mean response", policies, mean_response, text::time), recorded),
        table("99th percentile of response", policies, p99_response, text::time),
    ];
    tables.extend(responses.into_iter().filter(|table| table.rows.len() > 1));
    tables
}

/// Adds bars beside shares, on one scale, if no row was left out.
fn add_bars(table: &mut Table, policies: &[Policy], cpus: u32) {
    if table.rows.len() != policies[0].runs[0].tasks.len() {
        return;
    }
    let shares: Vec<Vec<Option<(f64, f64)>>> = policies
        .iter()
        .map(|policy| (0..table.rows.len()).map(|index| shares_of(policy, index, cpus)).collect())
        .collect();
    let greatest = shares.iter().flatten().flatten().map(|&(received, entitled)| received.max(entitled));
    let greatest = greatest.fold(0.0, f64::max);
    table.meaning = Some(bar::MEANING.to_owned());
    for (index, shares) in shares.into_iter().enumerate() {
        table.add_bars(index + 1, greatest, shares.into_iter());
    }
}

fn shares_of(policy: &Policy, index: usize, cpus: u32) -> Option<(f64, f64)> {
    let task = policy.task(index);
    let cpu_time_ns = policy.runs.iter().map(|run| run.duration_ns as f64).sum::<f64>() * f64::from(cpus);
    let entitled_ns: f64 = task.iter().map(|task| task.entitled_ns as f64).sum();
    (cpu_time_ns > 0.0).then_some((mean_share(&task)?, entitled_ns / cpu_time_ns))
}

/// Adds the weights, to compare the shares with.
fn with_weights(mut table: Table, policies: &[Policy]) -> Table {
    table.columns.insert(1, Column::number(["", "weight"], SERVICE));
    for (row, task) in table.rows.iter_mut().zip(&policies[0].runs[0].tasks) {
        row.insert(1, Cell::plain(text::plain(task.weight)));
    }
    table
}

/// Adds the recorded means. Their distance from a replay under the recorded scheduler's model shows how far
/// a task's other values can be trusted.
fn with_recorded(mut table: Table, recorded: Option<&RecordedReport>) -> Table {
    let Some(recorded) = recorded else { return table };
    let of =
        |name: &str| recorded.tasks.iter().find(|task| text::escape(&task.name) == name)?.response_mean_ns;
    table.columns.push(Column::number(["", "recorded"], SERVICE));
    for row in &mut table.rows {
        let mean_ns = of(&row[0].text);
        row.push(Cell::plain(mean_ns.map_or(ABSENT.to_owned(), text::time)));
    }
    table.without_empty_columns()
}

fn has_endless_task(policies: &[Policy]) -> bool {
    (0..policies[0].runs[0].tasks.len())
        .any(|index| policies.iter().all(|policy| policy.task(index).iter().all(|task| task.jobs == 0)))
}

fn table(title: &str, policies: &[Policy], number: Number, format: fn(f64) -> String) -> Table {
    let mut columns = vec![Column::name("task")];
    columns.extend(policies.iter().map(|policy| Column::policy(&text::escape(policy.spec))));
    let cell = |policy: &Policy, index: usize| {
        Cell::plain(number(&policy.task(index)).map_or(ABSENT.to_owned(), format))
    };
    let rows = policies[0].runs[0].tasks.iter().enumerate().map(|(index, task)| {
        let name = Cell::plain(text::escape(&task.name));
        std::iter::once(name).chain(policies.iter().map(|policy| cell(policy, index))).collect()
    });
    Table { title: Some(title.to_owned()), columns, rows: rows.collect(), meaning: None }.without_empty_rows()
}
