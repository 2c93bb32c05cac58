//! Reports as one HTML file that needs no network: the page is `report.html` in `shell.html`, its looks `report.css`, and what draws the
//! figures the scripts beside them, a file a matter.
//!
//! The page carries the reports as `--format json` writes them, packed, and draws what is in them. As base64 they cannot
//! end the element that they are in, whatever tasks are called; the scripts set names as text and never as HTML.

use divvy_results::compare::Comparison;
use divvy_results::figures::{MOST_FULL_TASKS, base64, zlib};
use divvy_results::groups::{self, By};
use divvy_results::report::{Quantiles, Report, Run, TaskResult};
use divvy_results::summary;
use divvy_results::verdict::{Verdict, verdict};
use serde::Serialize;

use crate::palette;

/// The parts that all pages have; each has a body of its own.
const SHELL: &str = include_str!("shell.html");

/// The style of all pages.
#[must_use]
pub fn style() -> String {
    palette::style() + include_str!("report.css")
}

/// The scripts of every page. Each uses those before it.
const COMMON: [&str; 8] = [
    include_str!("data.js"),
    include_str!("format.js"),
    include_str!("dom.js"),
    include_str!("axes.js"),
    include_str!("save.js"),
    include_str!("plot.js"),
    include_str!("table.js"),
    include_str!("looks.js"),
];
/// The scripts that draw runs.
const RUNS: [&str; 12] = [
    include_str!("lines.js"),
    include_str!("tails.js"),
    include_str!("window.js"),
    include_str!("rows.js"),
    include_str!("lanes.js"),
    include_str!("marks.js"),
    include_str!("pen.js"),
    include_str!("timeline.js"),
    include_str!("verdict.js"),
    include_str!("tasks.js"),
    include_str!("figures.js"),
    include_str!("page.js"),
];
/// The scripts that draw runs, without the page that they are on.
#[must_use]
pub fn figures() -> String {
    [&COMMON[..], &RUNS[..RUNS.len() - 1]].concat().join("\n")
}

/// The scripts that draw sweeps.
pub const SWEEP: [&str; 3] = [include_str!("points.js"), include_str!("heat.js"), include_str!("sweep.js")];

/// A report and where it is from.
#[derive(Serialize)]
pub struct Source<'a> {
    /// The file, if there are several.
    pub name: Option<String>,
    /// Its content.
    pub report: &'a Report,
}

/// The data that the page's scripts read; [`with_data`] makes it.
#[derive(Serialize)]
pub struct Data<'a> {
    sources: &'a [Source<'a>],
    /// Whether tasks have only the values that the page shows, because there are many tasks.
    is_lean: bool,
    /// The seed of each report, as text, because a script's numbers are exact only up to 2^53.
    seeds: Vec<String>,
    /// The summary of each report, one sentence.
    summaries: Vec<Option<String>>,
    /// The verdict on each report.
    verdicts: Vec<Verdict>,
    /// Totals of the classes and processes of each report.
    groups: Vec<Vec<Groups>>,
}

/// Totals of all runs of a report.
#[derive(Serialize)]
struct Groups {
    /// Groups are `class` or `process`.
    by: &'static str,
    /// The groups of each run.
    runs: Vec<Vec<Group>>,
}

/// A class or a process.
#[derive(Serialize)]
struct Group {
    #[serde(flatten)]
    total: TaskResult,
    /// The number of its tasks.
    tasks: usize,
}

/// Totals by class and by process, each if it makes the table much shorter.
fn groups(report: &Report) -> Vec<Groups> {
    let most = report.runs.iter().map(|run| run.tasks.len()).max().unwrap_or(0);
    let by = |(name, by): (&'static str, By)| {
        let of_run = |run: &Run| -> Vec<Group> {
            let totals = groups::totals(&run.tasks, by).into_iter().map(|task| lean_task(&task));
            totals.zip(groups::sizes(&run.tasks, by)).map(|(total, tasks)| Group { total, tasks }).collect()
        };
        let runs: Vec<Vec<Group>> = report.runs.iter().map(of_run).collect();
        (runs.iter().all(|groups| groups.len() * 2 <= most)).then_some(Groups { by: name, runs })
    };
    [("class", By::Class), ("process", By::Process)].into_iter().filter_map(by).collect()
}

/// Writes the page of one or more reports.
///
/// # Errors
/// If the data cannot be written as JSON.
pub fn write(sources: &[Source]) -> serde_json::Result<String> {
    with_data(sources, |data| page(&RUNS, data))
}

