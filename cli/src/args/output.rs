//! Formats of a report, where it goes, and what is checked.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum, ValueHint};
use divvy_pages::drawing::Figure;

use super::choice::{Choice, one_of};
use crate::assert;
use crate::output_path::{self, BadOutputPath};

/// The report's format and file, and checks on it.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// How to print the result; json is complete, csv has one row per policy, repetition and task, html is a page with figures
    /// [default: html for a FILE.html, svg for a FILE.svg, perfetto for a FILE.perfetto-trace, else table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<Format>,

    /// Write the result to a file instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Figure that svg draws [default: response if jobs end, else share]
    #[arg(long, value_parser = one_of(FIGURES), value_name = "WHAT", help_heading = "Output")]
    pub figure: Option<Figure>,

    /// Fail, with exit code 3, if a run does not meet this, as in 'max(error) < 8ms' (repeat for more)
    #[arg(long, value_name = "EXPR", help_heading = "Checks", action = ArgAction::Append,
        value_hint = ValueHint::Other, long_help = assert::help())]
    pub assert: Vec<String>,
}

/// The target of a report: its form, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its form.
    pub format: Format,
    /// `None` is stdout.
    pub file: Option<&'a Path>,
    /// The drawing that svg is, if one was chosen.
    pub figure: Option<Figure>,
}

impl OutputArgs {
    /// Where a report of this input goes, and in which format.
    ///
    /// # Errors
    /// If the report would replace its own input.
    pub fn target(&self, input: &Path) -> Result<Target<'_>, BadOutputPath> {
        let target = Target { format: self.format(), file: self.output.as_deref(), figure: self.figure };
        output_path::refuse_input([input], target.file)?;
        Ok(target)
    }

    /// The format of `--format`, or the one that the file's name ends in.
    fn format(&self) -> Format {
        let is = |ending: &&str| {
            let found = self.output.as_ref().and_then(|file| file.extension());
            found.is_some_and(|found| found.eq_ignore_ascii_case(ending))
        };
        let by_name = || {
            if is(&"html") {
                Format::Html
            } else if is(&"svg") {
                Format::Svg
            } else if PERFETTO_ENDINGS.iter().any(is) {
                Format::Perfetto
            } else {
                Format::Table
            }
        };
        self.format.unwrap_or_else(by_name)
    }
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, within the terminal's width
    Table,
    /// Everything, by schema_version 1
    Json,
    /// One row per policy, repetition and task
    Csv,
    /// Tables to paste
    Markdown,
    /// One file for a browser
    Html,
    /// One drawing, as --figure says
    Svg,
    /// A trace of one policy for ui.perfetto.dev (not for play): schedule, wake-ups, service errors
    Perfetto,
}

/// Formats of results that are not reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlainFormat {
    /// For people
    Table,
    /// For programs
    Json,
}

/// Formats of the claims of papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClaimFormat {
    /// For people
    Table,
    /// For programs
    Json,
    /// One row per claim
    Csv,
}

/// Drawings of a result.
const FIGURES: &[Choice<Figure>] = &[
    ("share", Figure::Share, "CPU time of each process over time, one panel per policy"),
    ("error", Figure::Error, "Service errors over time, one panel per policy"),
    (
        "response",
        Figure::Response,
        "Share of jobs by response time (how many took at least that long), one line per policy",
    ),
    ("wait", Figure::Wait, "The same for waiting time"),
    ("timeline", Figure::Timeline, "Tasks on each CPU in --gantt-span (not for play)"),
];

/// Endings of Perfetto's files.
pub const PERFETTO_ENDINGS: [&str; 2] = ["perfetto-trace", "pftrace"];
