//! Threads of this machine that were watched: how long they ran and waited.

use std::fmt::Write as _;

use divvy_kernel::stock::{Waits, Watched};
use divvy_results::text;

use crate::view::recorded::csv_text;
use crate::view::table::{ABSENT, Cell, Column, Page, SERVICE, TIMES, Table};
use crate::view::terminal;

/// The rows for people.
pub fn table(watched: &Watched, rows: &[Waits], columns: usize) -> String {
    let seen = watched.seen().map(|part| {
        // A tick more or less makes it more than all.
        let part = text::percent(part.min(1.0), 0);
        format!("these threads used {part} of the CPU time that programs used")
    });
    let page = Page {
        heading: format!(
            "this machine, {}, {}",
            text::cpus(watched.cpus),
            text::time(watched.duration_ns as f64)
        ),
        quality: seen.into_iter().collect(),
        tables: vec![waits(rows)],
        notes: vec![
            "waited: runnable without a CPU, before turns that began; longest: a wait was at least so long"
                .to_owned(),
        ],
        summary: None,
        first_decisions: Vec::new(),
    };
    terminal::draw(&page, columns, false)
}

fn waits(rows: &[Waits]) -> Table {
    let column = |head: [&str; 2], group, cell: &dyn Fn(&Waits) -> String| {
        (Column::number(head, group), rows.iter().map(|row| Cell::plain(cell(row))).collect())
    };
    let time = |ns: u64| text::time(ns as f64);
    let names = rows.iter().map(name).collect();
    let columns = vec![
        column(["CPU", "time"], SERVICE, &|row| time(row.ran_ns)),
        column(["", "turns"], SERVICE, &|row| text::count(row.turns as f64)),
        column(["", "waited"], TIMES, &|row| time(row.waited_ns)),
        column(["wait", "mean"], TIMES, &|row| row.mean_ns().map_or(ABSENT.to_owned(), time)),
        column(["wait", "longest"], TIMES, &|row| {
            row.mean_ns().map_or(ABSENT.to_owned(), |_| time(row.longest_ns))
        }),
    ];
    Table::of_columns(None, ("task", names), columns)
}

/// The number of a thread, or how many there are.
fn name(row: &Waits) -> String {
    let name = text::escape(&row.name);
    match row.tid {
        Some(tid) => format!("{name}:{tid}"),
        None => format!("{name}:({})", row.threads),
    }
}

/// The rows for programs.
pub fn csv(rows: &[Waits]) -> String {
    let mut out = "task,tid,threads,run_ns,turns,wait_ns,wait_mean_ns,wait_longest_ns\n".to_owned();
    for row in rows {
        let tid = row.tid.map_or(String::new(), |tid| tid.to_string());
        let (mean, longest) = match row.mean_ns() {
            Some(mean) => (mean.to_string(), row.longest_ns.to_string()),
            None => (String::new(), String::new()),
        };
        let _ = writeln!(
            out,
            "{},{tid},{},{},{},{},{mean},{longest}",
            csv_text(&row.name),
            row.threads,
            row.ran_ns,
            row.turns,
            row.waited_ns
        );
    }
    out
}
