//! The tables of `expected/`: what a paper states, where, and how near is near enough.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::claim::{Stated, Tolerance};
use crate::drawing::Drawing;
use crate::source::Source;

/// A figure's claims, in the order in which they are shown.
#[derive(Debug)]
pub struct Table {
    pub rows: Vec<Row>,
    /// Those of a kernel; the drawings of a simulated figure come from its driver.
    pub drawings: Vec<Drawing>,
}

/// A claim before it is measured.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    pub source: Source,
    pub stated: Stated,
    pub tolerance: Tolerance,
    /// The reason of the tolerance.
    pub basis: Option<String>,
    /// Whether only the full version can judge it.
    pub full_only: bool,
    /// Whether it is a time, or a ratio of times, of this machine: no two runs give the same.
    pub timed: bool,
    pub analysis: Option<String>,
    /// How far the kernel may be from the simulation.
    pub agree: Tolerance,
    /// Why it is farther.
    pub differs: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    /// The source of claims that have none of their own.
    source: Option<Source>,
    /// The tolerance of claims that have none of their own.
    tolerance: Option<String>,
    /// The reason of this tolerance.
    because: Option<String>,
    /// How far the kernel may be from the simulation, of claims that have no limit of their own.
    agree: Option<String>,
    claim: Vec<RawRow>,
    #[serde(default)]
    drawing: Vec<Drawing>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    name: String,
    source: Option<Source>,
    paper: RawStated,
    tolerance: Option<String>,
    because: Option<String>,
    #[serde(default)]
    full_only: bool,
    #[serde(default)]
    timed: bool,
    analysis: Option<String>,
    agree: Option<String>,
    differs: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawStated {
    Number(f64),
    Text(String),
    Words { words: String, at_least: Option<f64>, at_most: Option<f64> },
    Bound(BTreeMap<String, f64>),
}

impl Table {
    /// Reads a table; says what is wrong with it, if anything is.
    pub fn parse(text: &str) -> Result<Table, String> {
        let raw: RawTable = toml::from_str(text).map_err(|error| error.to_string())?;
        let RawTable { source, tolerance, because, agree, claim, drawing } = raw;
        let default = Defaults { source, tolerance, because, agree };
        let rows = claim.into_iter().map(|claim| row(claim, &default)).collect::<Result<_, _>>()?;
        Ok(Table { rows, drawings: drawing })
    }
}

/// The whole table's values, for claims that have none of their own.
struct Defaults {
    source: Option<Source>,
    tolerance: Option<String>,
    because: Option<String>,
    agree: Option<String>,
}

fn row(raw: RawRow, whole: &Defaults) -> Result<Row, String> {
    let name = raw.name.clone();
    let wrong = move |what: String| format!("claim {name:?}: {what}");
    let own_tolerance = raw.tolerance.is_some();
    let source = raw.source.or_else(|| whole.source.clone()).ok_or_else(|| wrong(NO_SOURCE.to_owned()))?;
    let stated = stated(raw.paper).map_err(&wrong)?;
    let has_margin = !matches!(stated, Stated::Text(_) | Stated::Words { .. })
        && !matches!(source, Source::Worded(_) | Source::ReadOff { .. });
    let text = raw.tolerance.or_else(|| whole.tolerance.clone().filter(|_| has_margin));
    let because = if own_tolerance { raw.because } else { raw.because.or_else(|| whole.because.clone()) };
    let (tolerance, basis) = margin(&source, text.as_deref(), because).map_err(&wrong)?;
    if tolerance != Tolerance::Exact && !has_margin && !matches!(source, Source::ReadOff { .. }) {
        return Err(wrong("words and sequences have no tolerance".to_owned()));
    }
    let agree = raw.agree.or_else(|| whole.agree.clone());
    let agree = agree.map_or(Ok(Tolerance::Exact), |text| read_tolerance(&text)).map_err(&wrong)?;
    Ok(Row {
        source,
        stated,
        tolerance,
        basis,
        // A few short batches are no measurement.
        full_only: raw.full_only || raw.timed,
        timed: raw.timed,
        analysis: raw.analysis.map(one_line),
        agree,
        differs: raw.differs.map(one_line),
        name: raw.name,
    })
}

fn one_line(text: String) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const NO_SOURCE: &str = "it has no source: printed, inferred, worded, read_off or derived";

/// The tolerance and its reason. That of a value which was read off is the error of the reading.
fn margin(
    source: &Source,
    text: Option<&str>,
    because: Option<String>,
) -> Result<(Tolerance, Option<String>), String> {
    match (source, text) {
        (Source::ReadOff { .. }, Some(_)) => Err("the tolerance of a reading is its error".to_owned()),
        (Source::ReadOff { error, .. }, None) => {
            Ok((Tolerance::Absolute(*error), Some("the error of the reading".to_owned())))
        }
        (_, None) => Ok((Tolerance::Exact, None)),
        (_, Some(text)) => {
            let tolerance = read_tolerance(text)?;
            if tolerance != Tolerance::Exact && because.is_none() {
                return Err(format!("a tolerance of {text} needs a reason: because = \"..\""));
            }
            Ok((tolerance, because.filter(|_| tolerance != Tolerance::Exact)))
        }
    }
}

