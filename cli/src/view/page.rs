//! A report as sheets of cells, before anyone decides how they are drawn.

use divvy_policy::quantity;
use divvy_results::report::{RecordedReport, Report, TraceReport};

use crate::view::{comparison, matrix, programs, tasks, waits};
use divvy_results::compare::{Policy, policies};
use divvy_results::summary;
use divvy_results::text;

/// What the reader asked to see.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish<'a> {
    /// The policy that others are put in relation to.
    pub baseline: Option<&'a str>,
    /// Every task, however many there are.
    pub all_tasks: bool,
}

/// All that is shown of a report.
pub struct Page {
    /// What ran, and how.
    pub heading: String,
    /// The quality of the recording, for a replay.
    pub quality: Vec<String>,
    /// The comparison first, then tasks against policies, then the tasks of each policy.
    pub sheets: Vec<Sheet>,
    /// What marks mean, and what is not shown.
    pub notes: Vec<String>,
    /// What the comparison supports.
    pub summary: Option<String>,
    /// The first decisions of each policy and CPU.
    pub schedules: Vec<Schedule>,
}

/// Columns and rows. The first column names the row.
pub struct Sheet {
    /// What the rows have in common.
    pub title: Option<String>,
    /// Left to right.
    pub columns: Vec<Column>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// What its pictures mean, said under it where they are drawn.
    pub meaning: Option<String>,
}

/// One column's head.
pub struct Column {
    /// Line by line; a word may go on in the next line after a `-`, and a policy's spec before a `:` or `+`.
    pub head: Vec<String>,
    /// Numbers stand to the right.
    pub is_number: bool,
    /// When a sheet is too wide, columns of one group stay together.
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
    /// Drawn beside the text where there is room.
    pub picture: Option<Picture>,
}

/// What can be drawn beside a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// As wide as there is room.
    Bar(Bar),
    /// A histogram in block characters, the same width in every row.
    Histogram(String),
}

/// A share and what it should be, as parts of the whole bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// How long it is, from 0 to 1.
    pub length: f64,
    /// Where the mark is, from 0 to 1.
    pub mark: f64,
}

/// The first decisions of a policy.
pub struct Schedule {
    /// The run's name.
    pub title: String,
    /// Task names, a list a CPU.
    pub cpus: Vec<Vec<String>>,
}

/// Above this many rows, tasks are only shown when asked for.
const FEW_TASK_ROWS: usize = 40;

/// What was not measured.
pub const ABSENT: &str = "-";

/// What cannot be measured of this row.
pub const NOTHING: &str = "";

/// The group of columns on who got what.
pub const SERVICE: u8 = 0;
/// The group of columns on how long it took.
pub const TIMES: u8 = 1;

/// Puts a report on a page.
pub fn page(report: &Report, wish: &Wish) -> Page {
    let policies = policies(report);
    let task_rows: usize = policies.iter().map(|policy| policy.runs[0].tasks.len()).sum();
    let mut sheets = vec![comparison::sheet(report, &policies, wish.baseline)];
    let mut notes = comparison::notes(&policies, &sheets[0]);
    let is_comparison = policies.len() > 1;
    let shows_tasks = wish.all_tasks || task_rows <= FEW_TASK_ROWS;
    if is_comparison && shows_tasks {
        sheets.extend(matrix::sheets(report, &policies));
    }
    if wish.all_tasks || (!is_comparison && shows_tasks) {
        sheets.extend(policies.iter().map(|policy| tasks::sheet(policy, report.cpus)));
    } else if is_comparison && shows_tasks {
        notes.push("-v shows more of each task".to_owned());
    } else {
        notes.push(format!("{task_rows} rows of tasks are not shown; -v shows them"));
    }
    sheets.extend(policies.iter().filter_map(programs::sheet));
    sheets.splice(1..1, waits::sheet(&policies));
    Page {
        heading: heading(report, &policies),
        quality: report.trace.as_ref().map(quality).unwrap_or_default(),
        sheets,
        notes,
        summary: summary::sentence(report),
        schedules: schedules(report, &policies),
    }
}

