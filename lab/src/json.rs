//! Claims as JSON, for programs.

use serde_json::json;

use crate::claim::{Claim, Stated, Verdict};
use crate::measured::{Measured, Spread, Value};
use crate::reproduce::Reproduction;

/// For programs: one figure, or a list of all.
pub fn figures(done: &[Reproduction], is_list: bool, seed: u64) -> serde_json::Result<String> {
    document(done.iter().map(|one| figure(one, seed)).collect(), is_list)
}

/// One figure, or a list of them.
pub fn document(figures: Vec<serde_json::Value>, is_list: bool) -> serde_json::Result<String> {
    let value = match figures.as_slice() {
        [one] if !is_list => one.clone(),
        _ => json!({ "schema_version": 1, "figures": figures }),
    };
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

/// A figure and its verdicts.
pub fn figure(one: &Reproduction, seed: u64) -> serde_json::Value {
    let also = one.also.iter().map(|(name, measured)| {
        json!({ "name": name, "measured": value(&measured.value), "interval": interval(measured) })
    });
    json!({
        "schema_version": 1,
        "id": one.figure.id,
        "small": one.small,
        "seed": seed,
        "claims": one.claims.iter().map(claim).collect::<Vec<_>>(),
        "also": also.collect::<Vec<_>>(),
        "drawings": one.plots.iter().map(|plot| &plot.numbers).collect::<Vec<_>>(),
    })
}

/// `ok` is null where nothing is decided, and where only the full version can tell.
pub fn claim(claim: &Claim) -> serde_json::Value {
    let is_open = matches!(claim.verdict, Verdict::NotJudged | Verdict::Undecided);
    let mut value = json!({
        "name": claim.name,
        "source": { "kind": claim.source.kind(), "where": claim.source.detail() },
        "expected": claim.stated.to_string(),
        "measured": value(&claim.measured.value),
        "interval": interval(&claim.measured),
        "tolerance": claim.tolerance.to_string(),
        "verdict": claim.verdict.to_string().to_lowercase(),
        "ok": (!is_open).then(|| !claim.verdict.is_failure()),
    });
    if let Stated::Number(number) = claim.stated {
        value["expected"] = json!(number);
    }
    if let Some(basis) = &claim.basis {
        value["tolerance_basis"] = json!(basis);
    }
    if let Some(analysis) = &claim.analysis {
        value["analysis"] = json!(analysis);
    }
    value
}

/// Least and greatest value with 95 % confidence; null of what does not vary, or was measured once.
pub fn interval(measured: &Measured) -> serde_json::Value {
    match measured.spread {
        Spread::Interval { low, high } => json!({ "low": low, "high": high }),
        Spread::Deterministic | Spread::Once => serde_json::Value::Null,
    }
}

/// A number, or the text of anything else.
pub fn value(value: &Value) -> serde_json::Value {
    match value {
        Value::Number(number) => json!(number),
        other => json!(other.to_string()),
    }
}
