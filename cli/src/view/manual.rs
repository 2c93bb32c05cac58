//! A page in Markdown for a terminal: headings, paragraphs, lists, code, and tables that fit its width.
//!
//! It reads only the Markdown that `docs/` uses. Emphasis is marked with two characters of no width while lines are
//! wrapped, and that become escape sequences at the end.

use divvy_results::text;

/// Before and after what is emphasised.
const ON: char = '\u{2060}';
const OFF: char = '\u{2063}';
const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// Indent of everything but headings.
const INDENT: usize = 2;
/// Indent of text under a term, and of code.
const DEEPER: usize = 6;
/// Between columns of a table.
const GAP: usize = 2;
/// A table whose columns would be narrower than this becomes a list.
const NARROWEST: usize = 16;

/// Renders the page in this many columns, with escape sequences for emphasis.
pub fn render(markdown: &str, columns: usize) -> String {
    let mut out = String::new();
    for block in blocks(markdown) {
        if !out.is_empty() {
            out.push('\n');
        }
        let text = match block {
            Block::Heading(title) => format!("{}\n", emphasised(&title)),
            Block::Text(text) => line(&inline(&text), columns, INDENT, INDENT),
            Block::List(items) => items.iter().map(|item| list_item(item, columns)).collect(),
            Block::Code(lines) => lines.iter().map(|code| format!("{:DEEPER$}{code}\n", "")).collect(),
            Block::Table(rows) => table(&rows, columns),
        };
        out.push_str(&text);
    }
    out.replace(ON, &BOLD.render().to_string()).replace(OFF, &BOLD.render_reset().to_string())
}

// ---- from Markdown ----

enum Block {
    Heading(String),
    Text(String),
    /// Each with its mark: `-`, or a number.
    List(Vec<(String, String)>),
    Code(Vec<String>),
    /// The first row is the head.
    Table(Vec<Vec<String>>),
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with("```") {
            found.push(Block::Code(
                lines.by_ref().take_while(|line| *line != "```").map(str::to_owned).collect(),
            ));
        } else if line.starts_with('#') {
            found.push(Block::Heading(line.trim_start_matches('#').trim().to_owned()));
        } else {
            let mut paragraph = vec![line];
            while let Some(next) = lines.next_if(|next| continues(next)) {
                paragraph.push(next);
            }
            found.push(block(&paragraph));
        }
    }
    found
}

fn continues(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with("```") && !line.starts_with('#')
}

fn block(lines: &[&str]) -> Block {
    if lines[0].starts_with('|') {
        let rows = lines.iter().filter(|line| !line.starts_with("|---"));
        return Block::Table(rows.map(|line| cells(line)).collect());
    }
    if mark(lines[0]).is_none() {
        return Block::Text(lines.join(" "));
    }
    let mut items: Vec<(String, String)> = Vec::new();
    for line in lines {
        match (mark(line), items.last_mut()) {
            (Some((mark, rest)), _) => items.push((mark.to_owned(), rest.to_owned())),
            (None, Some((_, item))) => *item = format!("{item} {}", line.trim()),
            (None, None) => {}
        }
    }
    Block::List(items)
}

/// The mark of an item of a list, and what follows.
fn mark(line: &str) -> Option<(&str, &str)> {
    let (mark, rest) = line.split_once(' ')?;
    let is_number = mark.strip_suffix('.').is_some_and(|digits| digits.parse::<u32>().is_ok());
    (mark == "-" || is_number).then_some((mark, rest))
}

fn cells(line: &str) -> Vec<String> {
    // An escaped bar is part of a cell.
    let row = line.trim().trim_start_matches('|').replace("\\|", "\0");
    let row = row.strip_suffix('|').unwrap_or(&row);
    row.split('|').map(|cell| inline(&cell.trim().replace('\0', "|"))).collect()
}

/// Emphasis and code are marked, word by word; of links only their text is left.
fn inline(source: &str) -> String {
    let mut out = String::new();
    let mut rest = source;
    while let Some(at) = rest.find(['`', '*', '[']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (shown, after) = span(from);
        out.push_str(&shown);
        rest = after;
    }
    out + rest
}

/// The text from a mark on, as it is shown, and the rest.
fn span(from: &str) -> (String, &str) {
    let between = |open: &str, close: &str| {
        let inside = from.strip_prefix(open)?;
        inside.split_once(close).filter(|(inside, _)| !inside.is_empty())
    };
    if let Some((inside, after)) = between("**", "**").or_else(|| between("`", "`")) {
        return (emphasised(inside), after);
    }
    if let Some((label, after)) = between("[", "](") {
        let after = after.split_once(')').map_or("", |(_, after)| after);
        return (inline(label), after);
    }
    let (first, after) = from.split_at(1);
    (first.to_owned(), after)
}

