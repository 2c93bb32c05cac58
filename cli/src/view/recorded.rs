//! Recorded threads, without any policy: rows of latencies, and one turn on a CPU after the other.

use std::fmt::Write as _;

use divvy_results::text;
use divvy_trace::{Latency, Recording, Spread, Turn, state_letter};

use crate::output::Output;
use crate::view::table::{ABSENT, Cell, Column, Page, SERVICE, TIMES, Table};
use crate::view::terminal;

/// Order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By CPU time.
    Cpu,
    /// By mean latency.
    Mean,
    /// By its 99th percentile.
    P99,
    /// By the longest.
    Max,
    /// By the time without a CPU.
    Waited,
    /// By the number of runs.
    Runs,
}

const NS_A_SECOND: u64 = 1_000_000_000;

/// Bytes that are written at once.
const CHUNK: usize = 1 << 16;

/// Writes a head and lines, a part at a time: a recording has millions.
pub fn write_lines(head: String, lines: impl Iterator<Item = String>, output: Output) -> anyhow::Result<()> {
    let mut chunk = head;
    for line in lines {
        chunk += &line;
        if chunk.len() >= CHUNK {
            output.write(&chunk, None)?;
            chunk.clear();
        }
    }
    output.write(&chunk, None)
}

/// The rows for people.
pub fn latency_table(name: &str, recording: &Recording, rows: &[Latency], columns: usize) -> String {
    let quality = &recording.quality;
    let span = text::time(recording.span_ns as f64);
    let mut lines = vec![format!("recording: grade {:?} of A to D", quality.grade())];
    lines.extend(quality.findings().into_iter().map(|finding| format!("  {}", text::escape(&finding.text))));
    let page = Page {
        heading: format!("{} on {}, {span}", text::escape(name), text::cpus(recording.cpus)),
        quality: lines,
        tables: vec![table(rows, recording.origin_ns)],
        notes: vec!["latency: from a wake-up or the birth to the CPU; at: when the longest ended, by the recording's clock".to_owned()],
        summary: None,
        first_decisions: Vec::new(),
    };
    terminal::draw(&page, columns, false)
}

fn table(rows: &[Latency], origin_ns: u64) -> Table {
    let column = |head: [&str; 2], group, cell: &dyn Fn(&Latency) -> String| {
        (Column::number(head, group), rows.iter().map(|row| Cell::plain(cell(row))).collect())
    };
    let time = |ns: u64| text::time(ns as f64);
    let of = |cell: fn(&Spread) -> u64| {
        move |row: &Latency| {
            if row.delay.count == 0 { ABSENT.to_owned() } else { text::time(cell(&row.delay) as f64) }
        }
    };
    let at = |row: &Latency| match row.delay.count {
        0 => ABSENT.to_owned(),
        _ => seconds(origin_ns.saturating_add(row.longest_ended_ns), 6),
    };
    let names = rows.iter().map(|row| row_name(&row.name, row.tid, row.threads)).collect();
    let columns = vec![
        column(["CPU", "time"], SERVICE, &|row| time(row.run_ns)),
        column(["", "runs"], SERVICE, &|row| text::count(row.runs as f64)),
        column(["migra-", "tions"], SERVICE, &|row| text::count(row.migrations as f64)),
        column(["", "waited"], TIMES, &|row| time(row.wait_ns)),
        column(["wake-", "ups"], TIMES, &|row| text::count(row.delay.count as f64)),
        column(["latency", "mean"], TIMES, &of(|delay| delay.mean_ns)),
        column(["latency", "p99"], TIMES, &of(|delay| delay.p99_ns)),
        column(["latency", "max"], TIMES, &of(|delay| delay.max_ns)),
        column(["", "at (s)"], TIMES, &at),
    ];
    Table::of_columns(None, ("task", names), columns)
}

/// As perf writes it: the number of a thread, or how many there are.
pub(super) fn row_name(name: &str, tid: Option<impl std::fmt::Display>, threads: u64) -> String {
    let name = text::escape(name);
    match tid {
        Some(tid) => format!("{name}:{tid}"),
        None => format!("{name}:({threads})"),
    }
}

/// The rows for programs.
pub fn latency_csv(rows: &[Latency]) -> String {
    let mut out = "task,tid,threads,run_ns,runs,migrations,wait_ns,wakes,latency_mean_ns,latency_p50_ns,latency_p99_ns,latency_max_ns,longest_ended_ns\n".to_owned();
    for row in rows {
        let (name, tid) = (csv_text(&row.name), row.tid.map_or(String::new(), |tid| tid.to_string()));
        let _ = write!(
            out,
            "{name},{tid},{},{},{},{},{},{}",
            row.threads, row.run_ns, row.runs, row.migrations, row.wait_ns, row.delay.count
        );
        let delay = row.delay;
        let _ = match delay.count {
            0 => writeln!(out, ",,,,,"),
            _ => writeln!(
                out,
                ",{},{},{},{},{}",
                delay.mean_ns, delay.p50_ns, delay.p99_ns, delay.max_ns, row.longest_ended_ns
            ),
        };
    }
    out
}

pub(super) fn csv_text(name: &str) -> String {
    let name = text::escape(name);
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name }
}

/// The head of the lines of turns.
pub fn turn_head(csv: bool) -> String {
    if csv {
        return "end_ns,cpu,task,tid,process,wait_ns,latency_ns,run_ns,left,inferred\n".to_owned();
    }
    format!(
        "{:>16} {:>4}  {:30} {:>10} {:>10} {:>10}  left\n{:>16} {:>4}  {:30} {:>10} {:>10} {:>10}\n",
        "time (s)",
        "CPU",
        "task[thread/process]",
        "wait",
        "latency",
        "run",
        "",
        "",
        "",
        "(ms)",
        "(ms)",
        "(ms)"
    )
}

/// One turn on a CPU.
pub fn turn_line(turn: &Turn, recording: &Recording, csv: bool) -> String {
    let thread = &recording.threads[turn.thread];
    let left = turn.left.map_or("", |state| state_letter(state).unwrap_or("?"));
    if csv {
        let process = thread.process.map_or(String::new(), |process| process.to_string());
        let delay = turn.delay_ns.map_or(String::new(), |ns| ns.to_string());
        return format!(
            "{},{},{},{},{process},{},{delay},{},{left},{}\n",
            turn.end_ns,
            turn.cpu,
            csv_text(&thread.name),
            thread.tid,
            turn.wait_ns,
            turn.run_ns,
            u8::from(turn.inferred)
        );
    }
    let name = text::escape(&thread.name);
    let name = match thread.process.filter(|process| *process != thread.tid) {
        Some(process) => format!("{name}[{}/{process}]", thread.tid),
        None => format!("{name}[{}]", thread.tid),
    };
    let mark = if turn.inferred { "*" } else { "" };
    let padding = " ".repeat(30_usize.saturating_sub(text::width(&name)));
    format!(
        "{:>16} {:>4}  {name}{padding} {:>10} {:>10} {:>10}  {left}{mark}\n",
        seconds(recording.origin_ns.saturating_add(turn.end_ns), 6),
        turn.cpu,
        millis(turn.wait_ns),
        turn.delay_ns.map_or(ABSENT.to_owned(), millis),
        millis(turn.run_ns),
    )
}

/// Seconds with so many decimals, cut.
pub fn seconds(ns: u64, decimals: usize) -> String {
    let fraction = format!("{:09}", ns % NS_A_SECOND);
    format!("{}.{}", ns / NS_A_SECOND, &fraction[..decimals])
}

/// Milliseconds with three decimals, cut as perf does.
fn millis(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000, ns / 1000 % 1000)
}
