//! The points of a sweep as a sheet.

use divvy_lab::sweep::{Estimate, MEASURES, Plan, Row, Vary};

use crate::view::page::{ABSENT, Cell, Column, NOTHING, Page, Sheet};
use crate::view::text;

/// A measure, its heads, and how its numbers are written
type Shown = (&'static str, &'static [&'static str], fn(f64) -> String);

/// Of the measures, those that fit a terminal: name, head, how to print one.
const SHOWN: [Shown; 6] = [
    ("response_mean", &["response", "mean"], text::time),
    ("response_p99", &["response", "p99"], text::time),
    ("wait_mean", &["wait", "mean"], text::time),
    ("wake_delay_mean", &["delay", "mean"], text::time),
    ("utilization", &["CPU", "used"], |share| text::percent(share, 1)),
    ("jain", &["Jain", "index"], text::index),
];

/// All that is shown of a sweep.
pub fn page(plan: &Plan, rows: &[Row]) -> Page {
    Page {
        heading: heading(plan, rows),
        quality: Vec::new(),
        sheets: vec![Sheet {
            title: None,
            columns: columns(plan),
            rows: rows.iter().map(|row| cells(plan, row)).collect(),
        }],
        notes: vec![
            "means over repetitions; ±95% is the half-width of the interval, by Student's t".to_owned(),
            "more in --format csv".to_owned(),
        ],
        summary: None,
        schedules: Vec::new(),
    }
}

fn heading(plan: &Plan, rows: &[Row]) -> String {
    let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let warm_ups: Vec<u64> = rows.iter().map(|row| row.warm_up_ns).collect();
    let warm_up = match (warm_ups.iter().min(), warm_ups.iter().max()) {
        (Some(0), Some(0)) | (None, _) | (_, None) => String::new(),
        (Some(least), Some(most)) if least == most => {
            format!(", the first {} not counted", text::time(*least as f64))
        }
        (Some(least), Some(most)) => {
            format!(", the first {} to {} not counted", text::time(*least as f64), text::time(*most as f64))
        }
    };
    let reps = plan.reps();
    let reps = if reps == 1 { "1 run each".to_owned() } else { format!("{reps} repetitions each") };
    format!(
        "{}: {}, {reps}{warm_up}, seed {}",
        text::escape(&plan.workload),
        count(rows.len(), "point"),
        plan.seed()
    )
}

fn columns(plan: &Plan) -> Vec<Column> {
    let column = |head: &[&str], is_number, group| Column {
        head: head.iter().map(|line| (*line).to_owned()).collect(),
        is_number,
        group,
    };
    let of_vary = |vary: &Vary| Column { head: vec![text::escape(&vary.key)], is_number: true, group: 0 };
    let mut columns = vec![column(&["policy"], false, 0)];
    columns.extend(plan.varied.iter().map(of_vary));
    for (name, head, _) in SHOWN {
        columns.push(column(head, true, 1));
        if name == "response_mean" {
            columns.push(column(&["±95%"], true, 1));
        }
    }
    columns
}

fn cells(plan: &Plan, row: &Row) -> Vec<Cell> {
    let plain = Cell::plain;
    let mut cells = vec![plain(text::escape(&row.policy))];
    cells.extend(plan.varied.iter().zip(&row.values).map(|(vary, value)| {
        plain(value.map_or_else(|| NOTHING.to_owned(), |value| text::escape(&vary.values[value])))
    }));
    for (name, _, show) in SHOWN {
        let at = MEASURES.iter().position(|measure| measure.name == name);
        let estimate = at.map(|at| row.estimates[at]).unwrap_or_default();
        cells.push(plain(estimate.mean.map_or_else(|| ABSENT.to_owned(), show)));
        if name == "response_mean" {
            cells.push(plain(half_width(estimate)));
        }
    }
    cells
}

fn half_width(estimate: Estimate) -> String {
    match (estimate.mean, estimate.ci95) {
        (Some(mean), Some(half)) if mean > 0.0 => text::percent(half / mean, 1),
        _ => ABSENT.to_owned(),
    }
}
