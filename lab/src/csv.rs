//! Claims as comma-separated values: for programs, and for `verdicts/`, which keeps them in the repository.

use divvy_results::csv;

use crate::claim::Claim;
use crate::measured::{Measured, Spread, Value};
use crate::reproduce::Reproduction;

/// The columns.
pub const HEADER: [&str; 12] = [
    "figure",
    "version",
    "claim",
    "source",
    "where",
    "expected",
    "tolerance",
    "measured",
    "low",
    "high",
    "verdict",
    "timed",
];

/// The header and a record for each claim.
#[must_use]
pub fn table(done: &[Reproduction]) -> String {
    let header = csv::record(&HEADER.map(str::to_owned));
    header
        + &done.iter().flat_map(|one| one.claims.iter().map(|claim| record(one, claim))).collect::<String>()
}

fn record(one: &Reproduction, claim: &Claim) -> String {
    let [measured, low, high] = measured_cells(&claim.measured);
    csv::record(&[
        one.figure.id.to_owned(),
        if one.small { "small" } else { "full" }.to_owned(),
        claim.name.clone(),
        claim.source.kind().to_owned(),
        claim.source.detail(),
        claim.stated.to_string(),
        claim.tolerance.to_string(),
        measured,
        low,
        high,
        claim.verdict.to_string(),
        if claim.timed { "yes" } else { "no" }.to_owned(),
    ])
}

/// The columns `measured`, `low` and `high`.
#[must_use]
pub fn measured_cells(measured: &Measured) -> [String; 3] {
    let value = match &measured.value {
        Value::Number(number) => digits(*number),
        other => other.to_string(),
    };
    let (low, high) = match measured.spread {
        Spread::Interval { low, high } => (digits(low), digits(high)),
        Spread::Deterministic => (String::new(), String::new()),
        Spread::Once => ("?".to_owned(), "?".to_owned()),
    };
    [value, low, high]
}

/// Six significant digits: more would not be the same with another compiler's arithmetic.
#[must_use]
pub fn digits(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    let places = (5 - number.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{number:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits() {
        let texts = [23_592.644_9, 1.0 / 3.0, 0.000_012_345_678, -2.5, 0.0, 12_345_678.9, 100.0].map(digits);
        assert_eq!(texts, ["23592.6", "0.333333", "0.0000123457", "-2.5", "0", "12345679", "100"]);
    }
}
