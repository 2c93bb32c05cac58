//! A run as textbooks show it: a table of its jobs, who ran when with the times between, and each decision with its reason.

use std::fmt::Write as _;

use divvy_policy::{Failure, FailureKind};
use divvy_results::report::{Report, Run, TaskResult};
use divvy_results::schedule::{Decision, Schedule, Slice, decisions};
use divvy_results::text;

use crate::view::table::{ABSENT, Cell, Column, Page, TIMES, Table};
use crate::view::terminal;

/// Slices of a CPU that are drawn: more are no picture.
const MOST_SLICES: usize = 200;
/// Between the borders of a box there are at least a space, a letter and a space.
const NARROWEST_BOX: usize = 3;
/// The name of a CPU's time in which nobody runs.
const IDLE: &str = "idle";

/// A workload that is no list of jobs.
#[derive(Debug, thiserror::Error)]
#[error(
    "--textbook shows jobs that come once and run without a pause, and under {policy} {}; leave out --textbook", what.escape_debug()
)]
pub struct NoJobs {
    policy: String,
    what: String,
}

impl Failure for NoJobs {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

/// Draws each run within `columns`; with the first `decisions` decisions of each CPU.
///
/// # Errors
/// If a task has several jobs, or sleeps within one.
pub fn draw(report: &Report, decisions: usize, columns: usize, styled: bool) -> Result<String, NoJobs> {
    let mut out = String::new();
    for run in &report.runs {
        let Some(schedule) = &run.schedule else { continue };
        check(run)?;
        let heading = format!("{}: {}", text::escape(&run.policy), title(&run.policy));
        let heading = heading.trim_end_matches([' ', ':']).to_owned();
        let (table, mut notes) = table(run);
        if schedule.is_cut {
            notes.push("there were too many events, so the schedule is cut".to_owned());
        }
        let mut tables = vec![table];
        if decisions > 0 {
            tables.push(reasons(schedule, decisions));
        }
        let page =
            Page { heading, quality: Vec::new(), tables, notes, summary: None, first_decisions: Vec::new() };
        out.push_str(&terminal::draw(&page, columns, styled));
        for (cpu, slices) in schedule.cpus.iter().enumerate() {
            out.push('\n');
            if schedule.cpus.len() > 1 {
                let _ = writeln!(out, "CPU {cpu}");
            }
            gantt(&mut out, schedule, slices, columns);
        }
        out.push('\n');
    }
    Ok(out)
}

fn title(spec: &str) -> &'static str {
    let name = spec.split(['+', ':']).next().unwrap_or_default();
    divvy_policy::find(name).map_or("", |policy| policy.title)
}

/// The numbers of a table belong to one job.
fn check(run: &Run) -> Result<(), NoJobs> {
    let wrong = |task: &TaskResult, what: &str| {
        Err(NoJobs { policy: run.policy.clone(), what: format!("{} {what}", task.name) })
    };
    for task in &run.tasks {
        match (task.jobs, task.wake_delay_ns.count) {
            (2.., _) => return wrong(task, "has several"),
            (_, 2..) => return wrong(task, "pauses"),
            _ => {}
        }
    }
    Ok(())
}

/// Milliseconds, exactly up to a thousandth.
fn ms(ns: f64) -> String {
    let text = format!("{:.3}", ns / 1e6);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A job's arrival, burst, completion, turnaround, waiting and response, and their means as the run has them.
fn table(run: &Run) -> (Table, Vec<String>) {
    let done = |task: &TaskResult| task.finished_ns.zip(task.response_ns.max).filter(|_| task.jobs == 1);
    let column = |head, cells: Vec<Option<f64>>, mean: Option<f64>| {
        let cells = cells.into_iter().chain([mean]).map(|ns| ns.map_or_else(|| ABSENT.to_owned(), ms));
        (Column::number([head, ""], TIMES), cells.map(Cell::plain).collect::<Vec<_>>())
    };
    let of = |value: &dyn Fn(&TaskResult, f64, f64) -> Option<f64>| -> Vec<Option<f64>> {
        let one = |task| done(task).and_then(|(end, turnaround)| value(task, end as f64, turnaround));
        run.tasks.iter().map(one).collect()
    };
    let columns = vec![
        column("arrival", of(&|_, end, turnaround| Some(end - turnaround)), None),
        column("burst", of(&|task, _, _| Some(task.service_ns as f64)), None),
        column("completion", of(&|_, end, _| Some(end)), None),
        column("turnaround", of(&|_, _, turnaround| Some(turnaround)), run.response_ns.mean),
        column("waiting", of(&|task, _, _| task.wait_ns.max), run.wait_ns.mean),
        column("response", of(&|task, _, _| task.wake_delay_ns.max), run.wake_delay_ns.mean),
    ];
    let names = run.tasks.iter().map(|task| text::escape(&task.name)).chain(["mean".to_owned()]).collect();
    let unfinished = run.tasks.iter().filter(|task| done(task).is_none()).count();
    let mut notes = vec!["all times in ms".to_owned()];
    if unfinished > 0 {
        notes.push(format!(
            "{unfinished} jobs did not end: means are of those that did (--duration is longer)"
        ));
    }
    (Table::of_columns(None, ("job", names), columns), notes)
}

/// Parts of a CPU's time, with what it did.
fn parts<'a>(schedule: &'a Schedule, slices: &[Slice]) -> Vec<(u64, u64, &'a str)> {
    let mut parts = Vec::new();
    let mut at_ns = schedule.from_ns;
    for slice in slices {
        if slice.from_ns > at_ns {
            parts.push((at_ns, slice.from_ns, IDLE));
        }
        parts.push((slice.from_ns, slice.to_ns, &*schedule.tasks[slice.task as usize].name));
        at_ns = slice.to_ns;
    }
    parts
}

