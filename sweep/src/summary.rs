//! A finished sweep in a sentence or two, as far as its intervals support them.

use std::collections::BTreeMap;

use divvy_results::text;

use super::read::{Finished, FinishedEstimate, FinishedRow, Value};

/// Which policy is the best at how many points, and between which numbers all of them are; nothing if nothing was measured.
#[must_use]
pub fn sentences(sweep: &Finished) -> Vec<String> {
    let Some(measure) =
        sweep.measures.iter().find(|name| sweep.rows.iter().any(|row| row.estimates.contains_key(*name)))
    else {
        return Vec::new();
    };
    let rows: Vec<Measured> = sweep.rows.iter().filter_map(|row| Measured::of(row, measure)).collect();
    best_at_points(sweep, measure, &rows).into_iter().chain(range(sweep, measure, &rows)).collect()
}

/// A row of all tasks with its number.
struct Measured<'a> {
    row: &'a FinishedRow,
    estimate: FinishedEstimate,
}

impl<'a> Measured<'a> {
    fn of(row: &'a FinishedRow, measure: &str) -> Option<Self> {
        let estimate = *row.estimates.get(measure)?;
        (row.task.is_none() && row.baseline.is_none()).then_some(Self { row, estimate })
    }

    /// A policy without a key is the same for all of its values.
    fn is_at(&self, point: &BTreeMap<String, Value>) -> bool {
        self.row.values.iter().all(|(key, value)| point.get(key) == Some(value))
    }

    /// Least and greatest of the interval. With several repetitions, a number without one is exact.
    fn bounds(&self, reps: u64) -> Option<(f64, f64)> {
        let half = self.estimate.ci95.or((reps > 1).then_some(0.0))?;
        Some((self.estimate.mean - half, self.estimate.mean + half))
    }
}

fn best_at_points(sweep: &Finished, measure: &str, rows: &[Measured]) -> Option<String> {
    let most = rows.iter().map(|one| one.row.values.len()).max()?;
    let mut points: Vec<&BTreeMap<String, Value>> = Vec::new();
    for one in rows.iter().filter(|one| one.row.values.len() == most) {
        if !points.contains(&&one.row.values) {
            points.push(&one.row.values);
        }
    }
    let mut wins: Vec<(&str, usize)> = Vec::new();
    let (mut compared, mut open) = (0, 0);
    for point in points {
        let there: Vec<&Measured> = rows.iter().filter(|one| one.is_at(point)).collect();
        if there.len() < 2 {
            continue;
        }
        compared += 1;
        match told_best(&there, sweep.reps) {
            Some(policy) => match wins.iter_mut().find(|(known, _)| *known == policy) {
                Some((_, times)) => *times += 1,
                None => wins.push((policy, 1)),
            },
            None => open += 1,
        }
    }
    if compared == 0 {
        return None;
    }
    wins.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let mut clauses: Vec<String> = Vec::new();
    for (i, (policy, times)) in wins.iter().enumerate() {
        let has = if i == 0 { format!(" has the least {}", name(measure)) } else { String::new() };
        clauses.push(format!("{}{has} at {times} of {compared} points", text::escape(policy)));
    }
    if open > 0 {
        let why = if sweep.reps > 1 {
            "the intervals do not tell the best"
        } else {
            "one repetition has no interval, so none is called best"
        };
        let at = if clauses.is_empty() { "At" } else { "at" };
        clauses.push(format!("{at} {open} of {compared} points {why}"));
    }
    Some(clauses.join("; ") + ".")
}

/// The policy whose whole interval is below all others.
fn told_best<'a>(there: &[&Measured<'a>], reps: u64) -> Option<&'a str> {
    let best = there.iter().min_by(|a, b| a.estimate.mean.total_cmp(&b.estimate.mean))?;
    let (_, high) = best.bounds(reps)?;
    let others = there.iter().filter(|one| one.row.policy != best.row.policy);
    let is_told = others.clone().all(|one| one.bounds(reps).is_some_and(|(low, _)| high < low));
    (is_told && others.count() > 0).then_some(best.row.policy.as_str())
}