fn stated(raw: RawStated) -> Result<Stated, String> {
    let bounds = match raw {
        RawStated::Number(number) => return Ok(Stated::Number(number)),
        RawStated::Text(text) => return Ok(Stated::Text(text)),
        RawStated::Words { words, at_least, at_most } => {
            let (least, most) = (at_least.unwrap_or(f64::NEG_INFINITY), at_most.unwrap_or(f64::INFINITY));
            return Ok(Stated::Words { text: words, least, most });
        }
        RawStated::Bound(bounds) => bounds,
    };
    let unknown = bounds.keys().any(|key| key != "at_most" && key != "at_least");
    match (bounds.get("at_least"), bounds.get("at_most")) {
        (Some(least), Some(most)) if !unknown => Ok(Stated::Between(*least, *most)),
        (Some(least), None) if !unknown => Ok(Stated::AtLeast(*least)),
        (None, Some(most)) if !unknown => Ok(Stated::AtMost(*most)),
        _ => Err("paper has at_least, at_most or both, or words".to_owned()),
    }
}

fn read_tolerance(text: &str) -> Result<Tolerance, String> {
    tolerance(text).ok_or_else(|| format!("a tolerance is exact, 0.05, 5% or sampling 0.5, not {text:?}"))
}

fn tolerance(text: &str) -> Option<Tolerance> {
    let positive = |text: &str| text.parse::<f64>().ok().filter(|t| *t >= 0.0 && t.is_finite());
    match (text, text.strip_suffix('%')) {
        ("exact", _) => Some(Tolerance::Exact),
        (text, _) if text.starts_with("sampling ") => Some(Tolerance::Sampling(positive(&text[9..])?)),
        (_, Some(percent)) => Some(Tolerance::Relative(positive(percent)? / 100.0)),
        (absolute, None) => Some(Tolerance::Absolute(positive(absolute)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads() {
        let text = "source = { derived = \"Eq. 8\" }\ntolerance = \"1%\"\nbecause = \"a quantum\"\n\
                    [[claim]]\nname = \"a\"\nsource = { printed = \"5.1\" }\npaper = -2.5\ntolerance = \"5%\"\nbecause = \"so\"\n\
                    [[claim]]\nname = \"b\"\npaper = { at_most = 7 }\n\
                    [[claim]]\nname = \"c\"\nsource = { read_off = { plot = \"Figure 3\", error = 0.5 } }\npaper = 5\n\
                    [[claim]]\nname = \"d\"\nsource = { worded = \"4.4\" }\npaper = { words = \"comparable\", at_most = 10 }\n";
        let rows = Table::parse(text).unwrap().rows;
        assert_eq!(rows[0].source, Source::Printed("5.1".to_owned()));
        assert_eq!((&rows[0].stated, rows[0].tolerance), (&Stated::Number(-2.5), Tolerance::Relative(0.05)));
        assert_eq!(rows[1].source, Source::Derived("Eq. 8".to_owned()));
        assert_eq!((&rows[1].stated, rows[1].tolerance), (&Stated::AtMost(7.0), Tolerance::Relative(0.01)));
        assert_eq!(rows[1].basis.as_deref(), Some("a quantum"));
        assert_eq!((rows[2].tolerance, rows[3].tolerance), (Tolerance::Absolute(0.5), Tolerance::Exact));
        assert!(
            matches!(&rows[3].stated, Stated::Words { text, most, .. } if text == "comparable" && *most == 10.0)
        );
    }

    #[test]
    fn a_claim_without_a_source_and_a_tolerance_without_a_reason_do_not_read() {
        let parse = |row: &str| Table::parse(&format!("[[claim]]\nname = \"a\"\n{row}\n")).unwrap_err();
        assert!(parse("paper = 1").contains("it has no source"));
        for source in
            ["printed = \"5\", derived = \"x\"", "inferred = \"5\"", "read_off = \"5\"", "guessed = \"5\""]
        {
            let what =
                Table::parse(&format!("[[claim]]\nname = \"a\"\nsource = {{ {source} }}\npaper = 1\n"));
            assert!(what.is_err(), "{source}");
        }
        let printed = |row: &str| parse(&format!("source = {{ printed = \"5\" }}\n{row}"));
        assert!(printed("paper = 1\ntolerance = \"5%\"").contains("needs a reason"));
        assert!(
            parse("source = { worded = \"5\" }\npaper = 1\ntolerance = \"1\"\nbecause = \"x\"")
                .contains("no tolerance")
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let parse = |row: &str| {
            Table::parse(&format!("[[claim]]\nname = \"a\"\nsource = {{ printed = \"5\" }}\n{row}\n"))
                .unwrap_err()
        };
        assert!(parse("paper = 1\ntolerance = \"wide\"").contains("\"wide\""));
        assert!(parse("paper = { about = 1.0 }").contains("at_least"));
        assert!(parse("paper = 1\nother = 1").contains("other"));
    }
}
