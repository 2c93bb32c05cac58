//! The table with one row per policy.

use divvy_results::compare::{Comparison, Criterion, Estimate, Policy};
use divvy_results::text;
use divvy_results::verdict::{Score, is_of_migrations, scores};

use crate::view::table::{ABSENT, Cell, Column, DISTANCES, EXACT, NOTHING, SERVICE, TIMES, Table};

/// A column of the table: the measure's name, its head, and the columns that it stays with.
type Shown = (&'static str, [&'static str; 2], u8);

/// The measures that fit a terminal.
const SHOWN: [Shown; 15] = [
    ("response_mean_ns", ["response", "mean"], TIMES),
    ("response_p99_ns", ["response", "p99"], TIMES),
    ("wait_mean_ns", ["waiting", "mean"], TIMES),
    ("delay_mean_ns", ["latency", "mean"], TIMES),
    ("delay_p99_ns", ["latency", "p99"], TIMES),
    ("error_max_ns", ["service", "error max"], SERVICE),
    ("jain", ["Jain", "index"], SERVICE),
    ("utilization", ["CPU", "used"], SERVICE),
    ("switches", ["", "switches"], SERVICE),
    ("migrations", ["migra-", "tions"], SERVICE),
    ("decisions", ["deci-", "sions"], SERVICE),
    ("same_core_migrations", ["in", "core"], DISTANCES),
    ("same_llc_migrations", ["in", "cache"], DISTANCES),
    ("same_node_migrations", ["in", "node"], DISTANCES),
    ("other_node_migrations", ["other", "node"], DISTANCES),
];

/// The comparison, and what it leaves out.
pub struct Compared {
    /// One row per policy, and one of the recorded scheduler.
    pub table: Table,
    /// A sentence on the measures that are not shown because they say nothing.
    pub left_out: Option<String>,
}

/// Measures by relevance, the one that decides with its interval and its factors. Those that say nothing are left out, unless `all`.
pub fn compared(comparison: &Comparison, baseline: Option<&str>, all: bool) -> Compared {
    let policies = &comparison.policies;
    let recorded = comparison.report.trace.as_ref().and_then(|trace| trace.recorded.as_ref());
    let names = policies.iter().map(|policy| text::escape(policy.spec));
    let names = names.chain(recorded.map(|_| "recorded".to_owned())).collect();
    let mut columns = Vec::new();
    let mut add = |head, group, mut cells: Vec<Cell>, seen: Option<f64>| {
        cells.extend(recorded.map(|_| Cell::plain(seen.map_or(NOTHING.to_owned(), text::time))));
        columns.push((Column::number(head, group), cells));
    };
    let (silent, telling): (Vec<Score>, Vec<Score>) =
        scores(comparison).into_iter().partition(|score| score.silent.is_some() && !all);
    for score in &telling {
        let Some((name, head, group)) = SHOWN.into_iter().find(|(name, ..)| *name == score.name) else {
            continue;
        };
        let seen = match (recorded, name) {
            (Some(recorded), "response_mean_ns") => recorded.response_mean_ns,
            (Some(recorded), "delay_mean_ns") => recorded.wake_delay_mean_ns,
            _ => None,
        };
        add(head, group, cells(score), seen);
        if name == "response_mean_ns" {
            add(["", "\u{b1}95%"], group, half_widths(policies), None);
        }
        let (decides, what) = match comparison.criterion {
            Criterion::MeanResponse => ("response_mean_ns", "response"),
            Criterion::MaxError => ("error_max_ns", "error"),
        };
        if name == decides
            && policies.len() > 1
            && let Some(base) = base(policies, baseline)
        {
            let factors = policies.iter().map(|policy| factor(comparison, policy, base)).collect();
            add([what, "factor"], group, factors, None);
        }
    }
    let table = Table::of_columns(None, ("policy", names), columns).without_empty_columns();
    // One CPU has no other to migrate to: nobody misses that column.
    let missed = silent.iter().filter(|score| comparison.report.cpus > 1 || !is_of_migrations(score.name));
    Compared { table, left_out: left_out(missed) }
}

