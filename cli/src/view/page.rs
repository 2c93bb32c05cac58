//! Makes a page of tables from a report.

use divvy_policy::quantity;
use divvy_results::compare::{Comparison, Policy};
use divvy_results::groups::{self, By};
use divvy_results::prediction::{self, Errors, MEAN_RESPONSE, P99_RESPONSE, SHARE};
use divvy_results::report::{RecordedReport, Report, TraceReport};
use divvy_results::summary;
use divvy_results::text;

use crate::view::table::{FirstDecisions, Page};
use crate::view::{comparison, matrix, programs, tasks, theory, waits};

/// Options of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageOptions<'a> {
    /// The policy that others are compared with.
    pub baseline: Option<&'a str>,
    /// Every task, however many there are.
    pub all_tasks: bool,
    /// The rows of tables, if they were chosen.
    pub by: Option<By>,
}

/// Above this many rows, tasks are shown only with -v.
const FEW_TASK_ROWS: usize = 40;
/// Names of endless tasks that are shown.
const MOST_ENDLESS: usize = 10;

/// Makes a page from a report.
pub fn page(report: &Report, options: &PageOptions) -> Page {
    let by = options.by.unwrap_or_else(|| if options.all_tasks { By::Task } else { readable(report) });
    let grouped;
    let (report, note) = match by {
        By::Task => (report, None),
        _ => {
            grouped = with_sizes(report, by);
            (&grouped, Some(group_note(report, by)))
        }
    };
    let comparison = Comparison::of(report);
    let policies = &comparison.policies;
    let task_rows: usize = policies.iter().map(|policy| policy.tasks.len()).sum();
    let is_comparison = policies.len() > 1;
    let shows_tasks = options.all_tasks || options.by.is_some() || task_rows <= FEW_TASK_ROWS;
    let compared = comparison::compared(&comparison, options.baseline, options.all_tasks);
    let mut page = Page {
        heading: heading(report, policies),
        quality: report.trace.as_ref().map(quality).unwrap_or_default(),
        summary: summary::sentence(&comparison),
        first_decisions: first_decisions(report, policies),
        tables: vec![compared.table],
        notes: Vec::new(),
    };
    page.notes = comparison::notes(policies, &page.tables[0]);
    page.notes.extend(compared.left_out);
    page.tables.extend(theory::table(&report.theory, policies));
    page.notes.extend(theory::notes(&report.theory));
    page.tables.extend(waits::table(policies));
    if is_comparison && shows_tasks {
        page.tables.extend(matrix::tables(report, policies, head(by)));
    }
    if options.all_tasks || (!is_comparison && shows_tasks) {
        page.tables.extend(policies.iter().map(|policy| tasks::table(policy, head(by))));
    } else if is_comparison && shows_tasks {
        page.notes.push(format!("-v shows more of each {}", head(By::Task)));
    } else if !shows_tasks {
        page.notes.push(format!("{task_rows} rows of tasks are not shown; -v shows them"));
    }
    page.notes.extend(note);
    page.tables.extend(policies.iter().filter_map(programs::table));
    page
}

/// Tasks if they are few, else the classes or processes if these are.
fn readable(report: &Report) -> By {
    let policies = Comparison::of(report).policies.len().max(1);
    let rows = |by| policies * report.runs.first().map_or(0, |run| groups::sizes(&run.tasks, by).len());
    if rows(By::Task) <= FEW_TASK_ROWS {
        return By::Task;
    }
    [By::Class, By::Process].into_iter().find(|by| rows(*by) <= FEW_TASK_ROWS).unwrap_or(By::Task)
}

/// The word over the names of rows.
fn head(by: By) -> &'static str {
    match by {
        By::Task => "task",
        By::Class => "class",
        By::Process => "process",
    }
}

/// Groups, each with the number of its tasks behind its name.
fn with_sizes(report: &Report, by: By) -> Report {
    let mut grouped = groups::grouped(report, by);
    for (run, all) in grouped.runs.iter_mut().zip(&report.runs) {
        for (group, size) in run.tasks.iter_mut().zip(groups::sizes(&all.tasks, by)) {
            if size > 1 {
                group.name.push_str(&format!(" ({size})"));
            }
        }
    }
    grouped
}

