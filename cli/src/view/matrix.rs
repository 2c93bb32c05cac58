//! The tables with one row per task and one column per policy.

use divvy_results::compare::Policy;
use divvy_results::pooled::PooledTask;
use divvy_results::report::{RecordedReport, Report};
use divvy_results::text;

use crate::view::picture::{self, Bar, Picture};
use crate::view::table::{ABSENT, Cell, Column, SERVICE, Table};

/// Shares, if there are tasks that finish no jobs; responses of the tasks that finish jobs, unless there is only one, whose
/// numbers are the run's.
pub fn tables(report: &Report, policies: &[Policy], head: &str) -> Vec<Table> {
    let recorded = report.trace.as_ref().and_then(|trace| trace.recorded.as_ref());
    let responses = [
        responses("mean response", policies, head, |task| task.response_mean_ns, recorded),
        responses("99th percentile of response", policies, head, |task| task.response_p99_ns, None),
    ];
    let has_endless_task = (0..policies[0].tasks.len()).any(|index| {
        policies.iter().all(|policy| policy.tasks.get(index).is_none_or(|task| task.jobs == 0.0))
    });
    let shares = has_endless_task.then(|| shares(policies, head));
    shares.into_iter().chain(responses.into_iter().flatten()).collect()
}

/// Weights, and shares with bars on one scale.
fn shares(policies: &[Policy], head: &str) -> Table {
    let tasks = policies.iter().flat_map(|policy| &policy.tasks);
    let greatest = tasks.map(|task| task.share.max(task.entitled)).fold(0.0, f64::max);
    let bar = |task: &PooledTask| Bar { length: task.share / greatest, mark: task.entitled / greatest };
    let share = |task: Option<&PooledTask>| Cell {
        text: task.map_or(ABSENT.to_owned(), |task| text::percent(task.share, 2)),
        is_best: false,
        picture: task.filter(|_| greatest > 0.0).map(|task| Picture::Bar(bar(task))),
    };
    let rows = &policies[0].tasks;
    let weights = rows.iter().map(|task| Cell::plain(text::plain(task.weight))).collect();
    let mut columns = vec![(Column::number(["", "weight"], SERVICE), weights)];
    columns.extend(policies.iter().map(|policy| {
        let cells = (0..rows.len()).map(|row| share(policy.tasks.get(row))).collect();
        (Column::policy(policy.spec), cells)
    }));
    let names = rows.iter().map(|task| text::escape(task.name)).collect();
    let table = Table::of_columns(Some("share of CPU time"), (head, names), columns);
    Table { meaning: Some(picture::BARS_MEANING.to_owned()), ..table }
}

/// One column per policy and one row per task of which something was measured; none if that is one task or none. Beside
/// them the recorded means: their distance from a replay under the recorded scheduler's model shows how far a task's other
/// values can be trusted.
fn responses(
    title: &str,
    policies: &[Policy],
    head: &str,
    number_ns: fn(&PooledTask) -> Option<f64>,
    recorded: Option<&RecordedReport>,
) -> Option<Table> {
    let value = |policy: &Policy, row: usize| policy.tasks.get(row).and_then(number_ns);
    let rows: Vec<usize> = (0..policies[0].tasks.len())
        .filter(|&row| policies.iter().any(|policy| value(policy, row).is_some()))
        .collect();
    let time = |ns: Option<f64>| Cell::plain(ns.map_or(ABSENT.to_owned(), text::time));
    let name = |row: usize| policies[0].tasks[row].name;
    let mut columns: Vec<(Column, Vec<Cell>)> = policies
        .iter()
        .map(|policy| {
            (Column::policy(policy.spec), rows.iter().map(|&row| time(value(policy, row))).collect())
        })
        .collect();
    if let Some(recorded) = recorded {
        let mean_ns = |name| recorded.tasks.iter().find(|task| task.name == name)?.response_mean_ns;
        let cells = rows.iter().map(|&row| time(mean_ns(name(row)))).collect();
        columns.push((Column::number(["", "recorded"], SERVICE), cells));
    }
    let names = rows.iter().map(|&row| text::escape(name(row))).collect();
    (rows.len() > 1).then(|| {
        let table = Table::of_columns(Some(title), (head, names), columns);
        if recorded.is_some() { table.without_empty_columns() } else { table }
    })
}
