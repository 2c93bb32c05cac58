//! Claims of the papers, and their verdicts.

use std::fmt::Write as _;

use divvy_lab::{Claim, Reproduction, Tolerance, Value, Verdict};
use divvy_results::text;

use crate::output::Output;

const BOLD: anstyle::Style = anstyle::Style::new().bold();
/// A wider text is printed on its own lines.
const CELL_COLUMNS: usize = 15;
/// Columns that a claim's name has at least.
const LEAST_NAME: usize = 20;

/// The figures that run in a kernel.
pub fn kernel_ids() -> Vec<&'static str> {
    divvy_lab::kernel::figures().iter().map(|figure| figure.id).collect()
}

/// One figure's claims for people.
pub fn table(one: &Reproduction, columns: usize) -> String {
    let small = if one.small { ", the small version" } else { "" };
    let title = format!("{}: {}{small} (papers/{}.md)", one.figure.id, one.figure.title, one.figure.page());
    let mut out = format!("{BOLD}{}{BOLD:#}\n\n", text::wrap(&title, columns, 2));
    let head = ["claim", "source", "expected", "measured", "verdict"];
    draw_table(&mut out, head, one.claims.iter(), (columns, LEAST_NAME), cells, below);
    let _ = writeln!(out, "{}", summary(one.claims.iter()));
    sources(&mut out, one.claims.iter(), columns);
    if !one.also.is_empty() {
        let _ = writeln!(out, "\nmeasured as well");
        for (name, value) in &one.also {
            let _ = writeln!(out, "{}", text::wrap(&format!("  {name}: {value}"), columns, 4));
        }
    }
    out
}

/// Counts of the verdicts, as in `3 claims: 1 ok, 2 undecided`.
pub fn summary<'a>(claims: impl Iterator<Item = &'a Claim> + Clone) -> String {
    use Verdict::{Missing, NotJudged, NotReproduced, Reproduced, Undecided};
    let mut parts = Vec::new();
    for (verdict, name) in [
        (Reproduced, "ok"),
        (NotReproduced, "not met"),
        (Missing, "missing"),
        (Undecided, "undecided"),
        (NotJudged, "full only"),
    ] {
        let count = claims.clone().filter(|claim| claim.verdict == verdict).count();
        if count > 0 {
            parts.push(format!("{count} {name}"));
        }
    }
    let count = claims.count();
    let claim = if count == 1 { "claim" } else { "claims" };
    format!("{count} {claim}: {}", parts.join(", "))
}

/// How many of a figure's claims have such a verdict, as in `2 of 4 claims of sfs-6b`; `None` if none has.
pub fn counted<'a>(
    id: &str,
    claims: impl Iterator<Item = &'a Claim> + Clone,
    is_such: impl Fn(Verdict) -> bool,
) -> Option<String> {
    let count = claims.clone().filter(|claim| is_such(claim.verdict)).count();
    (count > 0).then(|| format!("{count} of {} claims of {id}", claims.count()))
}

/// Says on stderr how many claims of which figures are undecided: that is neither a failure nor a success.
pub fn note_undecided(figures: &[String], output: Output) {
    if !figures.is_empty() {
        output.note(&format!("undecided: {}", figures.join(", ")));
    }
}