/// Boxes with names, and under their borders the times, in as many lines as it takes.
fn gantt(out: &mut String, schedule: &Schedule, slices: &[Slice], columns: usize) {
    let parts = parts(schedule, &slices[..slices.len().min(MOST_SLICES)]);
    let total_ns: u64 = parts.iter().map(|(from_ns, to_ns, _)| to_ns - from_ns).sum();
    let names: Vec<String> = parts.iter().map(|part| text::fit(&text::escape(part.2), 20)).collect();
    let least = |i: usize| {
        let time = text::width(&ms(parts[i].0 as f64));
        (text::width(&names[i]) + 2).max(time).max(NARROWEST_BOX)
    };
    let needed: usize = (0..parts.len()).map(|i| least(i) + 1).sum();
    let last = parts.last().map_or(0, |part| text::width(&ms(part.1 as f64)));
    let spare = columns.saturating_sub(needed + last) as u64;
    let (mut boxes, mut times) = (String::new(), String::new());
    let flush = |out: &mut String, boxes: &mut String, times: &mut String, end_ns: u64| {
        while text::width(times) < text::width(boxes) {
            times.push(' ');
        }
        let _ = writeln!(out, "{boxes}|\n{times}{}", ms(end_ns as f64));
        boxes.clear();
        times.clear();
    };
    for (i, (from_ns, to_ns, _)) in parts.iter().enumerate() {
        // The room that is left over is divided as time is.
        let share = u128::from(spare) * u128::from(to_ns - from_ns) / u128::from(total_ns.max(1));
        let width = least(i) + share as usize;
        if !boxes.is_empty() && text::width(&boxes) + 1 + width + last > columns {
            flush(out, &mut boxes, &mut times, *from_ns);
        }
        while text::width(&times) < text::width(&boxes) {
            times.push(' ');
        }
        times.push_str(&ms(*from_ns as f64));
        let name = &names[i];
        let left = (width - text::width(name)) / 2;
        let right = width - text::width(name) - left;
        let _ = write!(boxes, "|{}{name}{}", " ".repeat(left), " ".repeat(right));
    }
    if let Some((_, end_ns, _)) = parts.last() {
        flush(out, &mut boxes, &mut times, *end_ns);
    }
    if slices.len() > MOST_SLICES {
        let _ = writeln!(out, "the first {MOST_SLICES} of {} slices", slices.len());
    }
}

