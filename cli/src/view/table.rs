//! Tables of cells, and pages of tables, independent of the output's form. Views of results make them;
//! `terminal.rs` and `markdown.rs` draw them.

use divvy_results::text;

use crate::view::picture::Picture;

/// All that is shown of a report.
pub struct Page {
    /// The workload, machine and seed.
    pub heading: String,
    /// The quality of the recording, for a replay.
    pub quality: Vec<String>,
    /// The comparison first, then tasks against policies, then the tasks of each policy.
    pub tables: Vec<Table>,
    /// The meaning of marks, and a hint at what is not shown.
    pub notes: Vec<String>,
    /// A sentence that the comparison supports.
    pub summary: Option<String>,
    /// The first decisions of each policy and CPU.
    pub first_decisions: Vec<FirstDecisions>,
}

/// Columns and rows. The first column names the row.
pub struct Table {
    /// The title, if it has one.
    pub title: Option<String>,
    /// Left to right.
    pub columns: Vec<Column>,
    /// The number of first columns that name the row.
    pub keys: usize,
    /// Each row has as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// A legend for pictures; shown if they are drawn.
    pub meaning: Option<String>,
}

/// One column's head.
pub struct Column {
    /// The head's lines. A word may continue in the next line after a `-`, and a policy's spec before a `:` or `+`.
    pub head: Vec<String>,
    /// Numbers stand to the right.
    pub is_number: bool,
    /// When a table is too wide, columns of one group stay together.
    pub group: u8,
    /// Its cells are pictures in block characters, which other forms than a terminal's table leave out.
    pub is_picture: bool,
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Safe to print.
    pub text: String,
    /// Whether it is the best of its column.
    pub is_best: bool,
    /// Drawn beside the text if there is room.
    pub picture: Option<Picture>,
}

/// The first decisions of a policy.
pub struct FirstDecisions {
    /// The run's name.
    pub title: String,
    /// Task names, a list a CPU.
    pub cpus: Vec<Vec<String>>,
}

/// A value that was not measured.
pub const ABSENT: &str = "-";
/// The interval of a number that all repetitions, or all jobs, have alike.
pub const EXACT: &str = "=";

/// A value that this row cannot have.
pub const NOTHING: &str = "";

/// The group of columns on who got what.
pub const SERVICE: u8 = 0;
/// The group of columns on how long it took.
pub const TIMES: u8 = 1;
/// The group of columns on how far tasks went.
pub const DISTANCES: u8 = 2;

impl Column {
    /// The column that names the rows.
    pub fn name(head: &str) -> Self {
        Self { head: vec![head.to_owned()], is_number: false, group: SERVICE, is_picture: false }
    }

    /// A column of numbers.
    pub fn number(head: [&str; 2], group: u8) -> Self {
        let lines = head.into_iter().filter(|line| !line.is_empty());
        Self { head: lines.map(str::to_owned).collect(), is_number: true, group, is_picture: false }
    }

    /// A column of numbers of one policy.
    pub fn policy(spec: &str) -> Self {
        Self {
            head: text::spec_lines(&text::escape(spec)),
            is_number: true,
            group: SERVICE,
            is_picture: false,
        }
    }
}

impl Cell {
    /// A cell without a mark.
    pub fn plain(text: String) -> Self {
        Self { text, is_best: false, picture: None }
    }
}

impl Table {
    /// A table of columns, each with its cells from the top. The first column names the rows.
    pub fn of_columns(
        title: Option<&str>,
        (head, names): (&str, Vec<String>),
        columns: Vec<(Column, Vec<Cell>)>,
    ) -> Self {
        let mut rows: Vec<Vec<Cell>> = names.into_iter().map(|name| vec![Cell::plain(name)]).collect();
        let mut heads = vec![Column::name(head)];
        for (column, cells) in columns {
            heads.push(column);
            rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
        }
        Self { title: title.map(str::to_owned), columns: heads, keys: 1, rows, meaning: None }
    }

    /// Removes columns without measured values.
    pub fn without_empty_columns(mut self) -> Self {
        for index in (1..self.columns.len()).rev() {
            if self.rows.iter().all(|row| [ABSENT, NOTHING].contains(&row[index].text.as_str())) {
                self.columns.remove(index);
                for row in &mut self.rows {
                    row.remove(index);
                }
            }
        }
        self
    }
}
