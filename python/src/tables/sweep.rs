//! The points of a sweep: the columns of its CSV.

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use divvy_sweep::{Finished, FinishedRow, SweptValue};

use super::names::Names;
use super::{some_numbers, some_whole, whole};
use crate::table::column;

/// A row for each point and policy, and for each task and difference if there are some.
pub fn rows(sweep: &Finished) -> Vec<(String, ArrayRef)> {
    let rows = || sweep.rows.iter();
    let time = |of: fn(&FinishedRow) -> u64| whole(rows().map(of));
    let name = |of: fn(&FinishedRow) -> Option<&str>| column(rows().map(of).collect::<StringArray>());
    let mut columns = vec![
        ("point".to_owned(), time(|row| row.point)),
        ("policy".to_owned(), rows().map(|row| row.policy.as_str()).collect::<Names>().column()),
    ];
    if rows().any(|row| row.task.is_some()) {
        columns.push(("task".to_owned(), name(|row| row.task.as_deref())));
    }
    if rows().any(|row| row.baseline.is_some()) {
        columns.push(("baseline".to_owned(), name(|row| row.baseline.as_deref())));
    }
    columns.extend(sweep.varied.iter().map(|key| {
        let values: Vec<Option<&SweptValue>> = rows().map(|row| row.values.get(key)).collect();
        (key.clone(), varied(&values))
    }));
    columns.extend([
        ("cpus".to_owned(), time(|row| row.cpus)),
        ("warm_up_ns".to_owned(), time(|row| row.warm_up_ns)),
        ("counted_ns".to_owned(), time(|row| row.counted_ns)),
        ("jobs".to_owned(), some_whole(rows().map(|row| row.jobs))),
    ]);
    for measure in &sweep.measures {
        let estimates = || rows().map(|row| row.estimates.get(measure));
        columns.push((measure.clone(), some_numbers(estimates().map(|one| Some(one?.mean)))));
        columns.push((interval_of(measure), some_numbers(estimates().map(|one| one?.ci95))));
    }
    columns
}

/// The name of a measure's intervals, with the unit at its end.
fn interval_of(measure: &str) -> String {
    match measure.strip_suffix("_ns") {
        Some(name) => format!("{name}_ci95_ns"),
        None => format!("{measure}_ci95"),
    }
}

/// Counts and times, else numbers, else words.
fn varied(values: &[Option<&SweptValue>]) -> ArrayRef {
    let there = || values.iter().flatten();
    if there().all(|value| matches!(value, SweptValue::Whole(_))) {
        let whole = |value: &SweptValue| if let SweptValue::Whole(n) = value { Some(*n) } else { None };
        return column(values.iter().map(|value| whole((*value)?)).collect::<Int64Array>());
    }
    if there().all(|value| number(value).is_some()) {
        return column(values.iter().map(|value| number((*value)?)).collect::<Float64Array>());
    }
    column(values.iter().map(|value| Some(text((*value)?))).collect::<StringArray>())
}

fn number(value: &SweptValue) -> Option<f64> {
    match value {
        SweptValue::Whole(n) => Some(*n as f64),
        SweptValue::Number(x) => Some(*x),
        // A ratio may be infinite.
        SweptValue::Text(text) => text.parse().ok().filter(|x: &f64| x.is_infinite()),
    }
}

fn text(value: &SweptValue) -> String {
    match value {
        SweptValue::Whole(n) => n.to_string(),
        SweptValue::Number(x) => x.to_string(),
        SweptValue::Text(text) => text.clone(),
    }
}