fn range(sweep: &Finished, measure: &str, rows: &[Measured]) -> Option<String> {
    let by = |a: &&Measured, b: &&Measured| a.estimate.mean.total_cmp(&b.estimate.mean);
    let (least, most) = (rows.iter().min_by(by)?, rows.iter().max_by(by)?);
    if rows.len() < 2 {
        return None;
    }
    let number = |value: f64| if measure.ends_with("_ns") { text::time(value) } else { text::plain(value) };
    let place = |one: &Measured| {
        let values = sweep.varied.iter().filter_map(|key| Some((key, one.row.values.get(key)?)));
        let values: Vec<String> = values.map(|(key, value)| value_text(key, value)).collect();
        std::iter::once(text::escape(&one.row.policy)).chain(values).collect::<Vec<_>>().join(", ")
    };
    let mut what = name(measure);
    if let Some(first) = what.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    Some(format!(
        "{what} is between {} ({}) and {} ({}).",
        number(least.estimate.mean),
        place(least),
        number(most.estimate.mean),
        place(most)
    ))
}

fn value_text(key: &str, value: &Value) -> String {
    match (key.strip_suffix("_ns"), value) {
        (Some(key), Value::Whole(ns)) => format!("{} {}", text::escape(key), text::time(*ns as f64)),
        (_, Value::Whole(whole)) => format!("{} {whole}", text::escape(key)),
        (_, Value::Number(number)) => format!("{} {number}", text::escape(key)),
        (_, Value::Text(word)) => format!("{} {}", text::escape(key), text::escape(word)),
    }
}

/// `response_mean_ns` is "mean response".
fn name(measure: &str) -> String {
    let words = measure.trim_end_matches("_ns").replace('_', " ");
    match words.rsplit_once(' ') {
        Some((what, statistic)) if statistic == "mean" || statistic.starts_with('p') => {
            format!("{statistic} {what}")
        }
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policy, load, alpha, mean in ms, half-width in ms.
    fn sweep(reps: u64, rows: &[(&str, f64, Option<i64>, f64, f64)]) -> Finished {
        let row = |&(policy, load, alpha, mean, half): &(&str, f64, Option<i64>, f64, f64)| FinishedRow {
            point: 1,
            policy: policy.to_owned(),
            task: None,
            baseline: None,
            values: [("load".to_owned(), Value::Number(load))]
                .into_iter()
                .chain(alpha.map(|alpha| ("alpha".to_owned(), Value::Whole(alpha))))
                .collect(),
            cpus: 1,
            warm_up_ns: 0,
            counted_ns: 1,
            jobs: None,
            estimates: [(
                "response_mean_ns".to_owned(),
                FinishedEstimate { mean: mean * 1e6, ci95: (reps > 1).then_some(half * 1e6) },
            )]
            .into(),
        };
        Finished {
            schema_version: 1,
            kind: "sweep".to_owned(),
            sweep: "x".to_owned(),
            workload: "q.toml".to_owned(),
            seed: 1,
            reps,
            varied: vec!["load".to_owned(), "alpha".to_owned()],
            measures: vec!["response_mean_ns".to_owned()],
            rows: rows.iter().map(row).collect(),
        }
    }

    const ROWS: [(&str, f64, Option<i64>, f64, f64); 6] = [
        ("pbs", 0.5, Some(1), 2.0, 0.1),
        ("pbs", 0.5, Some(4), 1.0, 0.1),
        ("pbs", 0.9, Some(1), 9.0, 2.0),
        ("pbs", 0.9, Some(4), 30.0, 1.0),
        ("rr", 0.5, None, 3.0, 0.2),
        ("rr", 0.9, None, 10.0, 2.0),
    ];

    /// rr has no alpha, so it is compared at every alpha.
    #[test]
    fn the_best_is_counted_point_by_point() {
        assert_eq!(
            sentences(&sweep(5, &ROWS)),
            [
                "pbs has the least mean response at 2 of 4 points; rr at 1 of 4 points; at 1 of 4 points the intervals do not tell the best.",
                "Mean response is between 1.00ms (pbs, load 0.5, alpha 4) and 30.0ms (pbs, load 0.9, alpha 4).",
            ]
        );
    }

    #[test]
    fn one_repetition_has_no_best() {
        assert_eq!(
            sentences(&sweep(1, &ROWS))[0],
            "At 4 of 4 points one repetition has no interval, so none is called best."
        );
    }

    #[test]
    fn one_policy_has_a_range() {
        assert_eq!(sentences(&sweep(5, &ROWS[..2])).len(), 1);
        assert!(sentences(&sweep(5, &[])).is_empty());
    }
}
