//! The table of mean responses by queueing theory, beside what was measured.

use divvy_results::compare::Policy;
use divvy_results::measure::{RESPONSE, Statistic};
use divvy_results::report::Theory;
use divvy_results::text;

use crate::view::table::{ABSENT, Cell, Column, SERVICE, Table};

/// The name of the row of all jobs.
const ALL: &str = "all jobs";

/// One row for each policy that has a formula, and one for each of its tasks if there are several; none without a row.
pub fn table(theory: &[Theory], policies: &[Policy]) -> Option<Table> {
    let mut rows = Vec::new();
    for policy in policies {
        let Some(theory) = theory.iter().find(|theory| theory.policy == policy.spec) else { continue };
        let Some((system, expected)) = theory.system.as_ref().zip(theory.response_mean_ns) else { continue };
        let limit = if theory.is_limit { ", short quanta" } else { "" };
        let system = format!("{system}{limit}");
        rows.push(row(policy.spec, ALL, &system, expected, policy.value(&RESPONSE, Statistic::Mean)));
        for task in theory.tasks.iter().filter(|_| theory.tasks.len() > 1) {
            let pooled = policy.tasks.iter().find(|pooled| pooled.name == task.name);
            let measured = pooled.and_then(|pooled| pooled.response_mean_ns);
            rows.push(row(policy.spec, &task.name, &system, task.response_mean_ns, measured));
        }
    }
    let left = |head: &str| Column::name(head);
    let numbers = ["theory", "measured", "difference"].map(|head| Column::number(["", head], SERVICE));
    (!rows.is_empty()).then(|| Table {
        title: Some("mean response by queueing theory".to_owned()),
        columns: [left("policy"), left("jobs"), left("formula")].into_iter().chain(numbers).collect(),
        keys: 2,
        rows,
        meaning: None,
    })
}

fn row(spec: &str, jobs: &str, system: &str, expected_ns: f64, measured_ns: Option<f64>) -> Vec<Cell> {
    let difference = measured_ns.map_or(ABSENT.to_owned(), |ns| signed_percent(ns / expected_ns - 1.0));
    [
        text::escape(spec),
        text::escape(jobs),
        system.to_owned(),
        text::time(expected_ns),
        measured_ns.map_or(ABSENT.to_owned(), text::time),
        difference,
    ]
    .map(Cell::plain)
    .into()
}

fn signed_percent(part: f64) -> String {
    format!("{}{}", if part < 0.0 { "-" } else { "+" }, text::percent(part.abs(), 1))
}

/// The meaning of a difference, and the reasons of the policies that have no formula.
pub fn notes(theory: &[Theory]) -> impl Iterator<Item = String> + '_ {
    let is_long_run = theory.iter().any(|theory| theory.system.is_some());
    let long_run =
        is_long_run.then(|| "theory is about the long run; ±95% says how far this one may be".to_owned());
    long_run.into_iter().chain(theory.iter().filter_map(|theory| {
        let reason = theory.no_formula.as_ref()?;
        Some(format!("no formula for {}: {}", text::escape(&theory.policy), text::escape(reason)))
    }))
}
