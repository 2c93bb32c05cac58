//! Reports as one HTML file that needs no network: the page is `report.html`, its looks `report.css`, and what draws the
//! figures the scripts beside them, a file a matter.
//!
//! The page carries the reports as `--format json` writes them, packed, and draws what is in them. As base64 they cannot
//! end the element that they are in, whatever tasks are called; the scripts set names as text and never as HTML.

use divvy_results::compare::Comparison;
use divvy_results::figures::{MOST_FULL_TASKS, base64, zlib};
use divvy_results::report::{Quantiles, Report, TaskResult};
use serde::Serialize;

use divvy_results::summary;

const PAGE: &str = include_str!("report.html");
/// The style of all pages.
pub const STYLE: &str = include_str!("report.css");

/// The scripts of every page. Each uses those before it.
const COMMON: [&str; 7] = [
    include_str!("data.js"),
    include_str!("format.js"),
    include_str!("dom.js"),
    include_str!("axes.js"),
    include_str!("table.js"),
    include_str!("lines.js"),
    include_str!("looks.js"),
];
/// The scripts that draw runs.
const RUNS: [&str; 3] = [include_str!("tails.js"), include_str!("timeline.js"), include_str!("page.js")];
/// The scripts that draw sweeps.
pub const SWEEP: [&str; 1] = [include_str!("sweep.js")];

/// A report and where it is from.
#[derive(Serialize)]
pub struct Source<'a> {
    /// The file, if there are several.
    pub name: Option<String>,
    /// Its content.
    pub report: &'a Report,
}

/// The data that the page's scripts read.
#[derive(Serialize)]
struct Data<'a> {
    sources: &'a [Source<'a>],
    /// Whether tasks have only the values that the page shows, because there are many tasks.
    is_lean: bool,
    /// The seed of each report, as text, because a script's numbers are exact only up to 2^53.
    seeds: Vec<String>,
    /// The summary of each report, one sentence.
    summaries: Vec<Option<String>>,
}

/// Writes the page of one or more reports.
///
/// # Errors
/// If the data cannot be written as JSON.
pub fn write(sources: &[Source]) -> serde_json::Result<String> {
    let summaries = sources.iter().map(|source| summary::sentence(&Comparison::of(source.report))).collect();
    let seeds = sources.iter().map(|source| source.report.seed.to_string()).collect();
    let tasks: usize = sources.iter().flat_map(|source| &source.report.runs).map(|run| run.tasks.len()).sum();
    if tasks <= MOST_FULL_TASKS {
        return page(&RUNS, &Data { sources, is_lean: false, seeds, summaries });
    }
    let lean: Vec<Report> = sources.iter().map(|source| lean(source.report)).collect();
    let sources: Vec<Source> = sources
        .iter()
        .zip(&lean)
        .map(|(source, report)| Source { name: source.name.clone(), report })
        .collect();
    page(&RUNS, &Data { sources: &sources, is_lean: true, seeds, summaries })
}

/// The report with only those values of tasks that the page shows.
fn lean(report: &Report) -> Report {
    let mut report = report.clone();
    for task in report.runs.iter_mut().flat_map(|run| &mut run.tasks) {
        let times = |q: &Quantiles| Quantiles { ci95: None, p90: None, max: None, ..q.clone() };
        *task = TaskResult {
            finished_ns: None,
            response_ns: times(&task.response_ns),
            wait_ns: times(&task.wait_ns),
            wait_buckets: None,
            wake_delay_ns: Quantiles::default(),
            slowdown: Quantiles::default(),
            ..task.clone()
        };
    }
    report
}

/// A page with these scripts after those of all pages. The scripts read `data`.
///
/// # Errors
/// If the data cannot be written as JSON.
pub fn page(scripts: &[&str], data: &impl Serialize) -> serde_json::Result<String> {
    let script = [&COMMON, scripts].concat().join("\n");
    Ok(fill(&script, &base64(&zlib(&serde_json::to_vec(data)?))))
}

/// Puts style, scripts and data where the page has room for them.
fn fill(script: &str, data: &str) -> String {
    let mut out = String::with_capacity(PAGE.len() + STYLE.len() + script.len() + data.len());
    for piece in PAGE.split("{{") {
        let (name, rest) = piece.split_once("}}").unwrap_or(("", piece));
        out.push_str(match name {
            "style" => STYLE,
            "script" => script,
            "data" => data,
            _ => "",
        });
        out.push_str(rest);
    }
    out
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
