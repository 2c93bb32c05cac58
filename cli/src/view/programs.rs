//! The table with one row per program, under a modifier that predicts programs.

use divvy_results::compare::Policy;
use divvy_results::report::{PredictionResult, ProgramResult};
use divvy_results::text;

use crate::view::table::{ABSENT, Cell, Column, SERVICE, TIMES, Table};

/// One row per program, from the first repetition; none if nothing was predicted.
pub fn table(policy: &Policy) -> Option<Table> {
    let programs = &policy.runs[0].programs;
    let heads = [
        (["", "executions"], SERVICE),
        (["", "runs"], SERVICE),
        (["predicted", "runs"], SERVICE),
        (["", "error"], SERVICE),
        (["error", "first"], SERVICE),
        (["error", "last"], SERVICE),
        (["", "delays"], TIMES),
        (["", "met"], TIMES),
        (["early", "switches"], TIMES),
    ];
    let mut columns = vec![Column::name("program")];
    columns.extend(heads.into_iter().map(|(head, group)| Column::number(head, group)));
    let title = format!("{}: predictions", text::escape(policy.spec));
    let rows = programs.iter().map(row).collect();
    (!programs.is_empty()).then_some(Table { title: Some(title), columns, keys: 1, rows, meaning: None })
}

fn row(program: &ProgramResult) -> Vec<Cell> {
    let count = |n: u64| text::count(n as f64);
    let predicted: Vec<&PredictionResult> = program.by_execution.iter().filter(|p| p.runs > 0).collect();
    [
        text::escape(&program.name),
        count(program.executions),
        count(program.sequence_ns.len() as u64),
        count(program.predictions.runs),
        error(Some(&program.predictions)),
        error(predicted.first().copied()),
        error(predicted.last().copied()),
        count(program.delays),
        count(program.delays_met),
        count(program.early_switches),
    ]
    .into_iter()
    .map(Cell::plain)
    .collect()
}

/// As a part of the CPU time that was predicted.
fn error(predictions: Option<&PredictionResult>) -> String {
    predictions.and_then(|p| p.error).map_or(ABSENT.to_owned(), |error| text::percent(error, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use divvy_results::compare::Comparison;
    use divvy_results::samples;

    #[test]
    fn a_program_has_its_errors() {
        let mut report = samples::endless(&[("rr+flow", 8)]);
        assert!(table(&Comparison::of(&report).policies[0]).is_none());
        let of = |runs, error| PredictionResult { runs, actual_ns: 100, error_ns: 1, error };
        report.runs[0].programs.push(ProgramResult {
            name: "build".to_owned(),
            executions: 3,
            predictions: of(4, Some(0.25)),
            by_execution: vec![of(0, None), of(2, Some(0.4)), of(2, Some(0.1))],
            delays: 7,
            delays_met: 6,
            early_switches: 0,
            sequence_ns: vec![1, 2],
        });
        let table = table(&Comparison::of(&report).policies[0]).expect("a program");
        let cells: Vec<&str> = table.rows[0].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(cells, ["build", "3", "2", "4", "25.0%", "40.0%", "10.0%", "7", "6", "0"]);
    }
}
