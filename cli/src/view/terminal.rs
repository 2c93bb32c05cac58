//! A page for the terminal, within its width.

use std::ops::Range;

use comfy_table::{
    Attribute, Cell as Drawn, CellAlignment, ContentArrangement, LineStyle, Table as Drawing, TableStyle,
};
use divvy_results::text;

use crate::view::picture::{self, Picture};
use crate::view::table::{FirstDecisions, NOTHING, Page, Table};

/// Between columns.
const WIDE_GAP: usize = 2;

/// Between columns, where a table fits only so.
const NARROW_GAP: usize = 1;

/// A row's name is not cut below this, if need be at the cost of one more block of columns.
const NARROWEST_NAME: usize = 16;

/// A line of the page, before it is made to fit.
enum Line {
    /// Fits already, or is several lines that do.
    Whole(String),
    /// Is cut at the last column.
    Cut(String),
    /// Goes on in lines with this indent.
    Wrapped(String, usize),
}

impl Line {
    fn fitted(&self, columns: usize) -> String {
        match self {
            Line::Whole(text) => text.clone(),
            Line::Cut(text) => text::fit(text, columns),
            Line::Wrapped(text, indent) => text::wrap(text, columns, *indent),
        }
    }
}

/// Draws the page in `columns` columns, with escape sequences for emphasis: strip them where they do not belong.
pub fn draw(page: &Page, columns: usize, styled: bool) -> String {
    let head = std::iter::once(&page.heading).chain(&page.quality);
    let mut lines: Vec<Line> =
        head.map(|line| Line::Wrapped(line.clone(), leading_spaces(line) + 2)).collect();
    for (index, table) in page.tables.iter().enumerate() {
        lines.push(Line::Whole(String::new()));
        lines.extend(table.title.clone().map(Line::Cut));
        table_lines(table, columns, styled, &mut lines);
        if index == 0 && !page.notes.is_empty() {
            lines.push(Line::Wrapped(page.notes.join("; "), 2));
        }
    }
    for decisions in &page.first_decisions {
        lines.push(Line::Whole(String::new()));
        decision_lines(decisions, &mut lines);
    }
    if let Some(summary) = &page.summary {
        lines.push(Line::Whole(String::new()));
        lines.push(Line::Wrapped(format!("Summary: {summary}"), 2));
    }
    lines.iter().map(|line| line.fitted(columns) + "\n").collect()
}

fn leading_spaces(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// One table if it fits, else blocks of columns under each other, each with the columns that name rows; then the legend of pictures.
fn table_lines(table: &Table, columns: usize, styled: bool, lines: &mut Vec<Line>) {
    let layout = Layout::of(table, columns, styled);
    let meaning = table.meaning.as_ref().filter(|_| layout.has_pictures());
    let blocks: Vec<String> =
        layout.blocks(columns).iter().map(|block| layout.draw(block, columns)).collect();
    lines.push(Line::Whole(blocks.join("\n\n")));
    lines.extend(meaning.map(|text| Line::Wrapped(text.clone(), 2)));
}

/// A table and what its cells ask of their columns.
struct Layout<'a> {
    table: &'a Table,
    /// Width of the widest cell or head line.
    widths: Vec<usize>,
    /// Columns in which one cell is marked as the best.
    marked: Vec<bool>,
    /// Between columns.
    gap: usize,
    /// Width of the pictures beside cells; 0 if there is no room.
    picture_width: usize,
    styled: bool,
}

impl<'a> Layout<'a> {
    fn of(table: &'a Table, columns: usize, styled: bool) -> Self {
        let is_marked = |index: usize| table.rows.iter().any(|row| row[index].is_best);
        let marked: Vec<bool> = (0..table.columns.len()).map(is_marked).collect();
        let widths = table.columns.iter().enumerate().map(|(index, column)| {
            let head = column.head.iter().map(|line| text::width(line));
            let mark = usize::from(marked[index]);
            let cells = table.rows.iter().map(|row| text::width(&row[index].text) + mark);
            head.chain(cells).max().unwrap_or(0)
        });
        let widths = widths.collect();
        let mut layout = Self { table, widths, marked, gap: NARROW_GAP, picture_width: 0, styled };
        let fits_only_narrow = layout.fits(columns) && {
            layout.gap = WIDE_GAP;
            !layout.fits(columns)
        };
        layout.gap = if fits_only_narrow { NARROW_GAP } else { WIDE_GAP };
        layout.make_room_for_pictures(columns);
        layout
    }

    /// Pictures take the rest of the line if it is enough: they never break a table up.
    fn make_room_for_pictures(&mut self, columns: usize) {
        let room = columns.saturating_sub(self.keys_width() + self.width_of(self.values()));
        let pictured: Vec<usize> = self.values().filter(|&index| self.picture_in(index).is_some()).collect();
        let first = pictured.first().and_then(|&index| self.picture_in(index));
        let width = first.map_or(0, |picture| picture.width(room, pictured.len()));
        if width > 0 {
            self.picture_width = width;
            pictured.into_iter().for_each(|index| self.widths[index] += width + 1);
        }
    }

