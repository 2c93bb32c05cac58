//! `divvy report RUN.json.. -o out.html`.

use divvy_policy::{Failure, FailureKind};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use divvy_pages::report;
use divvy_pages::report::Source;
use divvy_results::report::{Report, SCHEMA_VERSION};
use divvy_sweep::Finished;

use crate::command_line::this_command;
use crate::output::Output;
use crate::output_path;
use crate::view::sweep_page;

/// Make a page with figures from results: one HTML file that needs no network
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy sim mix.toml -p rr,eevdf,sfs --figures --format json -o mix.json && divvy report mix.json -o mix.html
  divvy report monday.json tuesday.json -o both.html
  divvy sim mix.toml -p rr,eevdf,sfs -o mix.html")]
pub struct ReportArgs {
    /// Results of divvy sim, replay or play in JSON, with --figures, or the result of one divvy sweep; - is stdin
    #[arg(value_name = "RUN", required = true, value_hint = ValueHint::FilePath)]
    pub runs: Vec<PathBuf>,

    /// Write the page to this file; - is stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

const LARGEST_MIB: u64 = 256;

/// A file that is not a result of divvy.
#[derive(Debug, thiserror::Error)]
pub enum BadReport {
    /// It does not exist, or cannot be read.
    #[error("cannot read {file}")]
    File {
        /// As given.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// No result is that large; the input may be endless.
    #[error(
        "{file} is larger than {LARGEST_MIB} MiB, so it is not a result of divvy; `divvy sim WORKLOAD -p SPEC --format json` makes one"
    )]
    TooLarge {
        /// As given.
        file: String,
    },
    /// Not JSON, or other JSON.
    #[error(
        "{file} is not a result of divvy: {reason}; `divvy sim WORKLOAD -p SPEC --format json` makes one"
    )]
    Unreadable {
        /// As given.
        file: String,
        /// The problem and its position.
        reason: String,
    },
    /// Nothing to show.
    #[error("{file} has no runs; `divvy sim WORKLOAD -p SPEC --format json` makes a result with runs")]
    Empty {
        /// As given.
        file: String,
    },
    /// Its page has curves instead of runs.
    #[error("{file} is the result of a sweep, which has a page of its own; give it alone")]
    SweepBesideOthers {
        /// As given.
        file: String,
    },
    /// A report with another schema version.
    #[error(
        "{file} has schema_version {found}, this divvy reads {SCHEMA_VERSION}: make it again, or use the version of divvy that made it"
    )]
    Schema {
        /// As given.
        file: String,
        /// The version in the file.
        found: u32,
    },
}

impl Failure for BadReport {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

/// Reads results, and writes a page of them.
pub fn run(args: &ReportArgs, output: Output) -> anyhow::Result<()> {
    output_path::refuse_input(args.runs.iter().map(PathBuf::as_path), Some(&args.output))?;
    let results = args.runs.iter().map(|file| read(file)).collect::<Result<Vec<Outcome>, BadReport>>()?;
    if let [Outcome::Sweep(sweep)] = &results[..] {
        return output.write(&sweep_page::write(sweep, &this_command())?, Some(&args.output));
    }
    let reports = args.runs.iter().zip(results).map(report_of).collect::<Result<Vec<Report>, BadReport>>()?;
    let named = |file: &PathBuf| (reports.len() > 1).then(|| stem(file));
    let sources: Vec<Source> =
        args.runs.iter().zip(&reports).map(|(file, report)| Source { name: named(file), report }).collect();
    if reports.iter().flat_map(|report| &report.runs).all(|run| run.figures.is_none()) {
        output
            .note("note: the page has tables only; `--figures` with `--format json` adds what figures need");
    }
    output.write(&report::write(&sources)?, Some(&args.output))
}

/// The content of a file.
enum Outcome {
    Runs(Box<Report>),
    Sweep(Finished),
}

fn report_of((file, outcome): (&PathBuf, Outcome)) -> Result<Report, BadReport> {
    match outcome {
        Outcome::Runs(report) => Ok(*report),
        Outcome::Sweep(_) => Err(BadReport::SweepBesideOthers { file: file.display().to_string() }),
    }
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn read(file: &Path) -> Result<Outcome, BadReport> {
    let name = file.display().to_string();
    let text = text_of(file).map_err(|source| BadReport::File { file: name.clone(), source })?;
    if text.len() as u64 > LARGEST_MIB << 20 {
        return Err(BadReport::TooLarge { file: name });
    }
    parse(&name, &text)
}

fn text_of(file: &Path) -> io::Result<Vec<u8>> {
    let input: Box<dyn io::Read> =
        if file == Path::new("-") { Box::new(io::stdin().lock()) } else { Box::new(fs::File::open(file)?) };
    let mut text = Vec::new();
    input.take((LARGEST_MIB << 20) + 1).read_to_end(&mut text)?;
    Ok(text)
}

fn parse(name: &str, text: &[u8]) -> Result<Outcome, BadReport> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u32,
        /// Runs have none.
        kind: Option<String>,
    }
    let unreadable =
        |error: serde_json::Error| BadReport::Unreadable { file: name.to_owned(), reason: error.to_string() };
    let Version { schema_version, kind } = serde_json::from_slice(text).map_err(unreadable)?;
    if schema_version != SCHEMA_VERSION {
        return Err(BadReport::Schema { file: name.to_owned(), found: schema_version });
    }
    if kind.as_deref() == Some(divvy_sweep::KIND) {
        let sweep: Finished = serde_json::from_slice(text).map_err(unreadable)?;
        return match sweep.rows.is_empty() {
            true => Err(BadReport::Empty { file: name.to_owned() }),
            false => Ok(Outcome::Sweep(sweep)),
        };
    }
    let report: Report = serde_json::from_slice(text).map_err(unreadable)?;
    if report.runs.is_empty() {
        return Err(BadReport::Empty { file: name.to_owned() });
    }
    Ok(Outcome::Runs(Box::new(report)))
}