/// When somebody else got a CPU, and why.
fn reasons(schedule: &Schedule, most: usize) -> Table {
    let name = |task: u32| text::escape(&schedule.tasks[task as usize].name);
    let rows = decisions(schedule, most);
    let one_cpu = schedule.cpus.len() == 1;
    let times = rows.iter().map(|row| ms(row.at_ns as f64)).collect();
    let cells = |of: &dyn Fn(&Decision) -> String| rows.iter().map(|row| Cell::plain(of(row))).collect();
    let mut columns: Vec<(Column, Vec<Cell>)> = Vec::new();
    if !one_cpu {
        columns.push((Column::name("CPU"), cells(&|row| row.cpu.to_string())));
    }
    columns.push((Column::name("runs"), cells(&|row| name(row.task))));
    columns.push((Column::name("because"), cells(&|row| row.because(name))));
    Table::of_columns(Some("decisions"), ("time", times), columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use divvy_policy::quantity::parse_time_ns;
    use divvy_policy::spec;
    use divvy_results::csv;
    use divvy_results::schedule::Window;
    use divvy_sim::run::{Options, simulate};

    use crate::args::jobs::Jobs;

    fn report(jobs: &str, policy: &str, quantum: &str) -> Report {
        let workload = jobs.parse::<Jobs>().expect("jobs").workload().expect("a workload");
        let specs = [spec::parse(policy, divvy_policy::all()).expect("a spec")];
        let quantum_ns = (!quantum.is_empty()).then(|| parse_time_ns(quantum).expect("a time") as u64);
        let options = Options { quantum_ns, schedule: Some(Window::WHOLE), ..Options::default() };
        simulate(&workload, &specs, &options, &()).expect("a run")
    }

    /// A column of the table, without its mean; and that.
    fn column(table: &Table, head: &str) -> (String, String) {
        let at = table.columns.iter().position(|column| column.head == [head]).expect("a column");
        let mut cells: Vec<&str> = table.rows.iter().map(|row| row[at].text.as_str()).collect();
        let mean = cells.pop().expect("a mean").to_owned();
        (cells.join(" "), mean)
    }

    /// The numbers are those that textbooks print; an empty field is one that the book does not state.
    #[test]
    fn the_textbooks_numbers_come_out_task_by_task() {
        let text = include_str!("textbook.csv");
        let records = csv::records(text);
        assert!(records.len() > 20, "{}", records.len());
        let mut compared = 0;
        for record in &records[1..] {
            let [source, policy, quantum, jobs, numbers @ ..] = &record.fields[..] else {
                panic!("{record:?}")
            };
            let report = report(jobs, policy, quantum);
            let (table, _) = table(&report.runs[0]);
            for (at, head) in ["completion", "turnaround", "waiting", "response"].into_iter().enumerate() {
                let (cells, mean) = column(&table, head);
                let means = at.checked_sub(1).map(|at| &numbers[4 + at]);
                for (stated, got) in [(Some(&numbers[at]), cells), (means, mean)] {
                    if let Some(stated) = stated.filter(|stated| !stated.is_empty()) {
                        assert_eq!(&got, stated, "{head} of {jobs} under {policy} {quantum} ({source})");
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 50, "{compared}");
    }

    #[test]
    fn the_chart_has_times_between_and_the_decisions_their_reasons() {
        let report = report("P1:0:8,P2:1:4,P3:14:1", "srpt", "");
        let drawn = draw(&report, 9, 60, false).expect("jobs");
        let lines: Vec<&str> = drawn.lines().collect();
        let boxes =
            lines.iter().position(|line| line.starts_with("| ") || line.starts_with("|P")).expect("a chart");
        let names: Vec<&str> =
            lines[boxes].split('|').map(str::trim).filter(|name| !name.is_empty()).collect();
        assert_eq!(names, ["P1", "P2", "P1", "idle", "P3"]);
        let times: Vec<&str> = lines[boxes + 1].split_whitespace().collect();
        assert_eq!(times, ["0", "1", "5", "12", "14", "15"]);
        // Each time stands under its border.
        let borders: Vec<usize> = lines[boxes].match_indices('|').map(|(at, _)| at).collect();
        let starts: Vec<usize> =
            times.iter().map(|time| lines[boxes + 1].find(time).expect("there")).collect();
        assert_eq!(borders[1..3], starts[1..3]);
        for reason in [
            "P1 comes, and the CPU is idle",
            "P2 comes, and is before P1",
            "P2 ends",
            "P3 comes, and the CPU is idle",
        ] {
            assert!(drawn.contains(reason), "{reason}: {drawn}");
        }
        let rr = draw(&self::report("P1:0:8,P2:0:4", "rr", "4ms"), 9, 60, false).expect("jobs");
        assert!(rr.contains("the slice of P1 is over"), "{rr}");
    }

    #[test]
    fn a_long_run_takes_several_lines() {
        let jobs: Vec<String> = (0..9).map(|i| format!("job{i}:0:20")).collect();
        let drawn = draw(&report(&jobs.join(","), "rr", "4ms"), 0, 60, false).expect("jobs");
        let drawn = anstream::adapter::strip_str(&drawn).to_string();
        assert!(drawn.lines().all(|line| text::width(line) <= 60), "{drawn}");
        assert!(drawn.lines().filter(|line| line.starts_with("|")).count() > 3, "{drawn}");
    }
}
