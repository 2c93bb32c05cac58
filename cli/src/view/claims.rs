//! Claims of the papers, and their verdicts.

use std::fmt::Write as _;

use divvy_lab::{Claim, Figure, Reproduction, Value, Verdict};
use divvy_results::text;
use serde_json::json;

const BOLD: anstyle::Style = anstyle::Style::new().bold();
/// A wider text is printed on its own lines.
const CELL_COLUMNS: usize = 16;

/// All figures, a line each.
pub fn list(columns: usize) -> String {
    let figures = divvy_lab::all();
    let rows = figures.iter().map(|figure| {
        let times = [figure.seconds.0, figure.seconds.1].map(about);
        [figure.id.to_owned(), times[0].clone(), times[1].clone(), figure.title.to_owned(), needs(figure)]
    });
    let head = ["ID", "--small", "full", "claim", "policies"].map(str::to_owned);
    let rows: Vec<[String; 5]> = rows.collect();
    let widths: Vec<usize> = (0..4)
        .map(|i| rows.iter().chain([&head]).map(|row| text::width(&row[i])).max().unwrap_or(0))
        .collect();
    let line = |row: &[String; 5]| {
        let cells = format!(
            "{:w0$}  {:>w1$}  {:>w2$}  {:w3$}  {}",
            row[0],
            row[1],
            row[2],
            row[3],
            row[4],
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2],
            w3 = widths[3]
        );
        text::fit(cells.trim_end(), columns)
    };
    let mut out = format!("{BOLD}{}{BOLD:#}\n", line(&head));
    for row in &rows {
        let _ = writeln!(out, "{}", line(row));
    }
    out.push_str(
        "\ndivvy paper ID reproduces one, divvy paper all reproduces all. Times are approximate, on two cores.\n",
    );
    out
}

fn needs(figure: &Figure) -> String {
    figure.policies.join(" ")
}

fn about(seconds: u32) -> String {
    match seconds {
        0 => "<1s".to_owned(),
        1..90 => format!("{seconds}s"),
        _ => format!("{}min", (seconds + 30) / 60),
    }
}

/// The list for programs.
pub fn list_json() -> serde_json::Result<String> {
    let figure = |figure: &Figure| {
        json!({
            "id": figure.id,
            "title": figure.title,
            "page": format!("papers/{}.md", figure.page()),
            "policies": figure.policies,
            "seconds": { "small": figure.seconds.0, "full": figure.seconds.1 },
        })
    };
    let figures: Vec<_> = divvy_lab::all().iter().map(figure).collect();
    Ok(serde_json::to_string_pretty(&json!({ "schema_version": 1, "figures": figures }))? + "\n")
}

/// One figure's claims for people.
pub fn table(one: &Reproduction, columns: usize) -> String {
    let small = if one.small { ", the small version" } else { "" };
    let title = format!("{}: {}{small} (papers/{}.md)", one.figure.id, one.figure.title, one.figure.page());
    let mut out = format!("{BOLD}{}{BOLD:#}\n\n", text::wrap(&title, columns, 2));
    let head = ["claim", "paper", "measured", "tolerance", "verdict"].map(str::to_owned);
    let rows: Vec<[String; 5]> = one.claims.iter().map(cells).collect();
    let width = |i: usize| rows.iter().chain([&head]).map(|row| text::width(&row[i])).max().unwrap_or(0);
    let others: usize = (1..5).map(|i| width(i) + 2).sum();
    let name = width(0).min(columns.saturating_sub(others).max(20));
    let widths = [name, width(1), width(2), width(3), width(4)];
    draw_row(&mut out, &head, &widths);
    for (claim, row) in one.claims.iter().zip(&rows) {
        draw_row(&mut out, row, &widths);
        below(&mut out, claim, columns);
    }
    if !one.also.is_empty() {
        let _ = writeln!(out, "\nmeasured as well");
        for (name, value) in &one.also {
            let _ = writeln!(out, "{}", text::wrap(&format!("  {name}: {value}"), columns, 4));
        }
    }
    out
}

fn cells(claim: &Claim) -> [String; 5] {
    let cell = |text: String, other: &str| {
        if text::width(&text) > CELL_COLUMNS { other.to_owned() } else { text }
    };
    let same = if claim.verdict == Verdict::Reproduced { "the same" } else { "below" };
    [
        claim.name.clone(),
        cell(claim.printed.to_string(), "below"),
        cell(claim.measured.to_string(), same),
        claim.tolerance.to_string(),
        claim.verdict.to_string(),
    ]
}

fn draw_row(out: &mut String, row: &[String; 5], widths: &[usize; 5]) {
    let wrapped = text::wrap(&row[0], widths[0], 2);
    let (first, rest) = wrapped.split_once('\n').unwrap_or((&wrapped, ""));
    let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text::width(text)));
    let mut line = format!("{first}{}", pad(first, widths[0]));
    for (cell, width) in row[1..4].iter().zip(&widths[1..4]) {
        let _ = write!(line, "  {}{cell}", pad(cell, *width));
    }
    let _ = writeln!(out, "{line}  {}", row[4]);
    if !rest.is_empty() {
        let _ = writeln!(out, "{rest}");
    }
}

/// Prints long sequences, and the reason of a verdict.
fn below(out: &mut String, claim: &Claim, columns: usize) {
    let printed = claim.printed.to_string();
    let measured = claim.measured.to_string();
    let mut indented = |line: String| {
        let _ = writeln!(out, "{}", text::wrap(&line, columns, 6));
    };
    if text::width(&printed) > CELL_COLUMNS {
        indented(format!("    paper: {printed}"));
    }
    if text::width(&measured) > CELL_COLUMNS && claim.verdict != Verdict::Reproduced {
        indented(format!("    measured: {measured}"));
    }
    if let Some(analysis) = claim.analysis.as_ref().filter(|_| claim.verdict != Verdict::Missing) {
        indented(format!("    {analysis}"));
    }
}

/// For programs: one figure, or a list of all.
pub fn json(done: &[Reproduction], is_list: bool, seed: u64) -> serde_json::Result<String> {
    let figures: Vec<_> = done.iter().map(|one| figure_json(one, seed)).collect();
    let value = match figures.as_slice() {
        [one] if !is_list => one.clone(),
        _ => json!({ "schema_version": 1, "figures": figures }),
    };
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

fn figure_json(one: &Reproduction, seed: u64) -> serde_json::Value {
    let also = one.also.iter().map(|(name, value)| json!({ "name": name, "measured": value_json(value) }));
    json!({
        "schema_version": 1,
        "id": one.figure.id,
        "small": one.small,
        "seed": seed,
        "claims": one.claims.iter().map(claim_json).collect::<Vec<_>>(),
        "also": also.collect::<Vec<_>>(),
    })
}

/// `ok` is null where only the full version can tell.
fn claim_json(claim: &Claim) -> serde_json::Value {
    let ok = (claim.verdict != Verdict::NotJudged).then(|| !claim.verdict.is_failure());
    let mut value = json!({
        "name": claim.name,
        "paper": claim.printed.to_string(),
        "measured": value_json(&claim.measured),
        "tolerance": claim.tolerance.to_string(),
        "ok": ok,
    });
    if let divvy_lab::Printed::Number(number) = claim.printed {
        value["paper"] = json!(number);
    }
    if let Some(analysis) = &claim.analysis {
        value["analysis"] = json!(analysis);
    }
    value
}

fn value_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Number(number) => json!(number),
        other => json!(other.to_string()),
    }
}