    /// The first of a column.
    fn picture_in(&self, index: usize) -> Option<&'a Picture> {
        self.table.rows.iter().find_map(|row| row[index].picture.as_ref())
    }

    /// Beside numbers, or instead of them.
    fn has_pictures(&self) -> bool {
        self.picture_width > 0 || self.table.columns.iter().any(|column| column.is_picture)
    }

    fn fits(&self, columns: usize) -> bool {
        self.keys_width() + self.width_of(self.values()) <= columns
    }

    /// The columns that do not name rows.
    fn values(&self) -> Range<usize> {
        self.table.keys..self.widths.len()
    }

    /// Width of the columns that name rows.
    fn keys_width(&self) -> usize {
        self.width_of(0..self.table.keys) - self.gap
    }

    /// Width of these columns with the gaps before them.
    fn width_of(&self, block: Range<usize>) -> usize {
        self.widths[block].iter().map(|width| self.gap + width).sum()
    }

    /// Widths of the columns that name rows, in so much room. Names are cut if need be, but not below a limit.
    fn fitted_keys(&self, room: usize) -> Vec<usize> {
        let mut over = self.keys_width().saturating_sub(room);
        let fitted = |key: usize| {
            let width = self.widths[key];
            let may_cut =
                if self.table.columns[key].is_number { 0 } else { width.saturating_sub(NARROWEST_NAME) };
            let cut = over.min(may_cut);
            over -= cut;
            width - cut
        };
        (0..self.table.keys).map(fitted).collect()
    }

    /// Width of the columns that name rows, if all names are cut.
    fn least_keys_width(&self) -> usize {
        self.fitted_keys(0).iter().sum::<usize>() + self.gap * (self.table.keys - 1)
    }

    /// Columns side by side: all if they fit; else as many whole groups as fit beside a cut name,
    /// and parts of a group only where it does not.
    fn blocks(&self, columns: usize) -> Vec<Range<usize>> {
        let count = self.table.columns.len();
        let mut blocks = Vec::new();
        let mut start = self.table.keys;
        for index in start + 1..count {
            let needed = if self.begins_group(index) { self.group(index) } else { index..index + 1 };
            let fits = self.least_keys_width() + self.width_of(start..needed.end) <= columns;
            if !fits && !self.fits(columns) {
                blocks.push(start..index);
                start = index;
            }
        }
        blocks.push(start..count);
        blocks
    }

    fn begins_group(&self, index: usize) -> bool {
        self.table.columns[index].group != self.table.columns[index - 1].group
    }

    fn group(&self, first: usize) -> Range<usize> {
        let group = self.table.columns[first].group;
        let rest = self.table.columns[first..].iter();
        first..first + rest.take_while(|column| column.group == group).count()
    }

    fn draw(&self, block: &Range<usize>, columns: usize) -> String {
        let room = columns.saturating_sub(self.width_of(block.clone()));
        let key_widths = self.fitted_keys(room);
        let chosen = || (0..self.table.keys).chain(block.clone());
        let mut drawing = Drawing::new();
        drawing
            .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')))
            .set_content_arrangement(ContentArrangement::Disabled)
            .enforce_styling()
            .set_header(self.heads(chosen()));
        for row in (0..self.table.rows.len()).filter(|row| self.has_something(*row, block)) {
            drawing.add_row(chosen().map(|index| self.cell(row, index, key_widths.get(index))));
        }
        drawing.style_text_only();
        for (column, index) in drawing.column_iter_mut().zip(chosen()) {
            column.set_padding((if index == 0 { 0 } else { self.gap as u16 }, 0));
            if self.table.columns[index].is_number {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines: Vec<String> = drawing.lines().map(|line| trimmed(&line)).collect();
        lines.join("\n")
    }

    /// On as many lines as the highest needs, at the bottom of them.
    fn heads(&self, columns: impl Iterator<Item = usize> + Clone) -> Vec<Drawn> {
        let head = |index: usize| &self.table.columns[index].head;
        let height = columns.clone().map(|index| head(index).len()).max().unwrap_or(0);
        let lines = |index| "\n".repeat(height - head(index).len()) + &head(index).join("\n");
        columns.map(|index| Drawn::new(lines(index)).add_attribute(Attribute::Bold)).collect()
    }

    /// A row to which no column of the block applies is left out of it.
    fn has_something(&self, row: usize, block: &Range<usize>) -> bool {
        self.table.rows[row][block.clone()].iter().any(|cell| cell.text != NOTHING)
    }

    /// A mark takes a place in every cell of its column, so that digits stay under each other.
    fn cell(&self, row: usize, index: usize, key_width: Option<&usize>) -> Drawn {
        let cell = &self.table.rows[row][index];
        match (key_width, cell.is_best) {
            (Some(width), _) => Drawn::new(text::fit(&cell.text, *width)),
            (_, true) => Drawn::new(format!("{}*", cell.text)).add_attribute(Attribute::Bold),
            (_, false) if self.marked[index] => Drawn::new(format!("{} ", cell.text)),
            (_, false) if self.table.columns[index].is_picture => {
                Drawn::new(picture::histogram(&cell.text, self.styled))
            }
            (_, false) => match cell.picture.as_ref().filter(|_| self.picture_width > 0) {
                Some(picture) => {
                    Drawn::new(format!("{} {}", picture.draw(self.picture_width, self.styled), cell.text))
                }
                None => Drawn::new(&cell.text),
            },
        }
    }
}

/// Removes trailing spaces, and empty emphasis that could hide them.
fn trimmed(line: &str) -> String {
    line.replace("\x1b[1m\x1b[0m", "").trim_end().to_owned()
}

fn decision_lines(decisions: &FirstDecisions, lines: &mut Vec<Line>) {
    lines.push(Line::Cut(decisions.title.clone()));
    for (cpu, names) in decisions.cpus.iter().enumerate() {
        let label = format!("  CPU {cpu}:");
        let indent = label.len() + 1;
        lines.push(Line::Wrapped(format!("{label} {}", names.join(" ")), indent));
    }
}
