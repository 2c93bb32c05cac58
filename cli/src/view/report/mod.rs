//! Reports as one HTML file that needs no network: the page is `report.html`, its looks `report.css`, and what draws the
//! figures the scripts beside them, a file a matter.
//!
//! The page carries the reports as `--format json` writes them, packed, and draws what is in them. As base64 they cannot
//! end the element that they are in, whatever tasks are called; the scripts set names as text and never as HTML.

use divvy_sim::figures::{base64, zlib};
use divvy_sim::report::Report;
use serde::Serialize;

use crate::summary;

const PAGE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");

/// In this order: each uses those before it.
const SCRIPTS: [&str; 9] = [
    include_str!("data.js"),
    include_str!("format.js"),
    include_str!("dom.js"),
    include_str!("axes.js"),
    include_str!("table.js"),
    include_str!("lines.js"),
    include_str!("tails.js"),
    include_str!("timeline.js"),
    include_str!("page.js"),
];

/// A report and where it is from.
#[derive(Serialize)]
pub struct Source<'a> {
    /// The file, if there are several.
    pub name: Option<String>,
    /// What is in it.
    pub report: &'a Report,
}

/// What the page's scripts read.
#[derive(Serialize)]
struct Data<'a> {
    sources: &'a [Source<'a>],
    /// Of each report, in digits: a script's numbers are exact only up to 2^53.
    seeds: Vec<String>,
    /// What each report supports, in a sentence.
    summaries: Vec<Option<String>>,
}

/// Writes the page.
pub fn write(sources: &[Source]) -> serde_json::Result<String> {
    let summaries = sources.iter().map(|source| summary::sentence(source.report)).collect();
    let seeds = sources.iter().map(|source| source.report.seed.to_string()).collect();
    let data = serde_json::to_vec(&Data { sources, seeds, summaries })?;
    Ok(fill(&base64(&zlib(&data))))
}

/// Puts style, scripts and data where the page has room for them.
fn fill(data: &str) -> String {
    let script = SCRIPTS.join("\n");
    let mut out = String::with_capacity(PAGE.len() + STYLE.len() + script.len() + data.len());
    for piece in PAGE.split("{{") {
        let (name, rest) = piece.split_once("}}").unwrap_or(("", piece));
        out.push_str(match name {
            "style" => STYLE,
            "script" => &script,
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
    use crate::samples;

    fn page(report: &Report) -> String {
        write(&[Source { name: None, report }]).expect("serializes")
    }

    #[test]
    fn names_cannot_end_an_element() {
        let mut report = samples::two_policies();
        let plain = page(&report).matches('<').count();
        report.runs[0].tasks[0].name = "</script><script>hacked(1)</script><!--".to_owned();
        report.workload = "\"><img src=x onerror=hacked(1)>".to_owned();
        let hostile = page(&report);
        assert_eq!(hostile.matches('<').count(), plain);
        assert!(!hostile.contains("hacked"));
    }

    #[test]
    fn it_names_nothing_outside_itself() {
        let page = page(&samples::hostile());
        let address = "http://www.w3.org/2000/svg";
        for word in ["http:", "https:", "//cdn", "src=", "@import", "url("] {
            let found = page.replace(address, "").replace("http-equiv", "").matches(word).count();
            assert_eq!(found, 0, "{word}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    /// An HTML parser ends a script at its end tag and nowhere else; what opens a comment confuses it.
    #[test]
    fn scripts_do_not_end_early() {
        let scripts = SCRIPTS.join("\n");
        assert!(!scripts.contains("</script") && !scripts.contains("<!--") && !scripts.contains("{{"));
        assert!(!scripts.contains("innerHTML") && !scripts.contains("eval("));
    }
}
