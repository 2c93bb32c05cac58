//! The verdicts of `verdicts/`: those of the small versions are measured again here, those of the full versions are compared
//! with the tables. `verdicts/check` measures the full ones again; it also writes both.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use divvy_lab::{Claim, Measured, Reproduction, Setting, Spread, Value, Verdict, all, csv, judge, reproduce};
use divvy_results::csv::records;

const UPDATE: &str = "after a change on purpose, lab/verdicts/check --write ID writes it";

fn small(seed: u64) -> Vec<Reproduction> {
    let only = std::env::var("LAB").ok();
    let setting = Setting { small: true, seed, progress: &(), saved: None };
    let figures = all().iter().filter(|figure| only.as_deref().is_none_or(|id| figure.id.starts_with(id)));
    figures
        .map(|figure| reproduce(figure, &setting).unwrap_or_else(|error| panic!("{}: {error}", figure.id)))
        .collect()
}

/// The small versions with seed 1, measured once for all tests.
fn measured() -> &'static [Reproduction] {
    static MEASURED: OnceLock<Vec<Reproduction>> = OnceLock::new();
    MEASURED.get_or_init(|| small(1))
}

fn path(version: &str, id: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("verdicts").join(version).join(format!("{id}.csv"))
}

/// The records of a file without its header.
fn rows(text: &str) -> Vec<Vec<String>> {
    records(text).into_iter().skip(1).map(|record| record.fields).collect()
}

fn kept(version: &str, id: &str) -> Vec<Vec<String>> {
    let path = path(version, id);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}; {UPDATE}", path.display()));
    rows(&text)
}

fn at(name: &str) -> usize {
    csv::HEADER.iter().position(|column| *column == name).expect("a column")
}

/// A row without what differs between runs and versions: the claim, its source, the paper's value and the tolerance.
fn claim(row: &[String]) -> &[String] {
    &row[at("claim")..at("measured")]
}

fn none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n{UPDATE}", problems.join("\n"));
}

/// `LAB=ID` tries one figure and prints it.
#[test]
fn small_versions_give_their_tables() {
    let mut problems = Vec::new();
    for one in measured() {
        let (is, was) = (rows(&csv::table(std::slice::from_ref(one))), kept("small", one.figure.id));
        for i in 0..is.len().max(was.len()) {
            let (is, was) = (is.get(i), was.get(i));
            let timed = is.is_some_and(|row| row[at("timed")] == "yes");
            if std::env::var_os("LAB").is_some() {
                println!("{is:?}");
            }
            let same = match (is, was) {
                (Some(is), Some(was)) if timed => claim(is) == claim(was),
                (is, was) => is == was,
            };
            if !same {
                problems.push(format!("{}:\n  is  {is:?}\n  was {was:?}", one.figure.id));
            }
        }
    }
    none(&problems);
}

/// A number without an interval says that it is the same with every seed.
#[test]
fn what_has_no_interval_does_not_depend_on_the_seed() {
    let mut problems = Vec::new();
    for (one, other) in measured().iter().zip(small(2)) {
        let timed = |name: &str| one.claims.iter().all(|claim| claim.timed) || is_timed(one, name);
        let values = |of: &Reproduction| -> Vec<(String, Measured)> {
            let claims = of.claims.iter().map(|claim| (claim.name.clone(), claim.measured.clone()));
            claims.chain(of.also.iter().cloned()).collect()
        };
        for ((name, a), (_, b)) in values(one).into_iter().zip(values(&other)) {
            if a.spread == Spread::Deterministic && a.value != b.value && !timed(&name) {
                problems.push(format!(
                    "{} {name}: {:?} with seed 1, {:?} with 2",
                    one.figure.id, a.value, b.value
                ));
            }
        }
    }
    none(&problems);
}

fn is_timed(one: &Reproduction, name: &str) -> bool {
    one.claims.iter().any(|claim| claim.name == name && claim.timed)
}

/// The full versions that are kept are of the tables of today: the same claims, and the verdict follows from the numbers.
#[test]
fn verdicts_of_the_full_versions_follow_from_their_numbers() {
    let mut problems = Vec::new();
    for one in measured() {
        let (now, full) = (rows(&csv::table(std::slice::from_ref(one))), kept("full", one.figure.id));
        let is_same =
            now.len() == full.len() && now.iter().zip(&full).all(|(now, full)| claim(now) == claim(full));
        if !is_same {
            problems
                .push(format!("{}: the claims have changed since the full version was run", one.figure.id));
            continue;
        }
        for (claim, row) in one.claims.iter().zip(&full) {
            problems
                .extend(problem(claim, row).map(|what| format!("{} {}: {what}", one.figure.id, claim.name)));
        }
    }
    none(&problems);
}

fn problem(claim: &Claim, row: &[String]) -> Option<String> {
    let verdict = judge(&read(row), &claim.stated, claim.tolerance);
    if verdict.to_string() != row[at("verdict")] {
        return Some(format!("{verdict} by its numbers, not {}", row[at("verdict")]));
    }
    let unexplained = verdict == Verdict::NotReproduced && claim.analysis.is_none();
    unexplained.then(|| "it is not met, and expected/ does not say why: analysis = \"..\"".to_owned())
}

fn read(row: &[String]) -> Measured {
    let number = |name: &str| row[at(name)].parse::<f64>().ok();
    let Some(value) = number("measured") else {
        return Measured::from(row[at("measured")].clone());
    };
    let spread = match (row[at("low")].as_str(), number("low"), number("high")) {
        ("", _, _) => Spread::Deterministic,
        (_, Some(low), Some(high)) => Spread::Interval { low, high },
        _ => Spread::Once,
    };
    Measured { value: Value::Number(value), spread }
}

/// Figures whose full version takes less than a second are run.
#[test]
fn short_full_versions_give_their_verdicts() {
    let setting = Setting { small: false, seed: 1, progress: &(), saved: None };
    let mut problems = Vec::new();
    for figure in all().iter().filter(|figure| figure.seconds.1 == 0) {
        let one = reproduce(figure, &setting).unwrap_or_else(|error| panic!("{}: {error}", figure.id));
        let is = rows(&csv::table(&[one]));
        if is != kept("full", figure.id) {
            problems.push(format!("{}: other verdicts or numbers than in verdicts/full", figure.id));
        }
    }
    none(&problems);
}
