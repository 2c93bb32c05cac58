//! The points of a sweep as a table.

use divvy_results::text;
use divvy_sweep::{Estimate, Finished, MEASURES, Plan, Row};

use crate::view::table::{ABSENT, Cell, Column, EXACT, NOTHING, Page, Table};

/// A measure, its heads, and how its numbers are written
type Shown = (&'static str, &'static [&'static str], fn(f64) -> String);

/// The measures that fit a terminal: name, head, format.
const SHOWN: [Shown; 6] = [
    ("response_mean", &["response", "mean"], text::time),
    ("response_p99", &["response", "p99"], text::time),
    ("wait_mean", &["waiting", "mean"], text::time),
    ("wake_delay_mean", &["latency", "mean"], text::time),
    ("utilization", &["CPU", "used"], |share| text::percent(share, 1)),
    ("jain", &["Jain", "index"], text::index),
];

/// The differences that fit a terminal.
const DIFFERENCES: [(&str, &[&str]); 3] = [
    ("response_mean", &["response", "mean"]),
    ("response_p99", &["response", "p99"]),
    ("wait_mean", &["waiting", "mean"]),
];

/// All that is shown of a sweep. `finished` has the same rows, as its file does.
pub fn page(plan: &Plan, rows: &[Row], finished: &Finished) -> Page {
    let (differences, means): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.baseline.is_some());
    let has_differences = !differences.is_empty();
    let mut tables = vec![table(plan, &means)];
    tables.extend(has_differences.then(|| difference_table(plan, &differences)));
    Page {
        heading: heading(plan, rows),
        quality: Vec::new(),
        tables,
        notes: notes(has_differences),
        summary: summary(finished),
        first_decisions: Vec::new(),
    }
}

fn summary(finished: &Finished) -> Option<String> {
    let sentences = divvy_sweep::sentences(finished);
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn notes(has_differences: bool) -> Vec<String> {
    let mut notes =
        vec!["means over repetitions; ±95% is the half-width of the interval, by Student's t".to_owned()];
    notes.extend(has_differences.then(|| "~ the interval contains 0".to_owned()));
    notes.push("more in --format csv".to_owned());
    notes
}

fn table(plan: &Plan, rows: &[&Row]) -> Table {
    let mut columns = point_columns(plan, rows);
    let keys = columns.len();
    for (name, head, _) in SHOWN {
        columns.push(column(head, true, 1));
        if name == "response_mean" {
            columns.push(column(&["±95%"], true, 1));
        }
    }
    let rows = rows.iter().map(|row| cells(plan, row, rows)).collect();
    Table { title: None, columns, keys, rows, meaning: None }
}

/// How much more each policy has than the baseline, each number with its interval.
fn difference_table(plan: &Plan, rows: &[&Row]) -> Table {
    let mut columns = point_columns(plan, rows);
    let keys = columns.len();
    for head in DIFFERENCES.map(|(_, head)| head) {
        columns.push(column(head, true, 1));
        columns.push(column(&["±95%"], true, 1));
    }
    let cells = |row: &&Row| {
        let numbers = DIFFERENCES.iter().flat_map(|(name, _)| difference(estimate(row, name)));
        point_cells(plan, row, rows).into_iter().chain(numbers.map(Cell::plain)).collect()
    };
    let baseline = rows[0].baseline.as_deref().unwrap_or_default();
    Table {
        title: Some(format!("more than under {}, repetition by repetition", text::escape(baseline))),
        columns,
        keys,
        rows: rows.iter().map(cells).collect(),
        meaning: None,
    }
}

/// A difference whose interval contains 0 is marked.
fn difference(estimate: Estimate) -> [String; 2] {
    let time = |ns: Option<f64>| ns.map_or_else(|| ABSENT.to_owned(), text::time);
    let mean = match (estimate.mean, estimate.ci95) {
        (Some(mean), Some(half)) if mean.abs() <= half => format!("~{}", text::time(mean)),
        (mean, _) => time(mean),
    };
    [mean, if estimate.is_exact { EXACT.to_owned() } else { time(estimate.ci95) }]
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
        count(
            rows.len(),
            if rows.iter().all(|row| row.task.is_none() && row.baseline.is_none()) { "point" } else { "row" }
        ),
        plan.seed()
    )
}

fn column(head: &[&str], is_number: bool, group: u8) -> Column {
    let head = head.iter().map(|line| (*line).to_owned()).collect();
    Column { head, is_number, group, is_picture: false }
}

/// The columns that name a point and its policy.
fn point_columns(plan: &Plan, rows: &[&Row]) -> Vec<Column> {
    let mut columns = vec![column(&["policy"], false, 0)];
    columns.extend(has_tasks(rows).then(|| column(&["task"], false, 0)));
    columns.extend(plan.varied.iter().map(|vary| column(&[&text::escape(&vary.key)], true, 0)));
    columns
}

fn has_tasks(rows: &[&Row]) -> bool {
    rows.iter().any(|row| row.task.is_some())
}

fn point_cells(plan: &Plan, row: &Row, rows: &[&Row]) -> Vec<Cell> {
    let task = row.task.as_deref().map_or_else(|| "all".to_owned(), text::escape);
    let values = plan.varied.iter().zip(&row.values).map(|(vary, value)| {
        value.map_or_else(|| NOTHING.to_owned(), |value| text::escape(&vary.values[value]))
    });
    let whose = std::iter::once(text::escape(&row.policy)).chain(has_tasks(rows).then_some(task));
    whose.chain(values).map(Cell::plain).collect()
}

fn cells(plan: &Plan, row: &Row, rows: &[&Row]) -> Vec<Cell> {
    let mut cells = point_cells(plan, row, rows);
    for (name, _, show) in SHOWN {
        let estimate = estimate(row, name);
        cells.push(Cell::plain(estimate.mean.map_or_else(|| ABSENT.to_owned(), show)));
        if name == "response_mean" {
            cells.push(Cell::plain(half_width(estimate)));
        }
    }
    cells
}

fn estimate(row: &Row, name: &str) -> Estimate {
    let at = MEASURES.iter().position(|measure| measure.name == name);
    at.map(|at| row.estimates[at]).unwrap_or_default()
}

fn half_width(estimate: Estimate) -> String {
    match (estimate.mean, estimate.ci95) {
        _ if estimate.is_exact => EXACT.to_owned(),
        (Some(mean), Some(half)) if mean > 0.0 => text::half_width(half / mean),
        _ => ABSENT.to_owned(),
    }
}