fn heading(report: &Report, policies: &[Policy]) -> String {
    let duration_ns = report.runs.iter().map(|run| run.duration_ns).max().unwrap_or(0);
    let repetitions = policies.iter().map(|policy| policy.runs.len()).max().unwrap_or(0);
    let cpus = if report.cpus == 1 { "CPU" } else { "CPUs" };
    let mut heading =
        format!("{} on {} {cpus}, {}", text::escape(&report.workload), report.cpus, span(duration_ns));
    // A replay has no random times.
    if report.trace.is_none() {
        heading.push_str(&format!(", seed {}", report.seed));
    }
    if repetitions > 1 {
        heading.push_str(&format!(", {repetitions} repetitions"));
    }
    heading
}

/// Exact where that is short, as of a time that someone chose.
fn span(ns: u64) -> String {
    const SHORT: usize = 6;
    let exact = quantity::format_time_ns(i64::try_from(ns).unwrap_or(i64::MAX));
    if exact.len() <= SHORT { exact } else { text::time(ns as f64) }
}

/// Grade and findings, causes of wake-ups, and the error that every comparison has to exceed.
fn quality(trace: &TraceReport) -> Vec<String> {
    let mut lines = vec![format!("recording: grade {} of A to D", trace.grade)];
    lines.extend(trace.findings.iter().map(|finding| format!("  {}", text::escape(finding))));
    lines.extend(trace.recorded.as_ref().map(recorded));
    let wakes = &trace.wakes;
    let all = wakes.dependency + wakes.timer + wakes.external + wakes.unknown;
    if all > 0 {
        let share = |count: u64| text::percent(count as f64 / all as f64, 0);
        lines.push(format!(
            "{} wake-ups: {} by another task, {} by a timer, {} from outside, {} unknown",
            text::count(all as f64),
            share(wakes.dependency),
            share(wakes.timer),
            share(wakes.external),
            share(wakes.unknown),
        ));
    }
    lines.push(match trace.self_replay_error {
        Some(error) => format!(
            "error of the replay itself: {} of mean response; smaller differences mean nothing",
            text::percent(error, 1)
        ),
        None => "error of the replay itself: not known".to_owned(),
    });
    lines
}

fn schedules(report: &Report, policies: &[Policy]) -> Vec<Schedule> {
    let repeated = policies.iter().any(|policy| policy.runs.len() > 1);
    report
        .runs
        .iter()
        .filter_map(|run| {
            let cpus = run.first_decisions.as_ref()?;
            let spec = text::escape(&run.policy);
            Some(Schedule {
                title: if repeated { format!("{spec}, repetition {}", run.rep) } else { spec },
                cpus: cpus
                    .iter()
                    .map(|names| names.iter().map(|name| text::escape(name)).collect())
                    .collect(),
            })
        })
        .collect()
}

/// What the recorded scheduler made of it, beyond its row in the comparison.
fn recorded(recorded: &RecordedReport) -> String {
    format!(
        "as recorded: {} of CPU time, {} of waiting for it",
        text::time(recorded.service_ns as f64),
        text::time(recorded.wait_ns as f64)
    )
}

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
        Self { head: text::spec_lines(spec), is_number: true, group: SERVICE, is_picture: false }
    }
}

impl Cell {
    /// A cell without a mark.
    pub fn plain(text: String) -> Self {
        Self { text, is_best: false, picture: None }
    }
}

impl Sheet {
    /// Bars in column `index`, one a row, from what each task received and was entitled to, in any unit. Columns of one
    /// sheet have one scale.
    pub fn add_bars(
        &mut self,
        index: usize,
        greatest: f64,
        shares: impl Iterator<Item = Option<(f64, f64)>>,
    ) {
        for (row, share) in self.rows.iter_mut().zip(shares) {
            let bar = |(received, entitled)| Bar { length: received / greatest, mark: entitled / greatest };
            row[index].picture = share.filter(|_| greatest > 0.0).map(bar).map(Picture::Bar);
        }
    }

    /// Leaves out rows in which nothing was measured.
    pub fn without_empty_rows(mut self) -> Self {
        self.rows.retain(|row| row[1..].iter().any(|cell| cell.text != ABSENT));
        self
    }

    /// Leaves out columns in which nothing was measured.
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