/// Makes the data of a page, for `then` to write.
pub fn with_data<T>(sources: &[Source], then: impl FnOnce(&Data) -> T) -> T {
    let tasks: usize = sources.iter().flat_map(|source| &source.report.runs).map(|run| run.tasks.len()).sum();
    let is_lean = tasks > MOST_FULL_TASKS;
    let lean: Vec<Report> =
        if is_lean { sources.iter().map(|source| lean(source.report)).collect() } else { Vec::new() };
    let shown: Vec<Source> = sources
        .iter()
        .enumerate()
        .map(|(i, source)| Source { name: source.name.clone(), report: lean.get(i).unwrap_or(source.report) })
        .collect();
    let reports = || sources.iter().map(|source| source.report);
    let data = Data {
        sources: &shown,
        is_lean,
        seeds: reports().map(|report| report.seed.to_string()).collect(),
        summaries: reports().map(|report| summary::sentence(&Comparison::of(report))).collect(),
        verdicts: reports().map(verdict).collect(),
        groups: reports().map(groups).collect(),
    };
    then(&data)
}

/// The report with only those values of tasks that the page shows.
fn lean(report: &Report) -> Report {
    let mut report = report.clone();
    for task in report.runs.iter_mut().flat_map(|run| &mut run.tasks) {
        *task = lean_task(task);
    }
    report
}

fn lean_task(task: &TaskResult) -> TaskResult {
    let times = |q: &Quantiles| Quantiles { ci95: None, p90: None, max: None, ..q.clone() };
    TaskResult {
        finished_ns: None,
        response_ns: times(&task.response_ns),
        wait_ns: times(&task.wait_ns),
        wait_buckets: None,
        wake_delay_ns: Quantiles::default(),
        slowdown: Quantiles::default(),
        ..task.clone()
    }
}

/// A page with these scripts after those of all pages. The scripts read `data`.
///
/// # Errors
/// If the data cannot be written as JSON.
pub fn page(scripts: &[&str], data: &impl Serialize) -> serde_json::Result<String> {
    let script = [&COMMON, scripts].concat().join("\n");
    let style = style();
    let frame = Frame { title: "report", sources: "", body: include_str!("report.html"), style: &style };
    fill(&frame, &script, data)
}

/// The parts in which pages differ, beside their scripts and data.
pub(crate) struct Frame<'a> {
    pub title: &'a str,
    /// Sources of content that it may use beside those of all pages.
    pub sources: &'a str,
    pub body: &'a str,
    pub style: &'a str,
}

/// Writes a page: puts its parts, scripts and data where the shell of all pages has room for them.
pub(crate) fn fill(frame: &Frame, script: &str, data: &impl Serialize) -> serde_json::Result<String> {
    let data = base64(&zlib(&serde_json::to_vec(data)?));
    let page = SHELL.replace("{{body}}", frame.body);
    let mut out = String::with_capacity(page.len() + frame.style.len() + script.len() + data.len());
    for piece in page.split("{{") {
        let (name, rest) = piece.split_once("}}").unwrap_or(("", piece));
        out.push_str(match name {
            "title" => frame.title,
            "sources" => frame.sources,
            "controls" => include_str!("controls.html"),
            "style" => frame.style,
            "script" => script,
            "data" => &data,
            _ => "",
        });
        out.push_str(rest);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use divvy_results::samples;

    fn report_page(report: &Report) -> String {
        write(&[Source { name: None, report }]).expect("serializes")
    }

    #[test]
    fn names_cannot_end_an_element() {
        let mut report = samples::two_policies();
        let plain = report_page(&report).matches('<').count();
        report.runs[0].tasks[0].name = "</script><script>hacked(1)</script><!--".to_owned();
        report.workload = "\"><img src=x onerror=hacked(1)>".to_owned();
        let hostile = report_page(&report);
        assert_eq!(hostile.matches('<').count(), plain);
        assert!(!hostile.contains("hacked"));
    }

    #[test]
    fn it_names_nothing_outside_itself() {
        let page = report_page(&samples::hostile());
        let address = "http://www.w3.org/2000/svg";
        for word in ["http:", "https:", "//cdn", "src=", "@import", "url("] {
            let found = page.replace(address, "").replace("http-equiv", "").matches(word).count();
            assert_eq!(found, 0, "{word}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn of_many_tasks_the_page_has_what_it_shows() {
        let report = samples::two_policies();
        let (full, lean) = (&report.runs[0].tasks[0], &lean(&report).runs[0].tasks[0]);
        assert_eq!(
            (lean.response_ns.mean, lean.response_ns.p99),
            (full.response_ns.mean, full.response_ns.p99)
        );
        assert_eq!((lean.wait_ns.p50, lean.wait_ns.max, &lean.wait_buckets), (full.wait_ns.p50, None, &None));
        assert_eq!(lean.error_max_ns, full.error_max_ns);
    }

    /// An HTML parser ends a script at its end tag and nowhere else; what opens a comment confuses it.
    #[test]
    fn scripts_do_not_end_early() {
        let scripts = [&COMMON[..], &RUNS, &SWEEP].concat().join("\n");
        assert!(!scripts.contains("</script") && !scripts.contains("<!--") && !scripts.contains("{{"));
        assert!(!scripts.contains("innerHTML") && !scripts.contains("eval("));
    }
}
