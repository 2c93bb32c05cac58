//! Rows as CSV: written, resumed, and merged from shards.

use std::collections::BTreeMap;

use super::division::Division;
use super::measure::{MEASURES, Row};
use super::plan::Plan;
use super::vary::Vary;
use divvy_policy::{Failure, FailureKind};
use divvy_results::csv::{Record, record, records};

/// First columns.
pub(super) const BEFORE: [&str; 9] =
    ["point", "points", "sweep", "workload", "cpus", "seed", "reps", "warm_up_ns", "counted_ns"];
/// Columns after those: whose numbers they are.
pub(super) const WHOSE: [&str; 3] = ["policy", "task", "baseline"];
/// Columns after those of what is varied, before the measures.
pub(super) const AFTER: [&str; 1] = ["jobs"];

/// Why a file cannot be resumed, or merged with others.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// It is not a result of a sweep.
    #[error("{0} is not a result of divvy sweep: its first line does not begin with point,points,sweep")]
    NotASweep(String),
    /// The file is from another sweep.
    #[error(
        "{0} is from another sweep: the workload, policies, values, seed, repetitions or version of divvy differ"
    )]
    Other(String),
    /// Whole, but not to be read.
    #[error("the points cannot be read: {0}; run the sweep again")]
    NoRows(String),
    /// With rows that do not belong there.
    #[error("{file}: row {row} is point {found}, and not {expected}")]
    Row {
        /// The file.
        file: String,
        /// Its number, from 1.
        row: usize,
        /// The text that was found.
        found: String,
        /// The text that was expected.
        expected: String,
    },
    /// Cut off.
    #[error("{0} ends within a line: its run was interrupted; --resume continues it")]
    Cut(String),
    /// The same point twice, and not the same.
    #[error("point {point} has different numbers in {first} and in {second}")]
    Differs {
        /// Which point.
        point: u64,
        /// One file.
        first: String,
        /// Another.
        second: String,
    },
    /// No file has a row.
    #[error("there is no row in {}: the run was interrupted before the first; --resume continues it", .0.join(", "))]
    Empty(Vec<String>),
    /// Not all points.
    #[error("{missing} of {points} points are missing: {}{}", few(first), again(shards))]
    Missing {
        /// How many.
        missing: u64,
        /// The first ones.
        first: Vec<u64>,
        /// How many there should be.
        points: u64,
        /// The shards that have them, as in `3/40`, if the rows that are there show how the sweep was divided.
        shards: Vec<String>,
    },
}

/// Numbers of points that an error lists.
const FEW: usize = 10;
/// As many as `--max-points` may allow. A damaged file may claim more.
const MOST_POINTS: u64 = 10_000_000;

fn few(points: &[u64]) -> String {
    let shown: Vec<String> = points.iter().take(FEW).map(u64::to_string).collect();
    let more = if points.len() > FEW { ".." } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn again(shards: &[String]) -> String {
    match shards {
        [] => String::new(),
        [one] => format!("; they are of --shard {one}, which is to be run again or continued with --resume"),
        _ if shards.len() <= FEW => {
            format!(
                "; they are of --shard {}, which are to be run again or continued with --resume",
                shards.join(", ")
            )
        }
        _ => format!("; they are of {} shards, --shard {}..", shards.len(), shards[..FEW].join(", ")),
    }
}

/// The columns' names.
pub(super) fn columns(varied: &[Vary]) -> Vec<String> {
    let measures = || {
        MEASURES.iter().flat_map(|m| [format!("{}{}", m.name, m.unit), format!("{}_ci95{}", m.name, m.unit)])
    };
    let fixed: Vec<String> =
        BEFORE.into_iter().chain(AFTER).chain(WHOSE).map(str::to_owned).chain(measures()).collect();
    let own = varied.iter().map(|vary| {
        let name = if vary.times_ns().is_some() { format!("{}_ns", vary.key) } else { vary.key.clone() };
        if fixed.contains(&name) { format!("vary_{name}") } else { name }
    });
    let before = BEFORE.into_iter().chain(WHOSE).map(str::to_owned);
    before.chain(own).chain(AFTER.map(str::to_owned)).chain(measures()).collect()
}

/// The first line.
#[must_use]
pub fn header(plan: &Plan) -> String {
    record(&columns(&plan.varied))
}

/// A row's line. What was not measured is empty, and so is what the policy does not have.
#[must_use]
pub fn line(plan: &Plan, row: &Row) -> String {
    let mut fields = vec![
        row.point.to_string(),
        plan.len().to_string(),
        plan.id.clone(),
        plan.workload.clone(),
        row.cpus.to_string(),
        plan.seed().to_string(),
        plan.reps().to_string(),
        row.warm_up_ns.to_string(),
        row.counted_ns.to_string(),
        row.policy.clone(),
        row.task.clone().unwrap_or_default(),
        row.baseline.clone().unwrap_or_default(),
    ];
    fields.extend(plan.varied.iter().zip(&row.values).map(|(vary, &value)| shown(vary, value)));
    fields.push(row.jobs.map_or_else(String::new, |jobs| jobs.to_string()));
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    fields.extend(row.estimates.iter().flat_map(|estimate| [number(estimate.mean), number(estimate.ci95)]));
    record(&fields)
}

fn shown(vary: &Vary, value: Option<usize>) -> String {
    let Some(value) = value else { return String::new() };
    match vary.times_ns() {
        Some(times) => times[value].to_string(),
        None => vary.values[value].clone(),
    }
}

/// The indices of the rows of shard `i` of `n`, from 1: those of every n-th run, or of every n-th point if policies are
/// compared there.
#[must_use]
pub fn shard(plan: &Plan, i: usize, n: usize) -> Vec<usize> {
    plan.shard(i, n)
}

/// The finished part of a file: its rows, and its bytes with the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows.
    pub rows: usize,
    /// Bytes; what follows was cut off.
    pub bytes: usize,
}

