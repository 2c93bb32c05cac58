//! Every figure and table of the papers: the figure that reproduces it, or why there is none.

use std::fmt::Write as _;

use divvy_lab::{Listed, Status, all_of_the_papers};
use divvy_results::{csv as values, text};
use serde_json::json;

const BOLD: anstyle::Style = anstyle::Style::new().bold();
/// A reason is printed once for all that have it.
const INDENT: usize = 4;

/// For people: paper by paper, then the reasons.
pub fn table(columns: usize) -> String {
    let all = all_of_the_papers();
    let width = |of: fn(&Listed) -> &str| all.iter().map(|one| text::width(of(one))).max().unwrap_or(0);
    let (number, title) = (width(|one| one.number), width(|one| one.title));
    let mut reasons: Vec<&str> = Vec::new();
    let mut out = String::new();
    let mut paper = "";
    for one in all {
        if one.paper != paper {
            paper = one.paper;
            let between = if out.is_empty() { "" } else { "\n" };
            let _ = writeln!(out, "{between}{BOLD}{paper}{BOLD:#} (papers/{paper}.md)");
        }
        let by = match one.status {
            Status::By(id) => id.to_owned(),
            Status::Not(reason) => format!("- [{}]", place(&mut reasons, reason)),
        };
        let line = format!("  {:number$}  {:title$}  {by}", one.number, one.title);
        let _ = writeln!(out, "{}", text::fit(&line, columns));
    }
    out.push_str("\nNot reproduced\n");
    for (i, reason) in reasons.iter().enumerate() {
        let _ = writeln!(out, "{}", text::wrap(&format!("[{}] {reason}", i + 1), columns, INDENT));
    }
    out
}

/// The number of a reason, from 1.
fn place(reasons: &mut Vec<&'static str>, reason: &'static str) -> usize {
    let at = reasons.iter().position(|other| *other == reason).unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    });
    at + 1
}

/// For programs.
pub fn json() -> serde_json::Result<String> {
    let one = |one: &Listed| {
        let (id, reason) = parts(one);
        json!({ "page": format!("papers/{}.md", one.paper), "number": one.number, "title": one.title, "id": id, "reason": reason })
    };
    let all: Vec<_> = all_of_the_papers().iter().map(one).collect();
    Ok(serde_json::to_string_pretty(&json!({ "schema_version": 1, "all_figures": all }))? + "\n")
}

/// One row for each.
pub fn csv() -> String {
    let header = values::record(&["paper", "number", "title", "id", "reason"].map(str::to_owned));
    let record = |one: &Listed| {
        let (id, reason) = parts(one);
        let texts = [one.paper, one.number, one.title, id.unwrap_or_default(), reason.unwrap_or_default()];
        values::record(&texts.map(str::to_owned))
    };
    header + &all_of_the_papers().iter().map(record).collect::<String>()
}

fn parts(one: &Listed) -> (Option<&'static str>, Option<&'static str>) {
    match one.status {
        Status::By(id) => (Some(id), None),
        Status::Not(reason) => (None, Some(reason)),
    }
}
