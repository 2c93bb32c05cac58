//! Statistics of a scheduler in the kernel over an interval.

use std::fmt::Write as _;

use divvy_kernel::load::{Period, Shard, TaskRow};
use divvy_results::text;
use serde_json::json;

use super::safe;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// Columns of a task's name.
const COMM_COLUMNS: usize = 15;

/// For people: the scheduler's counts, and the tasks that received the most.
pub fn table(interval: &Period, is_total: bool, columns: usize) -> String {
    let mut out = String::new();
    let head = if is_total { "whole run" } else { "interval" };
    let head = format!(
        "{head} of {}, {} after loading",
        text::time(interval.duration_ns as f64),
        text::time(interval.end_ns as f64)
    );
    let _ = writeln!(out, "{BOLD}{head}{BOLD:#}");
    for line in [rates(interval), troubles(interval)] {
        let _ = writeln!(out, "{}", text::wrap(&line, columns, 4));
    }
    for line in shards(interval) {
        let _ = writeln!(out, "{}", text::fit(&line, columns));
    }
    if interval.tasks.is_empty() {
        out.push_str("  no task received CPU time\n");
    } else {
        let _ = writeln!(out, "     pid  {:COMM_COLUMNS$}    weight  entitled  received      error", "task");
    }
    for task in &interval.tasks {
        let _ = writeln!(out, "{}", row(interval, task));
    }
    out.push('\n');
    out
}

/// Rates of events.
pub fn rates(interval: &Period) -> String {
    let counts = &interval.counts;
    let rate = |count| text::count(interval.rate(count));
    format!(
        "  a second: {} decisions, {} switches, {} wakes, {} kicks, {} kernel threads; {} tasks, {} runnable",
        rate(counts.decisions),
        rate(counts.switches),
        rate(counts.wakes),
        rate(counts.kicks),
        rate(counts.kernel_threads),
        counts.tasks,
        counts.runnable,
    )
}

/// Counts that are 0 most of the time, and the lock.
pub fn troubles(interval: &Period) -> String {
    let counts = &interval.counts;
    let wait = wait(interval.lock_wait_ns());
    let mut line = format!("  lock wait {wait} in the mean; kept {} turns", counts.kept);
    for (count, name) in [
        (counts.pinned, "pinned"),
        (counts.fallbacks, "fallbacks"),
        (counts.without_id, "tasks without an id"),
        (counts.rescues, "rescues"),
        (counts.held, "held"),
        (counts.missing, "missing"),
        (counts.late, "late"),
        (counts.faults, "FAULTS of the policy"),
        (counts.dropped, "records dropped"),
    ] {
        if count > 0 {
            let _ = write!(line, ", {count} {name}");
        }
    }
    line
}

fn wait(ns: Option<f64>) -> String {
    ns.map_or("-".to_owned(), text::time)
}

/// A line for each shard, if there are several, with their head.
pub fn shards(interval: &Period) -> Vec<String> {
    let line = |shard: &Shard| {
        let rate = |count| text::count(interval.rate(count));
        let counts = &shard.counts;
        format!(
            "  {:<14}  {:>11}  {:>8}  {:>10}  {:>9}  {:>9}",
            text::fit(&text::escape(&shard.cpus), 14),
            rate(counts.decisions),
            counts.runnable,
            rate(counts.moves),
            rate(counts.taken),
            wait(shard.lock_wait_ns()),
        )
    };
    let head = "  CPUs of shard   decisions/s  runnable  moved in/s    taken/s  lock wait";
    let head = (!interval.shards.is_empty()).then(|| head.to_owned());
    head.into_iter().chain(interval.shards.iter().map(line)).collect()
}

fn row(interval: &Period, task: &TaskRow) -> String {
    let name = if task.comm.is_empty() { "(ended)" } else { &task.comm };
    let name = text::fit(&text::escape(name), COMM_COLUMNS);
    let pid = if task.pid == 0 { "-".to_owned() } else { task.pid.to_string() };
    let pad = " ".repeat(COMM_COLUMNS.saturating_sub(text::width(&name)));
    format!(
        "{pid:>8}  {name}{pad}  {:>8}  {:>8}  {:>8}  {:>9}",
        text::plain(task.weight),
        text::percent(interval.share(task.entitled_ns), 2),
        text::percent(interval.share(task.received_ns), 2),
        text::time(task.error_ns as f64),
    )
}

/// For programs: one line. What a terminal would obey is escaped, which is the same in JSON.
pub fn json(interval: &Period, is_total: bool) -> serde_json::Result<String> {
    let value = json!({ "schema_version": 1, "total": is_total, "interval": interval });
    serde_json::to_string(&value).map(|line| safe::json(&line) + "\n")
}

#[cfg(test)]
mod tests {
    use divvy_kernel::load::ShardStats;

    use super::*;

    #[test]
    fn each_shard_has_a_line_below_the_head() {
        let counts = ShardStats {
            decisions: 123_456_789,
            runnable: 12_345_678,
            moves: 12_345,
            taken: 0,
            lock_samples: 2,
            lock_wait_ns: 3_000_000_000,
        };
        let shards = vec![Shard { cpus: "0-3,64-67,128-131,200".into(), counts }, Shard::default()];
        let interval = Period { duration_ns: 1_000_000_000, shards, ..Period::default() };
        let lines = super::shards(&interval);
        assert!(lines.iter().all(|line| text::width(line) == text::width(&lines[0])), "{lines:#?}");
        assert!(text::width(&lines[0]) <= 80, "{lines:#?}");
        assert_eq!(lines.len(), 3);
        assert!(lines[1].ends_with(" 1.50s") && lines[2].ends_with("-"), "{lines:#?}");
        assert_eq!(super::shards(&Period::default()), [""; 0]);
    }

    #[test]
    fn no_name_of_a_task_is_obeyed() {
        let comm = String::from_utf8_lossy(b"\x1b[2J\n\xc2\x9bA\xff\x7f").into_owned();
        let task = TaskRow { comm: comm.clone(), cgroup: format!("/{comm}"), ..TaskRow::default() };
        let interval = Period { tasks: vec![task], ..Period::default() };
        let shown = anstream::adapter::strip_str(&table(&interval, false, 80)).to_string();
        assert!(shown.lines().all(|line| !line.contains(text::is_obeyed)), "{shown:?}");
        assert!(shown.contains("  \\u{1b}[2J\\n"), "{shown}");
        let line = json(&interval, false).expect("JSON");
        assert!(!line.trim_end_matches('\n').contains(text::is_obeyed), "{line:?}");
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(value["interval"]["tasks"][0]["comm"], comm.as_str());
    }
}
