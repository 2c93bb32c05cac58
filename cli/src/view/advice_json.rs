//! The advice of `divvy advise`, for programs: `docs/schemas/advice.schema.json`.

use divvy_results::measure::Unit;
use divvy_results::stats::interval95;
use divvy_workload::Workload;
use serde_json::{Value, json};

use super::advice::without_weights;
use crate::advise::{Advice, Finding};
use crate::assert::Claims;

/// The baseline and the best settings. `rerun` is the beginning and the end of the command that runs the workload.
pub fn write(advice: &Advice, workload: &Workload, goals: &Claims, rerun: &(String, String)) -> String {
    let all = |finding: &Finding| settings(finding, workload, goals, rerun);
    let value = json!({
        "schema_version": 1,
        "tried": advice.tried,
        "reached": advice.best.first().is_some_and(Finding::meets_all),
        "baseline": all(&advice.baseline),
        "best": advice.best.iter().map(all).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn settings(finding: &Finding, workload: &Workload, goals: &Claims, rerun: &(String, String)) -> Value {
    let candidate = &finding.candidate;
    let tried = candidate.workload(workload).unwrap_or_else(|| workload.clone());
    let weights =
        tried.tasks.iter().zip(&candidate.factors).map(
            |(task, factor)| json!({ "task": task.name, "weight": task.weight.units(), "factor": factor }),
        );
    let goals = goals.iter().zip(&finding.readings).zip(&finding.met);
    json!({
        "policy": candidate.spec.to_string(),
        "quantum_ns": candidate.quantum_ns,
        "weights": weights.collect::<Vec<_>>(),
        "reps": finding.reps,
        "goals": goals.map(|((goal, readings), met)| measured(goal.text(), readings, *met)).collect::<Vec<_>>(),
        "reached": finding.meets_all(),
        "cost": finding.cost.as_ref().map(|(task, factor)| {
            json!({ "task": task, "factor": factor.is_finite().then_some(factor) })
        }),
        "command": without_weights(candidate, rerun),
    })
}

fn measured(goal: &str, readings: &[Option<(Unit, f64)>], met: usize) -> Value {
    let values: Vec<f64> = readings.iter().flatten().map(|(_, value)| *value).collect();
    let unit = readings.iter().flatten().next().map(|(unit, _)| match unit {
        Unit::Time => "ns",
        Unit::Ratio => "ratio",
        Unit::Count => "count",
    });
    json!({
        "goal": goal,
        "unit": unit,
        "values": values,
        "interval": interval95(&values).map(|of| [of.mean - of.half_width, of.mean + of.half_width]),
        "met": met,
    })
}
