//! The tables of `expected/`: what a paper prints, and what the small version measures.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::claim::{Printed, Tolerance, Value};

/// A figure's claims, in the order in which they are shown.
#[derive(Debug)]
pub struct Table {
    pub rows: Vec<Row>,
}

/// A claim before it is measured.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    pub printed: Printed,
    pub tolerance: Tolerance,
    /// The value that the small version measures with seed 1; for the test.
    #[cfg_attr(not(test), expect(dead_code))]
    pub small: Option<Value>,
    /// Whether only the full version can judge it.
    pub full_only: bool,
    /// Whether it is a time, or a ratio of times, of this machine: no two runs give the same.
    #[cfg_attr(not(test), expect(dead_code))]
    pub timed: bool,
    /// Whether it is within the tolerance, as far as is known.
    pub reproduces: bool,
    pub analysis: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    claim: Vec<RawRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    name: String,
    paper: RawPrinted,
    #[serde(default = "exact")]
    tolerance: String,
    small: Option<RawValue>,
    #[serde(default)]
    full_only: bool,
    #[serde(default)]
    timed: bool,
    #[serde(default = "yes")]
    reproduces: bool,
    analysis: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawPrinted {
    Number(f64),
    Text(String),
    Bound(BTreeMap<String, f64>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawValue {
    Number(f64),
    Text(String),
}

fn exact() -> String {
    "exact".to_owned()
}

fn yes() -> bool {
    true
}

impl Table {
    /// Reads a table; says what is wrong with it, if anything is.
    pub fn parse(text: &str) -> Result<Table, String> {
        let raw: RawTable = toml::from_str(text).map_err(|error| error.to_string())?;
        Ok(Table { rows: raw.claim.into_iter().map(row).collect::<Result<_, _>>()? })
    }
}

fn row(raw: RawRow) -> Result<Row, String> {
    let wrong = |what: String| format!("claim {:?}: {what}", raw.name);
    let small = raw.small.map(|small| match small {
        RawValue::Number(number) => Value::Number(number),
        RawValue::Text(text) => Value::Text(text),
    });
    if !raw.reproduces && raw.analysis.is_none() {
        return Err(wrong("it does not reproduce, and the table does not say why".to_owned()));
    }
    Ok(Row {
        printed: printed(raw.paper).map_err(wrong)?,
        tolerance: tolerance(&raw.tolerance)
            .ok_or_else(|| wrong(format!("a tolerance is exact, 0.05 or 5%, not {:?}", raw.tolerance)))?,
        small,
        // A few short batches are no measurement.
        full_only: raw.full_only || raw.timed,
        timed: raw.timed,
        reproduces: raw.reproduces,
        analysis: raw.analysis.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")),
        name: raw.name,
    })
}

fn printed(raw: RawPrinted) -> Result<Printed, String> {
    let bounds = match raw {
        RawPrinted::Number(number) => return Ok(Printed::Number(number)),
        RawPrinted::Text(text) => return Ok(Printed::Text(text)),
        RawPrinted::Bound(bounds) => bounds,
    };
    let unknown = bounds.keys().any(|key| key != "at_most" && key != "at_least");
    match (bounds.get("at_least"), bounds.get("at_most")) {
        (Some(least), Some(most)) if !unknown => Ok(Printed::Between(*least, *most)),
        (Some(least), None) if !unknown => Ok(Printed::AtLeast(*least)),
        (None, Some(most)) if !unknown => Ok(Printed::AtMost(*most)),
        _ => Err("paper has at_least, at_most or both".to_owned()),
    }
}

fn tolerance(text: &str) -> Option<Tolerance> {
    let positive = |text: &str| text.parse::<f64>().ok().filter(|t| *t >= 0.0 && t.is_finite());
    match (text, text.strip_suffix('%')) {
        ("exact", _) => Some(Tolerance::Exact),
        (_, Some(percent)) => Some(Tolerance::Relative(positive(percent)? / 100.0)),
        (absolute, None) => Some(Tolerance::Absolute(positive(absolute)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads() {
        let text = "[[claim]]\nname = \"a\"\npaper = -2.5\ntolerance = \"5%\"\nsmall = 3\n\
                    [[claim]]\nname = \"b\"\npaper = { at_most = 7 }\n";
        let table = Table::parse(text).unwrap();
        assert_eq!(table.rows[0].printed, Printed::Number(-2.5));
        assert_eq!(table.rows[0].tolerance, Tolerance::Relative(0.05));
        assert_eq!(table.rows[0].small, Some(Value::Number(3.0)));
        assert_eq!(table.rows[1].printed, Printed::AtMost(7.0));
        assert_eq!(table.rows[1].tolerance, Tolerance::Exact);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let parse = |row: &str| Table::parse(&format!("[[claim]]\nname = \"a\"\n{row}\n")).unwrap_err();
        assert!(parse("paper = 1\nreproduces = false").contains("does not say why"));
        assert!(parse("paper = 1\ntolerance = \"wide\"").contains("\"wide\""));
        assert!(parse("paper = { about = 1.0 }").contains("at_least"));
        assert!(parse("paper = 1\nother = 1").contains("other"));
    }
}
