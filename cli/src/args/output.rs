//! Formats of a report, where it goes, and what is checked.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum, ValueHint};
use divvy_pages::drawing::Figure;
use divvy_policy::quantity::format_time_ns;
use divvy_policy::{Failure, FailureKind};
use divvy_results::groups::By;

use super::choice::{Choice, one_of};
use super::look::LookArgs;
use crate::assert;
use crate::output_path::{self, BadOutputPath};

/// The report's format and file, and checks on it.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// How to print the result; json is complete, csv has one row per policy, repetition and task, html is a page with figures
    /// [default: by the ending of -o FILE: .json, .csv, .md, .html, .svg, .perfetto-trace; else table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<Format>,

    /// Write the result to a file instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Figure that svg draws [default: response if jobs end, else share]
    #[arg(long, value_parser = one_of(FIGURES), value_name = "WHAT", help_heading = "Output")]
    pub figure: Option<Figure>,

    #[command(flatten)]
    pub look: LookArgs,

    /// Rows of tables and of csv: each task, or totals of classes (`T` of T/1, T/2 and so on) or processes
    /// [default: in tables groups if tasks are many, in csv task]
    #[arg(long, value_parser = one_of(ROWS), value_name = "WHAT", help_heading = "Output")]
    pub by: Option<By>,

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
    /// How it looks.
    pub look: &'a LookArgs,
    /// The rows of tables and of csv, if they were chosen.
    pub by: Option<By>,
}

impl OutputArgs {
    /// Where a report of this input goes, and in which format.
    ///
    /// # Errors
    /// If the report would replace its own input, if its file's name promises another kind of file, or if a figure is chosen for
    /// a format that has none.
    pub fn target(&self, input: &Path) -> Result<Target<'_>, BadOutputArgs> {
        let file = self.output.as_deref();
        output_path::refuse_input([input], file)?;
        let (figure, look, by) = (self.figure, &self.look, self.by);
        let target = Target { format: self.format()?, file, figure, look, by };
        match target.format {
            Format::Svg => Ok(target),
            _ if self.figure.is_some() => Err(BadOutputArgs::FigureWithoutSvg),
            _ if self.look.is_given() => Err(BadOutputArgs::LookWithoutSvg),
            _ => Ok(target),
        }
    }

    /// The format of `--format`, or the one that the file's name ends in.
    fn format(&self) -> Result<Format, BadOutputArgs> {
        let ending =
            |file: &Path| file.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match (self.format, &self.output) {
            (Some(format), _) => Ok(format),
            (None, None) => Ok(Format::Table),
            (None, Some(file)) => match ending(file) {
                Some(ending) if OTHER_ENDINGS.contains(&&*ending) => {
                    Err(BadOutputArgs::Ending { file: file.clone(), ending })
                }
                Some(ending) => Ok(ENDINGS
                    .iter()
                    .find(|(known, _)| *known == ending)
                    .map_or(Format::Table, |(_, format)| *format)),
                None => Ok(Format::Table),
            },
        }
    }
}

/// Options of output that do not go together, or not with the run.
#[derive(Debug, thiserror::Error)]
pub enum BadOutputArgs {
    /// The file cannot be written.
    #[error(transparent)]
    Path(#[from] BadOutputPath),
    /// The file's name promises a format that divvy does not write.
    #[error(
        "-o {}: a report cannot be written as .{ending}, but as .txt, .csv, .json, .md, .html, .svg or .perfetto-trace; --format writes any of these under any name",
        file.display()
    )]
    Ending {
        /// As given.
        file: PathBuf,
        /// In lower case.
        ending: String,
    },
    /// `--figure` would be ignored.
    #[error("--figure chooses what svg draws: add --format svg, or -o FILE.svg")]
    FigureWithoutSvg,
    /// A look would be ignored.
    #[error(
        "--size, --font, --font-size and --bw are the look of svg: add --format svg, or -o FILE.svg; of divvy paper, -o DIR"
    )]
    LookWithoutSvg,
    /// Another form of output than text.
    #[error("--textbook prints text: leave out -o, or give -o FILE.txt")]
    TextbookForm,
    /// A form that does not show it.
    #[error(
        "--theory prints a table: -o FILE.txt, .md or .json have it, --format table, markdown or json as well"
    )]
    TheoryForm,
    /// One result would replace the other.
    #[error("--jobs-csv and -o name one file: give each its own")]
    SameFile,
    /// Nothing would be drawn.
    #[error(
        "--gantt-span begins at {}, and this run ends {} after its warm-up; give an earlier span, or a longer --duration",
        format_time_ns(*from_ns as i64), format_time_ns(*length_ns as i64)
    )]
    SpanAfterEnd {
        /// As given.
        from_ns: u64,
        /// The run's, without its warm-up.
        length_ns: u64,
    },
}

impl Failure for BadOutputArgs {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Path(path) => path.kind(),
            Self::Ending { .. }
            | Self::FigureWithoutSvg
            | Self::LookWithoutSvg
            | Self::TextbookForm
            | Self::TheoryForm
            | Self::SameFile
            | Self::SpanAfterEnd { .. } => FailureKind::Usage,
        }
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

/// Rows of a result.
const ROWS: &[Choice<By>] = &[
    ("task", By::Task, "One row for each task"),
    ("class", By::Class, "One for all instances of a task of the workload"),
    ("process", By::Process, "One for each process"),
];

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

/// Endings of a report's file, in lower case. Any other, or none, is a table.
const ENDINGS: [(&str, Format); 9] = [
    ("json", Format::Json),
    ("csv", Format::Csv),
    ("md", Format::Markdown),
    ("markdown", Format::Markdown),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("svg", Format::Svg),
    (PERFETTO_ENDINGS[0], Format::Perfetto),
    (PERFETTO_ENDINGS[1], Format::Perfetto),
];

/// Endings of files that programs open and that are no reports: a table under such a name would be a surprise.
const OTHER_ENDINGS: [&str; 16] = [
    "pdf", "png", "jpg", "jpeg", "gif", "eps", "xls", "xlsx", "ods", "tsv", "parquet", "toml", "data", "gz",
    "zst", "zip",
];

/// Endings of Perfetto's files.
pub const PERFETTO_ENDINGS: [&str; 2] = ["perfetto-trace", "pftrace"];
