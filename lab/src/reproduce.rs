//! Runs a figure and judges what it found by its table.

use crate::catalog::Figure;
use crate::claim::{Claim, Value, Verdict, meets};
use crate::error::LabError;
use crate::expected::{Row, Table};
use crate::setting::Setting;
use divvy_pages::plot::Plot;

/// A figure with its verdicts.
pub struct Reproduction {
    /// The figure.
    pub figure: &'static Figure,
    /// Whether it was the quick version.
    pub small: bool,
    /// In the table's order.
    pub claims: Vec<Claim>,
    /// Measured as well, which the paper has no number for.
    pub also: Vec<(String, Value)>,
    /// To be drawn.
    pub plots: Vec<Plot>,
}

impl Reproduction {
    /// Whether a claim is not met.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.claims.iter().any(|claim| claim.verdict.is_failure())
    }
}

/// Runs a figure, and compares.
///
/// # Errors
/// When a simulation breaks off, or a file of the laboratory is wrong; a claim that is not met is a result.
pub fn reproduce(figure: &'static Figure, setting: &Setting) -> Result<Reproduction, LabError> {
    let own = |what: String| LabError::Own { file: format!("expected/{}.toml", figure.id), what };
    let table = Table::parse(figure.table).map_err(own)?;
    let missing = figure.policies.iter().find(|name| divvy_policy::find(name).is_none());
    if let (Some(name), 1) = (missing, figure.policies.len()) {
        return Ok(without(figure, setting, table, name));
    }
    let found = (figure.run)(setting)?;
    let mut also = found.values;
    let mut claims = Vec::new();
    for row in table.rows {
        let at = also.iter().position(|(name, _)| *name == row.name);
        let at = at.ok_or_else(|| own(format!("nothing measures {:?}", row.name)))?;
        claims.push(judge(row, also.remove(at).1, setting.small));
    }
    Ok(Reproduction { figure, small: setting.small, claims, also, plots: found.plots })
}

/// Nothing can be measured without the only policy that it is about.
fn without(figure: &'static Figure, setting: &Setting, table: Table, name: &str) -> Reproduction {
    let missing = |row| judge(row, Value::Missing(name.to_owned()), setting.small);
    let claims = table.rows.into_iter().map(missing).collect();
    Reproduction { figure, small: setting.small, claims, also: Vec::new(), plots: Vec::new() }
}

fn judge(row: Row, measured: Value, small: bool) -> Claim {
    let verdict = match measured {
        Value::Missing(_) => Verdict::Missing,
        _ if small && row.full_only => Verdict::NotJudged,
        _ if meets(&measured, &row.printed, row.tolerance) => Verdict::Reproduced,
        _ => Verdict::NotReproduced,
    };
    Claim {
        name: row.name,
        printed: row.printed,
        measured,
        tolerance: row.tolerance,
        verdict,
        foreseen: row.reproduces,
        analysis: row.analysis,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{all, find};

    #[test]
    fn names_are_unique_and_tables_read() {
        for (i, figure) in all().iter().enumerate() {
            assert!(all()[..i].iter().all(|other| other.id != figure.id), "{} is there twice", figure.id);
            let table = Table::parse(figure.table).unwrap_or_else(|what| panic!("{}: {what}", figure.id));
            assert!(!table.rows.is_empty(), "{}", figure.id);
        }
        assert!(find("gr3-1").is_some() && find("gr3").is_none());
    }

    /// Each figure's small version, against what its table says that it measures. `LAB=ID` tries one and prints it.
    #[test]
    fn small_versions_give_their_tables() {
        let only = std::env::var("LAB").ok();
        let setting = Setting { small: true, seed: 1, progress: &(), saved: None };
        let mut problems = Vec::new();
        for figure in all().iter().filter(|f| only.as_deref().is_none_or(|id| f.id.starts_with(id))) {
            let table = Table::parse(figure.table).unwrap();
            let got = reproduce(figure, &setting).unwrap_or_else(|error| panic!("{}: {error}", figure.id));
            for (claim, row) in got.claims.iter().zip(&table.rows) {
                if only.is_some() {
                    println!("{} {}: {:?} {}", figure.id, claim.name, claim.measured, claim.verdict);
                }
                problems
                    .extend(problem(claim, row).map(|what| format!("{} {}: {what}", figure.id, row.name)));
            }
        }
        assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    }

    fn problem(claim: &Claim, row: &Row) -> Option<String> {
        if row.timed {
            let is_number = matches!(claim.measured, Value::Number(is) if is.is_finite());
            return (!is_number).then(|| format!("measured {:?}", claim.measured));
        }
        let small = match (&claim.measured, &row.small) {
            (Value::Missing(_), _) => return None,
            (Value::Text(is), None) if row.reproduces => Some(Value::Text(is.clone())),
            (_, small) => small.clone(),
        };
        let same = match (&claim.measured, &small) {
            (Value::Number(is), Some(Value::Number(was))) => (is - was).abs() <= 5e-4 * was.abs().max(1e-3),
            (is, Some(was)) => is == was,
            (_, None) => false,
        };
        if !same {
            return Some(format!("measured {:?}, small = {:?}", claim.measured, row.small));
        }
        let as_foreseen =
            claim.verdict == Verdict::NotJudged || (claim.verdict == Verdict::Reproduced) == row.reproduces;
        (!as_foreseen).then(|| format!("{}, and reproduces = {}", claim.verdict, row.reproduces))
    }
}
