//! Claims of a paper and their verdicts.

use arrow_array::{ArrayRef, StringArray};
use divvy_lab::{Claim, Reproduction, Spread, Stated, Value};

use super::names::Names;
use super::some_numbers;
use crate::table::column;

/// A row for each claim: the paper's value and the measured one, as numbers where they are numbers, and as text.
pub fn claims(one: &Reproduction) -> Vec<(&'static str, ArrayRef)> {
    let claims = || one.claims.iter();
    let text = |of: &dyn Fn(&Claim) -> String| column(StringArray::from_iter_values(claims().map(of)));
    let names = |of: fn(&Claim) -> String| {
        let all: Vec<String> = claims().map(of).collect();
        all.iter().map(String::as_str).collect::<Names>().column()
    };
    let number = |of: fn(&Claim) -> Option<f64>| some_numbers(claims().map(of));
    vec![
        ("claim", text(&|claim| claim.name.clone())),
        ("source", names(|claim| claim.source.kind().to_owned())),
        ("where", text(&|claim| claim.source.detail())),
        ("expected", number(expected)),
        ("expected_text", text(&|claim| claim.stated.to_string())),
        ("tolerance", text(&|claim| claim.tolerance.to_string())),
        ("measured", number(measured)),
        ("low", number(|claim| interval(claim).map(|(low, _)| low))),
        ("high", number(|claim| interval(claim).map(|(_, high)| high))),
        ("measured_text", text(&|claim| claim.measured.to_string())),
        ("verdict", names(|claim| claim.verdict.to_string().to_lowercase())),
    ]
}

fn expected(claim: &Claim) -> Option<f64> {
    match claim.stated {
        Stated::Number(number) => Some(number),
        _ => None,
    }
}

fn measured(claim: &Claim) -> Option<f64> {
    match claim.measured.value {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

fn interval(claim: &Claim) -> Option<(f64, f64)> {
    match claim.measured.spread {
        Spread::Interval { low, high } => Some((low, high)),
        Spread::Deterministic | Spread::Once => None,
    }
}
