//! Formats of a report, where it goes, and what is checked.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, ValueHint};

use crate::assert::{self, ClaimError, Claims};

/// What to print, and what to check.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// How to print the result; json is complete, csv has a row a policy, repetition and task, html is a page with figures
    /// [default: html for a FILE.html, svg for a FILE.svg, perfetto for a FILE.perfetto-trace, else table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<Format>,

    /// Write the result to a file instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// What svg draws [default: response if jobs end, else share]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Output")]
    pub figure: Option<Figure>,

    /// Fail, with exit code 3, if a run does not meet this, as in 'max(error) < 8ms' (repeat for more)
    #[arg(long, value_name = "EXPR", help_heading = "Checks", action = ArgAction::Append,
        value_hint = ValueHint::Other, long_help = assert::help())]
    pub assert: Vec<String>,
}

impl OutputArgs {
    /// As asked for, or as the file's name says.
    pub fn format(&self) -> Format {
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

    /// The claims of `--assert`.
    pub fn claims(&self) -> Result<Claims, ClaimError> {
        Claims::parse(&self.assert)
    }
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, within the terminal's width
    Table,
    /// Everything, by schema_version 1
    Json,
    /// A row a policy, repetition and task
    Csv,
    /// Tables to paste
    Markdown,
    /// One file for a browser
    Html,
    /// One drawing, as --figure says
    Svg,
    /// A trace for ui.perfetto.dev, of one policy (not of play): who ran where, wake-ups, service errors
    Perfetto,
}

/// Forms of what is no report of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlainFormat {
    /// For people
    Table,
    /// For programs
    Json,
}

/// A drawing of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Figure {
    /// CPU time of each process over time, a panel a policy
    Share,
    /// Service errors over time, a panel a policy
    Error,
    /// The share of jobs that took at least so long, a line a policy
    Response,
    /// The same of the time that they waited
    Wait,
    /// Who ran on which CPU in --gantt-span (not of play)
    Timeline,
}

impl From<Figure> for divvy_pages::drawing::Figure {
    fn from(figure: Figure) -> Self {
        match figure {
            Figure::Share => Self::Share,
            Figure::Error => Self::Error,
            Figure::Response => Self::Response,
            Figure::Wait => Self::Wait,
            Figure::Timeline => Self::Timeline,
        }
    }
}

/// What Perfetto's files are called.
pub const PERFETTO_ENDINGS: [&str; 2] = ["perfetto-trace", "pftrace"];
