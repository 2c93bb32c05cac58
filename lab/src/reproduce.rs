//! Runs a figure and judges what it found by its table.

use crate::catalog::Figure;
use crate::claim::{Claim, Verdict, judge};
use crate::error::LabError;
use crate::expected::{Row, Table};
use crate::measured::{Measured, Value};
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
    pub also: Vec<(String, Measured)>,
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
        claims.push(judged(row, also.remove(at).1, setting.small));
    }
    Ok(Reproduction { figure, small: setting.small, claims, also, plots: found.plots })
}

/// Nothing can be measured without the only policy that it is about.
fn without(figure: &'static Figure, setting: &Setting, table: Table, name: &str) -> Reproduction {
    let missing = |row| judged(row, Value::Missing(name.to_owned()).into(), setting.small);
    let claims = table.rows.into_iter().map(missing).collect();
    Reproduction { figure, small: setting.small, claims, also: Vec::new(), plots: Vec::new() }
}

pub(crate) fn judged(row: Row, measured: Measured, small: bool) -> Claim {
    let verdict = match judge(&measured, &row.stated, row.tolerance) {
        Verdict::Missing => Verdict::Missing,
        _ if small && row.full_only => Verdict::NotJudged,
        verdict => verdict,
    };
    Claim {
        name: row.name,
        source: row.source,
        stated: row.stated,
        tolerance: row.tolerance,
        basis: row.basis,
        measured,
        timed: row.timed,
        verdict,
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
}