/// Where the values of the column "expected" come from, each once, and the reasons of the tolerances.
pub fn sources<'a>(out: &mut String, claims: impl Iterator<Item = &'a Claim>, columns: usize) {
    let mut lines: Vec<String> = Vec::new();
    for claim in claims {
        for line in [Some(source(claim)), basis(claim)].into_iter().flatten() {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    out.push_str("\nsources and tolerances\n");
    for line in lines {
        let _ = writeln!(out, "{}", text::wrap(&format!("  {line}"), columns, 4));
    }
}

/// Where the expected value comes from.
pub fn source(claim: &Claim) -> String {
    format!("{}: {}", claim.source.kind(), claim.source.detail())
}

/// The tolerance with its reason, if it has one.
pub fn basis(claim: &Claim) -> Option<String> {
    claim.basis.as_ref().map(|basis| format!("{}: {basis}", claim.tolerance))
}

/// The paper's value with its tolerance, as in `900 ±2`.
pub fn stated(claim: &Claim) -> String {
    match (&claim.stated, claim.tolerance) {
        (stated, Tolerance::Exact | Tolerance::Sampling(_)) => stated.to_string(),
        (stated, tolerance) => format!("{stated} {tolerance}"),
    }
}

fn cells(claim: &Claim) -> [String; 5] {
    let cell = |text: String, other: &str| {
        if text::width(&text) > CELL_COLUMNS { other.to_owned() } else { text }
    };
    let is_sequence = matches!(claim.measured.value, Value::Text(_));
    let same = if is_sequence && claim.verdict == Verdict::Reproduced { "the same" } else { "below" };
    [
        claim.name.clone(),
        claim.source.kind().to_owned(),
        cell(stated(claim), "below"),
        cell(claim.measured.to_string(), same),
        claim.verdict.to_string(),
    ]
}

/// A row for each claim, and what stands below it. The column of names takes the width that the others leave, and has so many columns at
/// least.
pub fn draw_table<'a, const N: usize, C: 'a>(
    out: &mut String,
    head: [&str; N],
    claims: impl Iterator<Item = &'a C> + Clone,
    (columns, least_name): (usize, usize),
    cells: impl Fn(&C) -> [String; N],
    below: impl Fn(&mut String, &C, usize),
) {
    let head = head.map(str::to_owned);
    let rows: Vec<[String; N]> = claims.clone().map(cells).collect();
    let width = |i: usize| rows.iter().chain([&head]).map(|row| text::width(&row[i])).max().unwrap_or(0);
    let others: usize = (1..N).map(|i| width(i) + 2).sum();
    let mut widths = std::array::from_fn(width);
    widths[0] = widths[0].min(columns.saturating_sub(others).max(least_name));
    draw_row(out, &head, &widths);
    for (claim, row) in claims.zip(&rows) {
        draw_row(out, row, &widths);
        below(out, claim, columns);
    }
}

/// A row whose last cell is not padded, and whose first is broken to its width.
fn draw_row<const N: usize>(out: &mut String, row: &[String; N], widths: &[usize; N]) {
    let wrapped = text::wrap(&row[0], widths[0], 2);
    let (first, rest) = wrapped.split_once('\n').unwrap_or((&wrapped, ""));
    let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text::width(text)));
    let mut line = format!("{first}{}  {}{}", pad(first, widths[0]), row[1], pad(&row[1], widths[1]));
    for (cell, width) in row[2..N - 1].iter().zip(&widths[2..N - 1]) {
        let _ = write!(line, "  {}{cell}", pad(cell, *width));
    }
    let _ = writeln!(out, "{line}  {}", row[N - 1]);
    if !rest.is_empty() {
        let _ = writeln!(out, "{rest}");
    }
}

/// Prints long values, and the reason of a verdict.
fn below(out: &mut String, claim: &Claim, columns: usize) {
    let [_, _, expected, measured, _] = cells(claim);
    let mut indented = |line: String| {
        let _ = writeln!(out, "{}", text::wrap(&line, columns, 6));
    };
    if expected == "below" {
        indented(format!("    expected: {}", stated(claim)));
    }
    if measured == "below" {
        indented(format!("    measured: {}", claim.measured));
    }
    if let Some(analysis) = claim.analysis.as_ref().filter(|_| claim.verdict != Verdict::Missing) {
        indented(format!("    {analysis}"));
    }
}

#[cfg(test)]
mod tests {
    use divvy_lab::{Setting, find, reproduce};

    use super::*;

    fn small(id: &str) -> Reproduction {
        let setting = Setting { small: true, seed: 1, progress: &(), saved: None };
        reproduce(find(id).expect("a figure"), &setting).expect("it runs")
    }

    #[test]
    fn tables_fit_in_80_columns_and_name_each_source() {
        for id in ["sfs-1", "sfs-6a", "procfair-3", "flow-6", "pbs-3"] {
            let one = small(id);
            let table = table(&one, 80);
            for line in table.lines() {
                let shown = line.replace(&BOLD.to_string(), "").replace(&format!("{BOLD:#}"), "");
                assert!(text::width(&shown) <= 80, "{id}: {shown}");
            }
            for claim in &one.claims {
                assert!(table.contains(&format!("  {}: ", claim.source.kind())), "{id}: {}", claim.name);
            }
        }
    }

    #[test]
    fn the_summary_counts_what_is_undecided() {
        let one = small("sfs-6b");
        assert!(
            !one.fails() && summary(one.claims.iter()).contains("undecided"),
            "{}",
            summary(one.claims.iter())
        );
    }
}
