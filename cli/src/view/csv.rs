//! A report as CSV (RFC 4180): a row a policy, repetition and task; units in the columns' names.

use std::fmt::Write as _;

use divvy_results::csv::field;
use divvy_results::groups::{self, By};
use divvy_results::report::{Quantiles, Report, Run, TaskResult};

/// Columns of the run before its distributions.
const RUN: &str = "workload,cpus,seed,policy,rep,duration_ns,switches,migrations,decisions,utilization,jain";

/// Columns of the task after its name and before its distributions.
const TASK: &str = "process,weight,service_ns,entitled_ns,share,error_min_ns,error_max_ns,jobs,finished_ns";

/// Writes the report as CSV: the run's columns, then those of the task, or of a group of tasks with their number. What was not
/// measured is empty.
pub fn write(report: &Report, by: By) -> String {
    let (name, size) = match by {
        By::Task => ("task", ""),
        By::Class | By::Process => ("group", ",tasks"),
    };
    let mut out = RUN.to_owned();
    distribution_heads_to(&mut out, "run_");
    let _ = write!(out, ",{name},{TASK}");
    distribution_heads_to(&mut out, "");
    let _ = write!(out, ",deterministic{size}\r\n");
    for run in &report.runs {
        let sizes = groups::sizes(&run.tasks, by);
        for (task, size) in groups::totals(&run.tasks, by).iter().zip(sizes) {
            run_to(&mut out, report, run);
            task_to(&mut out, task);
            let _ = write!(out, ",{}", run.deterministic.map_or("", |is| if is { "true" } else { "false" }));
            if by != By::Task {
                let _ = write!(out, ",{size}");
            }
            out.push_str("\r\n");
        }
    }
    out
}

fn distribution_heads_to(out: &mut String, prefix: &str) {
    for (name, unit) in [("response", "_ns"), ("wait", "_ns"), ("wake_delay", "_ns"), ("slowdown", "")] {
        let _ = write!(out, ",{prefix}{name}_count");
        for number in ["mean", "ci95", "p50", "p90", "p99", "p999", "max"] {
            let _ = write!(out, ",{prefix}{name}_{number}{unit}");
        }
    }
}

fn run_to(out: &mut String, report: &Report, run: &Run) {
    let (workload, policy) = (field(&report.workload), field(&run.policy));
    let _ = write!(out, "{workload},{},{},{policy},{}", report.cpus, report.seed, run.rep);
    let _ = write!(out, ",{},{}", run.duration_ns, run.switches);
    for count in [run.migrations, run.decisions] {
        let _ = write!(out, ",{}", count.map_or_else(String::new, |count| count.to_string()));
    }
    let _ = write!(out, ",{},{}", run.utilization, run.jain);
    for distribution in [&run.response_ns, &run.wait_ns, &run.wake_delay_ns, &run.slowdown] {
        quantiles_to(out, distribution);
    }
}

fn task_to(out: &mut String, task: &TaskResult) {
    let _ = write!(out, ",{},{},{}", field(&task.name), field(&task.process), task.weight);
    let _ = write!(out, ",{},{},{}", task.service_ns, task.entitled_ns, task.share);
    let _ = write!(out, ",{},{},{},", task.error_min_ns, task.error_max_ns, task.jobs);
    if let Some(finished_ns) = task.finished_ns {
        let _ = write!(out, "{finished_ns}");
    }
    for distribution in [&task.response_ns, &task.wait_ns, &task.wake_delay_ns, &task.slowdown] {
        quantiles_to(out, distribution);
    }
}

fn quantiles_to(out: &mut String, q: &Quantiles) {
    let _ = write!(out, ",{}", q.count);
    for value in [q.mean, q.ci95, q.p50, q.p90, q.p99, q.p999, q.max] {
        out.push(',');
        if let Some(value) = value {
            let _ = write!(out, "{value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use divvy_results::samples;

    /// RFC 4180, read the plain way.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut value, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    value.push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => row.push(std::mem::take(&mut value)),
                '\r' if !quoted && chars.peek() == Some(&'\n') => {
                    chars.next();
                    row.push(std::mem::take(&mut value));
                    rows.push(std::mem::take(&mut row));
                }
                c => value.push(c),
            }
        }
        rows
    }

    #[test]
    fn hostile_names_come_back_as_they_were() {
        let report = samples::hostile();
        let rows = read(&write(&report, By::Task));
        assert_eq!(rows.len(), 1 + 12);
        let task = rows[0].iter().position(|head| head == "task").expect("a column");
        for (row, expected) in rows[1..].iter().zip(&report.runs[0].tasks) {
            assert_eq!(row.len(), rows[0].len());
            assert_eq!(row[0], "dir/\x1b[2Jevil\n.toml");
            assert_eq!(row[task], expected.name);
        }
    }

    #[test]
    fn groups_have_their_totals_and_sizes() {
        let rows = read(&write(&samples::two_policies(), By::Class));
        let column = |head: &str| rows[0].iter().position(|name| name == head).expect("a column");
        assert_eq!(rows.len(), 1 + 4);
        assert_eq!((rows[2][column("group")].as_str(), rows[2][column("tasks")].as_str()), ("small", "2"));
        assert_eq!(rows[2][column("weight")], "2");
        assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    }

    #[test]
    fn numbers_have_their_units_in_the_head_and_absent_ones_are_empty() {
        let rows = read(&write(&samples::two_policies(), By::Task));
        let value = |row: usize, head: &str| {
            let column = rows[0].iter().position(|name| name == head).expect("a column");
            rows[row][column].clone()
        };
        assert_eq!(value(1, "error_min_ns"), "-4000000");
        assert_eq!(value(1, "response_mean_ns"), "15000000");
        assert_eq!(value(1, "slowdown_mean"), "15");
        assert_eq!(value(1, "run_response_mean_ns"), "7500000");
        assert_eq!(value(3, "run_response_p99_ns"), "22000000");
        assert_eq!(value(3, "response_mean_ns"), "");
        assert_eq!(value(3, "finished_ns"), "");
        assert_eq!(value(3, "response_count"), "0");
    }
}