/// Finds how many of these rows of the plan a file has.
///
/// # Errors
/// If the file is not the beginning of just that.
pub fn done(plan: &Plan, rows: &[usize], file: &str, text: &str) -> Result<Done, TableError> {
    if header(plan).starts_with(text) && text.len() < header(plan).len() {
        return Ok(Done::default());
    }
    let records = records(text);
    let Some((head, lines)) = records.split_first().filter(|(head, _)| is_head(head)) else {
        return Err(TableError::NotASweep(file.to_owned()));
    };
    if head.fields != columns(&plan.varied) || lines.iter().any(|line| line.fields.get(2) != Some(&plan.id)) {
        return Err(TableError::Other(file.to_owned()));
    }
    for (row, line) in lines.iter().enumerate() {
        let mut expected = rows.get(row).map_or("the end".to_owned(), |index| (index + 1).to_string());
        let is_whole = line.fields.len() == head.fields.len();
        if !is_whole {
            expected += &format!(", with {} fields", head.fields.len());
        }
        if line.fields[0] != expected || !is_whole {
            let found = line.fields[0].clone();
            return Err(TableError::Row { file: file.to_owned(), row: row + 1, found, expected });
        }
    }
    Ok(Done { rows: lines.len(), bytes: lines.last().unwrap_or(head).end })
}

fn is_head(record: &Record) -> bool {
    record.fields.len() > BEFORE.len() && record.fields.iter().zip(BEFORE).all(|(field, name)| field == name)
}

/// Shards put together: the bytes of a single run.
///
/// # Errors
/// If a file is cut off or of another sweep, or points are missing or not the same in two files.
pub fn merge(files: &[(String, String)]) -> Result<String, TableError> {
    let mut head: Option<Record> = None;
    let mut id: Option<(String, String)> = None;
    // As text: a million rows of fields would take ten times as much memory.
    let mut lines: BTreeMap<u64, (&str, String)> = BTreeMap::new();
    let mut rows_of_files: Vec<Vec<u64>> = Vec::new();
    for (file, text) in files {
        let records = records(text);
        let Some((first, rest)) = records.split_first().filter(|(first, _)| is_head(first)) else {
            return Err(TableError::NotASweep(file.clone()));
        };
        if rest.last().unwrap_or(first).end < text.len() {
            return Err(TableError::Cut(file.clone()));
        }
        if head.get_or_insert_with(|| first.clone()).fields != first.fields {
            return Err(TableError::Other(file.clone()));
        }
        let mut rows = Vec::with_capacity(rest.len());
        for (row, line) in rest.iter().enumerate() {
            let bad = || TableError::Row {
                file: file.clone(),
                row: row + 1,
                found: line.fields[0].clone(),
                expected: "a number from 1 to that of the points, with as many fields as there are columns"
                    .to_owned(),
            };
            let point = line.fields[0].parse().ok().filter(|_| line.fields.len() == first.fields.len());
            let points = line.fields.get(1).and_then(|points| points.parse::<u64>().ok()).unwrap_or(0);
            let point: u64 = point.filter(|point| (1..=points).contains(point)).ok_or_else(bad)?;
            rows.push(point);
            let own = (line.fields[1].clone(), line.fields[2].clone());
            if *id.get_or_insert_with(|| own.clone()) != own {
                return Err(TableError::Other(file.clone()));
            }
            let text = record(&line.fields);
            match lines.get(&point) {
                Some((first, other)) if *other != text => {
                    let first = (*first).to_owned();
                    return Err(TableError::Differs { point, first, second: file.clone() });
                }
                _ => lines.insert(point, (file, text)),
            };
        }
        rows_of_files.push(rows);
    }
    let points = id.and_then(|(points, _)| points.parse::<u64>().ok()).unwrap_or(0);
    let missing = points.saturating_sub(lines.len() as u64);
    if lines.is_empty() {
        return Err(TableError::Empty(files.iter().map(|(file, _)| file.clone()).collect()));
    }
    if missing > 0 {
        // Not all of them: a damaged file may claim any number.
        let absent = || (1..=points).filter(|point| !lines.contains_key(point));
        let first = absent().take(FEW + 1).collect();
        let division = Division::of(&rows_of_files).filter(|_| points <= MOST_POINTS);
        let shards = division.map(|division| division.shards(absent())).unwrap_or_default();
        return Err(TableError::Missing { missing, first, points, shards });
    }
    let head = head.map(|head| record(&head.fields)).unwrap_or_default();
    Ok(lines.values().fold(head, |all, (_, text)| all + text))
}

impl Failure for TableError {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}
