//! The advice of `divvy advise`, for people.

use std::fmt::Write as _;

use divvy_policy::quantity::format_time_ns;
use divvy_results::measure::Unit;
use divvy_results::stats::{are_identical, interval95};
use divvy_results::text;
use divvy_workload::Workload;

use crate::advise::{Advice, Candidate, Finding};
use crate::assert::Claims;
use crate::command_line::quoted;

/// The best settings with what each goal's measure was, and what they cost; and the baseline.
/// `rerun` is the beginning and the end of the command that runs the workload.
pub fn write(
    advice: &Advice,
    workload: &Workload,
    goals: &Claims,
    rerun: &(String, String),
    columns: usize,
) -> String {
    let reaching = advice.best.iter().filter(|finding| finding.meets_all()).count();
    let reps = advice.baseline.reps;
    let runs = if reps == 1 { "1 run".to_owned() } else { format!("{reps} runs") };
    let head = match reaching {
        0 => format!(
            "None of {} settings reaches all goals in each of {runs}. These come nearest:",
            advice.tried
        ),
        _ => format!(
            "{} settings were tried. Of the best {}, {reaching} reached all goals in each of {runs}:",
            advice.tried,
            advice.best.len()
        ),
    };
    let mut out = format!("{}\n", text::wrap(&head, columns, 0));
    for (number, finding) in advice.best.iter().enumerate() {
        let _ =
            write!(out, "\n{}. {}\n{}", number + 1, settings(finding, workload), measured(finding, goals));
        let _ = writeln!(out, "{}", text::wrap(&format!("   {}", cost(finding)), columns, 5));
        let _ = writeln!(out, "   $ {}", command(finding, rerun));
    }
    let now = &advice.baseline;
    let _ = write!(out, "\nAs it is: {}\n{}", settings(now, workload), measured(now, goals));
    out
}

fn settings(finding: &Finding, workload: &Workload) -> String {
    let candidate = &finding.candidate;
    let mut text = format!("{}, quantum {}", candidate.spec, format_time_ns(candidate.quantum_ns as i64));
    for (task, factor) in workload.tasks.iter().zip(&candidate.factors).filter(|(_, factor)| **factor != 1.0)
    {
        let weight = text::plain(task.weight.units() * factor);
        let _ = write!(text, ", weight of {} {weight} (x{factor})", text::escape(&task.name));
    }
    text
}

/// A line for each goal.
fn measured(finding: &Finding, goals: &Claims) -> String {
    let reps = finding.reps;
    let widest = goals.iter().map(|goal| text::width(goal.text())).max().unwrap_or(0);
    let mut out = String::new();
    for ((goal, readings), met) in goals.iter().zip(&finding.readings).zip(&finding.met) {
        let word = match *met {
            met if met == reps => "reached".to_owned(),
            0 => "missed".to_owned(),
            met => format!("reached in {met} of {reps}"),
        };
        let _ = writeln!(
            out,
            "   {:widest$}  {:>18}  {word}",
            goal.text(),
            reading(readings, goal.text().contains('%'))
        );
    }
    out
}

/// The mean, and its 95 % confidence interval where repetitions differ. Ratios are in percent, if the goal is.
fn reading(readings: &[Option<(Unit, f64)>], in_percent: bool) -> String {
    let values: Vec<f64> = readings.iter().flatten().map(|(_, value)| *value).collect();
    let Some((unit, first)) = readings.iter().flatten().next().copied() else {
        return "not measured".to_owned();
    };
    let amount = |value: f64| match unit {
        Unit::Time => text::time(value),
        Unit::Ratio if in_percent => text::percent(value, 1),
        Unit::Ratio => text::index(value),
        Unit::Count => text::count(value),
    };
    match interval95(&values) {
        Some(interval) if !are_identical(&values) => {
            format!("{} ± {}", amount(interval.mean), amount(interval.half_width))
        }
        _ => amount(first),
    }
}

fn cost(finding: &Finding) -> String {
    match &finding.cost {
        None => "no task is without a goal".to_owned(),
        Some((name, _)) if finding.percent_worse() == 0 => {
            format!("no other task is worse off (the nearest is {})", text::escape(name))
        }
        Some((name, factor)) if factor.is_infinite() => {
            format!("costs {} most: it gets nothing any more", text::escape(name))
        }
        Some((name, factor)) => {
            format!("costs {} most: worse off by a factor of {factor:.2}", text::escape(name))
        }
    }
}

/// The command that simulates it. Weights are set in the workload's file.
fn command(finding: &Finding, rerun: &(String, String)) -> String {
    let candidate = &finding.candidate;
    let weights = if candidate.factors.iter().all(|factor| *factor == 1.0) {
        ""
    } else {
        "  # with these weights in the file"
    };
    format!("{}{weights}", without_weights(candidate, rerun))
}

/// The same, and nothing is said of weights.
pub(super) fn without_weights(candidate: &Candidate, (begin, end): &(String, String)) -> String {
    let quantum = format_time_ns(candidate.quantum_ns as i64);
    format!("{begin} -p {} --quantum {quantum} {end}", quoted(&candidate.spec.to_string()))
}
