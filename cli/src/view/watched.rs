//! Threads of this machine that were watched: how long they ran and waited.

use std::fmt::Write as _;

use divvy_kernel::stock::{Waits, Watched};
use divvy_results::text;

use crate::view::recorded::{csv_text, row_name};
use crate::view::table::{ABSENT, Cell, Column, Page, SERVICE, TIMES, Table};
use crate::view::terminal;

/// The rows for people.
pub fn table(watched: &Watched, rows: &[Waits], columns: usize) -> String {
    let seen = watched.seen().map(|part| {
        // The kernel counts the two in different ways.
        let part = text::percent(part.min(1.0), 0);
        format!("these threads used about {part} of the CPU time that programs used")
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
            "waited: runnable without a CPU; max: the longest wait was about so long, or longer".to_owned(),
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
    let names = rows.iter().map(|row| row_name(&row.name, row.tid, row.threads)).collect();
    let columns = vec![
        column(["CPU", "time"], SERVICE, &|row| time(row.ran_ns)),
        column(["", "runs"], SERVICE, &|row| text::count(row.runs as f64)),
        column(["", "waited"], TIMES, &|row| time(row.waited_ns)),
        column(["wait", "mean"], TIMES, &|row| row.mean_ns().map_or(ABSENT.to_owned(), time)),
        column(["wait", "max"], TIMES, &|row| row.longest_ns.map_or(ABSENT.to_owned(), time)),
    ];
    Table::of_columns(None, ("task", names), columns)
}

/// The rows for programs.
pub fn csv(rows: &[Waits]) -> String {
    let mut out = "task,tid,threads,run_ns,runs,wait_ns,wait_mean_ns,wait_max_ns\n".to_owned();
    for row in rows {
        let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{}",
            csv_text(&row.name),
            number(row.tid.map(u64::from)),
            row.threads,
            row.ran_ns,
            row.runs,
            row.waited_ns,
            number(row.mean_ns()),
            number(row.longest_ns)
        );
    }
    out
}