fn group_note(report: &Report, by: By) -> String {
    let tasks = report.runs.first().map_or(0, |run| run.tasks.len());
    format!(
        "{tasks} tasks by {}: sums, the furthest service error and the worst p99 of any task; --by task shows each",
        head(by)
    )
}

fn heading(report: &Report, policies: &[Policy]) -> String {
    let duration_ns = report.runs.iter().map(|run| run.duration_ns).max().unwrap_or(0);
    let repetitions = policies.iter().map(|policy| policy.runs.len()).max().unwrap_or(0);
    let cpus = if report.cpus == 1 { "CPU" } else { "CPUs" };
    let mut heading =
        format!("{} on {} {cpus}, {}", text::escape(&report.workload), report.cpus, span(duration_ns));
    if let Some(host) = &report.host {
        heading.push_str(&format!(", in the host in {}", text::escape(host)));
    }
    // A replay has no random times.
    if report.trace.is_none() {
        heading.push_str(&format!(", seed {}", report.seed));
    }
    if repetitions > 1 {
        heading.push_str(&format!(", {repetitions} repetitions"));
    }
    heading
}

/// Exact if that is short, as for a duration that a user chose.
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
    lines.extend(errors(trace));
    lines.extend(trace.fixed_wakes_error.map(|error| {
        let error = text::percent(error, 1);
        format!("with --wakes fixed it is {error}: the wake-ups between tasks do not explain this recording")
    }));
    lines.extend(trace.tick_ns.map(|ns| {
        format!("slices end at ticks, every {}; those of eevdf when they are used up", text::time(ns as f64))
    }));
    if !trace.endless.is_empty() {
        let (names, more) =
            (trace.endless.iter().take(MOST_ENDLESS), trace.endless.len().saturating_sub(MOST_ENDLESS));
        let mut names = names.map(|name| text::escape(name)).collect::<Vec<_>>().join(", ");
        if more > 0 {
            names += &format!(" and {more} more");
        }
        lines.push(format!("never slept, so replayed without an end for the recording's time: {names}"));
    }
    lines
}

/// The error of the replay itself, and that of predictions under another policy, as it was measured: the larger one counts.
fn errors(trace: &TraceReport) -> Vec<String> {
    let Some((error, floor)) = trace.self_replay_error.zip(prediction::floor(trace.self_replay_error)) else {
        return vec!["error of the replay itself: not known".to_owned()];
    };
    let measured =
        |of: Errors| format!("{} and {}", text::percent(of.median, 1), text::percent(of.ninth_decile, 1));
    vec![
        format!("error of the replay itself: {} of mean response", text::percent(error, 1)),
        format!(
            "measured predictions under another policy: half are within {} of mean response, nine of ten within {}; \
             of p99 {}, of shares {}",
            text::percent(MEAN_RESPONSE.median, 1),
            text::percent(MEAN_RESPONSE.ninth_decile, 1),
            measured(P99_RESPONSE),
            measured(SHARE),
        ),
        format!("differences in mean response below {} mean nothing", text::percent(floor, 1)),
    ]
}

fn first_decisions(report: &Report, policies: &[Policy]) -> Vec<FirstDecisions> {
    let repeated = policies.iter().any(|policy| policy.runs.len() > 1);
    report
        .runs
        .iter()
        .filter_map(|run| {
            let cpus = run.first_decisions.as_ref()?;
            let spec = text::escape(&run.policy);
            Some(FirstDecisions {
                title: if repeated { format!("{spec}, repetition {}", run.rep) } else { spec },
                cpus: cpus
                    .iter()
                    .map(|names| names.iter().map(|name| text::escape(name)).collect())
                    .collect(),
            })
        })
        .collect()
}

/// Numbers of the recorded scheduler that its row in the comparison does not have.
fn recorded(recorded: &RecordedReport) -> String {
    format!(
        "as recorded: {} of CPU time, {} of waiting for it",
        text::time(recorded.service_ns as f64),
        text::time(recorded.wait_ns as f64)
    )
}
