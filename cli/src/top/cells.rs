//! Rows as text, with as many columns as fit.

use divvy_results::text;

use super::rows::{By, Column, Row};
use crate::view::picture::Bar;

/// Less of a name says little.
const SHORTEST_NAME: usize = 10;
/// A name longer than this may be cut to make room for a bar.
const LONG_NAME: usize = 32;

/// Columns in the order in which they are left out when they do not fit.
const LEAST_FIRST: [Column; 9] = [
    Column::Turns,
    Column::Effective,
    Column::User,
    Column::Wait,
    Column::Error,
    Column::Weight,
    Column::Entitled,
    Column::Pid,
    Column::Received,
];

/// The columns of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    by: By,
    columns: Vec<Column>,
    /// Width of the bar, in columns; 0 without a bar.
    bar: usize,
    name: usize,
}

impl Layout {
    /// For a table of this width.
    pub fn new(width: usize, by: By) -> Self {
        let has = |column: &Column| match by {
            By::Thread | By::Process => true,
            By::User | By::Cgroup => *column != Column::User,
        };
        let mut columns: Vec<Column> = Column::ALL.into_iter().filter(has).collect();
        columns.retain(|column| *column != Column::Name);
        let used = |columns: &[Column]| columns.iter().map(|column| self::width(*column) + 1).sum::<usize>();
        for column in LEAST_FIRST {
            if used(&columns) + SHORTEST_NAME > width {
                columns.retain(|other| *other != column);
            }
        }
        let room = width.saturating_sub(used(&columns));
        let bar = Bar::width(room.saturating_sub(LONG_NAME), 1);
        let name = room.saturating_sub(if bar > 0 { bar + 1 } else { 0 });
        Self { by, columns, bar, name }
    }

    /// The columns' titles.
    pub fn head(&self, sort: Column, is_inverted: bool) -> String {
        let marked = |column: Column| {
            let mark = if is_inverted { "^" } else { "*" };
            let title = title(column, self.by);
            if column == sort { format!("{mark}{title}") } else { title.to_owned() }
        };
        let bar = "share".to_owned();
        self.join(marked, bar, &marked(Column::Name))
    }

    /// A row. With bars of lines if it is styled, else in ASCII.
    pub fn line(&self, row: &Row, is_styled: bool) -> String {
        let share = Bar { length: row.received_share, mark: row.entitled_share };
        let bar = if self.bar > 0 { share.draw(self.bar, is_styled) } else { String::new() };
        self.join(|column| cell(row, column, self.by), bar, &text::escape(&row.name))
    }

    fn join(&self, cell: impl Fn(Column) -> String, bar: String, name: &str) -> String {
        let mut line = String::new();
        for column in &self.columns {
            let width = width(*column);
            let cell = text::fit(&cell(*column), width);
            let pad = " ".repeat(width - text::width(&cell));
            line += &if *column == Column::User { cell + &pad } else { pad + &cell };
            line.push(' ');
        }
        if self.bar > 0 {
            line += &format!("{bar:width$} ", width = self.bar);
        }
        line + &text::fit(name, self.name)
    }
}

fn width(column: Column) -> usize {
    match column {
        Column::User => 8,
        Column::Pid | Column::Weight | Column::Effective | Column::Error | Column::Wait => 7,
        Column::Entitled | Column::Received | Column::Turns => 6,
        Column::Name => SHORTEST_NAME,
    }
}

/// No wider than the column, with a mark before it.
fn title(column: Column, by: By) -> &'static str {
    match column {
        Column::Pid if by == By::Thread => "TID",
        Column::Pid if by == By::Process => "PID",
        Column::Pid => "THREADS",
        Column::User => "USER",
        Column::Weight => "WEIGHT",
        Column::Effective => "EFFECT",
        Column::Entitled => "ENTL%",
        Column::Received => "RECV%",
        Column::Error => "ERROR",
        Column::Wait => "WAIT",
        Column::Turns => "TURN/s",
        Column::Name => match by {
            By::Thread => "THREAD",
            By::Process => "PROCESS",
            By::User => "USER",
            By::Cgroup => "CGROUP",
        },
    }
}

fn cell(row: &Row, column: Column, by: By) -> String {
    let percent = |share: f64| format!("{:.2}", share * 100.0);
    match column {
        Column::Pid if matches!(by, By::User | By::Cgroup) => row.threads.to_string(),
        Column::Pid => row.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
        Column::User => row.user.as_deref().map_or_else(|| "-".to_owned(), text::escape),
        Column::Weight => weight(row.weight),
        Column::Effective => weight(row.effective_weight),
        Column::Entitled => percent(row.entitled_share),
        Column::Received => percent(row.received_share),
        Column::Error => text::time(row.error_ns as f64),
        Column::Wait => row.wait_ns().map_or_else(|| "-".to_owned(), text::time),
        Column::Turns => text::count(row.turns_per_second),
        Column::Name => text::escape(&row.name),
    }
}

/// Whole, or with a fraction where it is small; a large one is rounded.
fn weight(weight: f64) -> String {
    match weight {
        _ if weight.fract() == 0.0 && weight < 1e7 => format!("{weight:.0}"),
        _ if weight < 1e3 => format!("{weight:.2}"),
        _ if weight < 1e5 => format!("{weight:.1}"),
        _ => text::count(weight),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::super::users::Users;
    use super::*;

    fn table(width: usize, by: By) -> Vec<String> {
        let layout = Layout::new(width, by);
        let mut rows = rows::rows(&rows::tests::interval(), by, &Users::default());
        rows::sort(&mut rows, Column::Received, false);
        let lines = rows.iter().map(|row| layout.line(row, false));
        std::iter::once(layout.head(Column::Received, false)).chain(lines).collect()
    }

    #[test]
    fn eighty_columns_have_everything() {
        let lines = table(80, By::Thread);
        assert_eq!(
            lines[..2],
            [
                "    TID USER      WEIGHT  EFFECT  ENTL% *RECV%   ERROR    WAIT TURN/s THREAD",
                "     12 0           1024     512  25.00  45.00   400ms  3.00ms     20 web",
            ]
        );
        assert_eq!(
            lines[3],
            "     20 77          1024     512  25.00  15.00  -200ms  3.00ms     20 日本\\u{1b…"
        );
    }

    #[test]
    fn no_line_is_too_wide_however_narrow_it_is() {
        for by in [By::Thread, By::Process, By::User, By::Cgroup] {
            for width in 0..220 {
                for line in table(width, by) {
                    assert!(text::width(&line) <= width, "{width}: {line}");
                }
            }
        }
        assert_eq!(table(25, By::Thread)[1], "     12  45.00 web", "thread, received, name");
        assert!(table(140, By::Cgroup)[1].contains("===="), "a bar");
    }

    #[test]
    fn weights_fit() {
        for (value, text) in
            [(1024.0, "1024"), (0.5, "0.50"), (341.333, "341.33"), (1365.33, "1365.3"), (1e8, "100M")]
        {
            assert_eq!(weight(value), text);
        }
    }
}