fn cells(score: &Score) -> Vec<Cell> {
    let text = |value: f64| match score.kind {
        "time" => text::time(value),
        "share" => text::percent(value, 1),
        "count" => text::count(value),
        _ => text::index(value),
    };
    let cell = |(value, is_best): (&Option<f64>, &bool)| Cell {
        text: value.map_or(ABSENT.to_owned(), text),
        is_best: *is_best,
        picture: None,
    };
    score.values.iter().zip(&score.is_best).map(cell).collect()
}

/// As in `not shown: service error, Jain index (all tasks finish their jobs, so each receives what it asks for); -v shows all columns`.
fn left_out<'a>(silent: impl Iterator<Item = &'a Score>) -> Option<String> {
    let name = |score: &Score| SHOWN.iter().find(|(name, ..)| *name == score.name).map(|(_, head, _)| head);
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for score in silent {
        let (Some(head), Some(reason)) = (name(score), score.silent) else { continue };
        let name = head.join(" ").trim().replace("- ", "");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    let parts: Vec<String> =
        reasons.iter().map(|(reason, names)| format!("{} ({reason})", names.join(", "))).collect();
    (!parts.is_empty()).then(|| format!("not shown: {}; -v shows all columns", parts.join(", ")))
}

/// The policy asked for, else the first that keeps up with the others.
fn base<'a, 'b>(policies: &'b [Policy<'a>], baseline: Option<&str>) -> Option<&'b Policy<'a>> {
    match baseline {
        Some(spec) => policies.iter().find(|policy| policy.spec == spec),
        None => policies.iter().find(|policy| policy.keeps_up(policies)),
    }
}

/// Half the interval of the mean response, in percent of it.
fn half_widths(policies: &[Policy]) -> Vec<Cell> {
    policies
        .iter()
        .map(|policy| {
            let estimate = Criterion::MeanResponse.estimate(policy);
            let half = estimate.and_then(|estimate| estimate.relative_half_width());
            if estimate.is_some_and(|estimate| estimate.is_exact) {
                return Cell::plain(EXACT.to_owned());
            }
            Cell::plain(half.map_or(ABSENT.to_owned(), text::half_width))
        })
        .collect()
}

/// `1.42x` the baseline; `~` before it when the intervals do not tell the two apart. The greatest errors of one run have none: their
/// ratio is a fact of that run.
fn factor(comparison: &Comparison, policy: &Policy, base: &Policy) -> Cell {
    if policy.spec == base.spec {
        return Cell::plain("1".to_owned());
    }
    let Some(ratio) = comparison.criterion.ratio(policy, base) else {
        return Cell::plain(ABSENT.to_owned());
    };
    let sure =
        |ratio: Estimate| comparison.floor.is_some_and(|floor| ratio.is_more(floor) || ratio.is_less(floor));
    let mark = if sure(ratio) || is_fact(comparison, ratio) { "" } else { "~" };
    let times = if ratio.mid < 0.01 { "<0.01".to_owned() } else { format!("{:.2}", ratio.mid) };
    Cell::plain(format!("{mark}{times}x"))
}

fn is_fact(comparison: &Comparison, ratio: Estimate) -> bool {
    comparison.criterion == Criterion::MaxError && !ratio.is_known()
}

/// The meaning of marks, and how tasks and repetitions were pooled.
pub fn notes(policies: &[Policy], comparison: &Table) -> Vec<String> {
    let has = |wanted: fn(&Cell) -> bool| comparison.rows.iter().flatten().any(wanted);
    let mut notes = Vec::new();
    if has(|cell| cell.is_best) {
        notes.push("* best of its column".to_owned());
    }
    if has(|cell| cell.text.starts_with('~')) {
        notes.push("~ no interval tells it from the baseline".to_owned());
    }
    if has(|cell| cell.text == EXACT) {
        notes.push("= deterministic: all repetitions, or all jobs, are alike".to_owned());
    }
    if comparison.columns.iter().any(|column| column.head[0] == "response") {
        notes.push("response (turnaround) is from a job's start to its end".to_owned());
    }
    if comparison.columns.iter().any(|column| column.head[0] == "latency") {
        notes.push("latency is from a wake-up to the CPU".to_owned());
    }
    if comparison.columns.iter().any(|column| column.group == DISTANCES) {
        notes.push("in core, cache, node, other node: migrations by how far the task went".to_owned());
    }
    if policies.iter().any(|policy| policy.runs.len() > 1) {
        notes.push("means over repetitions; the service error is the greatest".to_owned());
    }
    notes
}