fn emphasised(text: &str) -> String {
    let word = |word: &str| if word.is_empty() { String::new() } else { format!("{ON}{word}{OFF}") };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

// ---- to a terminal ----

/// Wrapped; its first line is indented by `first`, the others by `rest`.
fn line(marked: &str, columns: usize, first: usize, rest: usize) -> String {
    text::wrap(&format!("{:first$}{marked}", ""), columns, rest) + "\n"
}

fn list_item((mark, item): &(String, String), columns: usize) -> String {
    line(&format!("{mark} {}", inline(item)), columns, INDENT, INDENT + mark.len() + 1)
}

/// Side by side if that fits, else with lines that wrap inside the columns, or row by row if these were too narrow.
fn table(rows: &[Vec<String>], columns: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let room = columns.saturating_sub(INDENT + GAP * count.saturating_sub(1));
    let natural: Vec<usize> = (0..count).map(|column| widest(rows, column, text::width)).collect();
    let widths = share(&natural, room);
    let is_cut = |(natural, width): (&usize, &usize)| natural > width && *width < NARROWEST;
    if natural.iter().zip(&widths).any(is_cut) || (count > 3 && natural != widths) {
        return records(rows, columns);
    }
    let head = rows.first().map(|head| head.iter().map(|cell| emphasised(cell)).collect());
    let lines = head.into_iter().chain(rows.iter().skip(1).cloned());
    lines.map(|row: Vec<String>| table_row(&row, &widths)).collect()
}

fn widest(rows: &[Vec<String>], column: usize, of: impl Fn(&str) -> usize) -> usize {
    rows.iter().filter_map(|row| row.get(column)).map(|cell| of(cell)).max().unwrap_or(0)
}

/// Each column gets its natural width if there is room; else the wide ones share what the narrow ones leave.
fn share(natural: &[usize], room: usize) -> Vec<usize> {
    let mut widths = natural.to_vec();
    let mut open: Vec<usize> = (0..natural.len()).collect();
    let mut left = room;
    loop {
        let fair = left / open.len().max(1);
        let (narrow, wide): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|&&column| natural[column] <= fair);
        if narrow.is_empty() {
            wide.iter().for_each(|&column| widths[column] = fair);
            return widths;
        }
        left -= narrow.iter().map(|&column| natural[column]).sum::<usize>();
        open = wide;
    }
}

fn table_row(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<Vec<String>> = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| text::wrap(cell, *width, 0).lines().map(str::to_owned).collect())
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    for at in 0..height {
        let mut line = " ".repeat(INDENT);
        for (cell, width) in cells.iter().zip(widths) {
            let part = cell.get(at).map_or("", String::as_str);
            let pad = (width + GAP).saturating_sub(text::width(part));
            line.push_str(part);
            line.push_str(&" ".repeat(pad));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Each row as a term, its first cell, with the other cells under it.
fn records(rows: &[Vec<String>], columns: usize) -> String {
    let Some((head, rows)) = rows.split_first() else { return String::new() };
    let names = head.iter().skip(1).map(|name| text::width(name)).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let term = row.first().map_or("", String::as_str);
        out.push_str(&line(term, columns, INDENT, INDENT));
        for (name, cell) in head.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty()) {
            let pad = " ".repeat(names.saturating_sub(text::width(name)) + GAP);
            // Wrapped without its name, so that the padding stays.
            let indent = DEEPER + names + GAP;
            let cell = text::wrap(&format!("{:indent$}{cell}", ""), columns, indent);
            out.push_str(&format!("{:DEEPER$}{name}{pad}{}\n", "", cell.trim_start_matches(' ')));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(markdown: &str, columns: usize) -> String {
        anstream::adapter::strip_str(&render(markdown, columns)).to_string()
    }

    #[test]
    fn paragraphs_and_lists_are_wrapped_under_their_headings() {
        let page = "# A page\n\nOne *two* [three](four.md)\nfive `six`.\n\n- seven eight nine\n- ten\n";
        assert_eq!(
            shown(page, 16),
            "A page\n\n  One *two*\n  three five\n  six.\n\n  - seven eight\n    nine\n  - ten\n"
        );
    }

    #[test]
    fn emphasis_is_bold_word_by_word() {
        assert_eq!(render("**a b** c\n", 80), "  \u{1b}[1ma\u{1b}[0m \u{1b}[1mb\u{1b}[0m c\n");
    }

    #[test]
    fn code_is_as_it_is() {
        assert_eq!(shown("```toml\na = [ 1,\n  2 ]\n```\n", 8), "      a = [ 1,\n        2 ]\n");
    }

    const TABLE: &str =
        "| key | kind | meaning |\n|---|---|---|\n| `a` | x \\| y | one two three four five six |\n";

    #[test]
    fn a_table_that_fits_is_drawn_as_one() {
        assert_eq!(shown(TABLE, 60), "  key  kind   meaning\n  a    x | y  one two three four five six\n");
    }

    #[test]
    fn a_wide_table_wraps_its_last_column() {
        assert_eq!(
            shown(TABLE, 32),
            "  key  kind   meaning\n  a    x | y  one two three four\n              five six\n"
        );
    }

    #[test]
    fn a_table_without_room_becomes_a_list() {
        assert_eq!(
            shown(TABLE, 26),
            "  a\n      kind     x | y\n      meaning  one two\n               three four\n               five six\n"
        );
    }
}
