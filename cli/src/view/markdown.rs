//! A page as Markdown (the dialect with pipe tables).

use std::fmt::Write as _;

use crate::view::table::{Column, FirstDecisions, Page, Table};

/// Writes the page as Markdown.
pub fn write(page: &Page) -> String {
    let mut out = format!("**{}**\n", escape(&page.heading));
    for line in &page.quality {
        let depth = if line.starts_with("  ") { "  - " } else { "- " };
        let start = if std::ptr::eq(line, &page.quality[0]) { "\n" } else { "" };
        push(&mut out, &format!("{start}{depth}{}", escape(line.trim_start())));
    }
    for (index, table) in page.tables.iter().enumerate() {
        push(&mut out, "");
        if let Some(title) = &table.title {
            push(&mut out, &format!("**{}**\n", escape(title)));
        }
        table_to(&mut out, table);
        if index == 0 && !page.notes.is_empty() {
            push(&mut out, &format!("\n{}", escape(&page.notes.join("; "))));
        }
    }
    for decisions in &page.first_decisions {
        push(&mut out, "");
        decisions_to(&mut out, decisions);
    }
    if let Some(summary) = &page.summary {
        push(&mut out, &format!("\nSummary: {}", escape(summary)));
    }
    out
}

fn table_to(out: &mut String, table: &Table) {
    let columns = || table.columns.iter().filter(|column| !column.is_picture);
    let heads: Vec<String> = columns().map(|column| escape(&head(column))).collect();
    push(out, &format!("| {} |", heads.join(" | ")));
    let rules: Vec<&str> = columns().map(|column| if column.is_number { "---:" } else { "---" }).collect();
    push(out, &format!("| {} |", rules.join(" | ")));
    for row in &table.rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&table.columns)
            .filter(|(_, column)| !column.is_picture)
            .map(
                |(cell, _)| {
                    if cell.is_best { format!("**{}**", escape(&cell.text)) } else { escape(&cell.text) }
                },
            )
            .collect();
        push(out, &format!("| {} |", cells.join(" | ")));
    }
}

/// `migra-` over `tions` is one word, so is a policy's spec, and others are several.
fn head(column: &Column) -> String {
    column.head.iter().fold(String::new(), |head, line| match head.strip_suffix('-') {
        Some(start) => format!("{start}{line}"),
        None if head.is_empty() || line.starts_with([':', '+']) => format!("{head}{line}"),
        None => format!("{head} {line}"),
    })
}

fn decisions_to(out: &mut String, decisions: &FirstDecisions) {
    push(out, &format!("**{}**\n", escape(&decisions.title)));
    push(out, "| CPU | decisions |\n| ---: | --- |");
    for (cpu, names) in decisions.cpus.iter().enumerate() {
        let _ = writeln!(out, "| {cpu} | {} |", escape(&names.join(" ")));
    }
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// Text is on one line already; what Markdown or HTML would read as markup gets a backslash.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '#' | '~') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::page::{PageOptions, page};
    use divvy_results::samples;

    #[test]
    fn a_comparison() {
        let report = samples::endless(&[("gr3", 8), ("rr", 80)]);
        let text = write(&page(&report, &PageOptions::default()));
        let head =
            "| policy | service error max | error factor | Jain index | CPU used | switches | decisions |";
        assert!(text.contains(head), "{text}");
        assert!(text.contains("| gr3 | **8.00ms** | 1 | **0.9999** | 99.5% | 1234 | 56.8k |"), "{text}");
        assert!(text.contains("| rr | 80.0ms | 10.00x | 0.9000 | 99.5% | 1234 | 56.8k |"), "{text}");
    }

    #[test]
    fn hostile_names_make_no_markup_and_no_columns() {
        let text =
            write(&page(&samples::hostile(), &PageOptions { all_tasks: true, ..PageOptions::default() }));
        assert!(text.contains("| pipe \\| \\`code\\` \\<b\\>bold\\</b\\> |"), "{text}");
        assert!(!text.contains('\x1b') && !text.contains('\u{202e}'));
        for line in text.lines().filter(|line| line.starts_with('|')) {
            let unescaped = line.replace("\\\\", "").replace("\\|", "");
            assert!([4, 6, 11, 15].contains(&unescaped.matches('|').count()), "{line}");
        }
    }

    #[test]
    fn a_recording_lists_its_findings() {
        let text = write(&page(&samples::replayed(Some(0.05)), &PageOptions::default()));
        assert!(text.contains("\n\n- recording: grade B of A to D\n  - 37 switches of 12000"), "{text}");
        assert!(
            text.contains(
                "- 1000 wake-ups: 60% by another task, 25% by a timer, 10% from outside, 5% unknown"
            )
        );
    }
}
