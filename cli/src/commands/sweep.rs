//! `divvy sweep WORKLOAD --vary KEY=VALUES.. -p SPEC..`, and `--merge`.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use divvy_sim::run::Options;
use divvy_sweep::{Finished, Plan, Row, SweepOptions, TableError, Vary, table};
use divvy_workload::Workload;

use super::common;
use crate::args::{PolicyArgs, SweepArgs, SweepFormat};
use crate::output::Output;
use crate::place::{self, BadPlace};
use crate::progress::FigureBar;
use crate::view;

/// A file that the result cannot be written to.
#[derive(Debug, thiserror::Error)]
pub enum BadOutput {
    /// It is there already.
    #[error("{} is there already; --resume goes on with it if it is of this sweep, --force replaces it", .0.display())]
    Exists(PathBuf),
    /// It has rows of which it cannot be told which they are.
    #[error("{} cannot be gone on with, only a .csv can; write to both, -o x.csv -o {}, or use --force", .0.display(), name(.0))]
    NotResumable(PathBuf),
    /// Of no known form.
    #[error("{}: a result is a .csv, .json, .html or .parquet file; --format csv writes to stdout", .0.display())]
    Ending(PathBuf),
    /// Of a form that was left out of this build.
    #[error("{}: this divvy was built without Parquet; build it with --features parquet, or write a .csv", .0.display())]
    NoParquet(PathBuf),
    /// Two of the same form.
    #[error("{}: there is another -o of this form; give one of each at most", .0.display())]
    Twice(PathBuf),
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Runs a sweep, or puts shards of one together.
pub fn run(args: &SweepArgs, output: Output) -> anyhow::Result<()> {
    let files = Files::new(&args.output)?;
    if args.merge.is_empty() { sweep(args, &files, output) } else { merge(args, &files, output) }
}

/// What the CSV becomes when it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Html,
    Parquet,
}

/// Where the result goes.
#[derive(Default)]
struct Files {
    csv: Option<PathBuf>,
    others: Vec<(Form, PathBuf)>,
}

impl Files {
    fn new(paths: &[PathBuf]) -> Result<Files, BadOutput> {
        let mut files = Files::default();
        for path in paths {
            let form = match path.extension().and_then(|ending| ending.to_str()) {
                Some("csv") => None,
                Some("json") => Some(Form::Json),
                Some("html") => Some(Form::Html),
                Some("parquet") if cfg!(feature = "parquet") => Some(Form::Parquet),
                Some("parquet") => return Err(BadOutput::NoParquet(path.clone())),
                _ => return Err(BadOutput::Ending(path.clone())),
            };
            let is_taken = match form {
                None => files.csv.replace(path.clone()).is_some(),
                Some(form) => files.others.iter().any(|(other, _)| *other == form),
            };
            if is_taken {
                return Err(BadOutput::Twice(path.clone()));
            }
            files.others.extend(form.map(|form| (form, path.clone())));
        }
        Ok(files)
    }

    fn is_empty(&self) -> bool {
        self.csv.is_none() && self.others.is_empty()
    }

    /// What is written at the end is not to fail then.
    fn check_writable(&self) -> Result<(), BadPlace> {
        self.others.iter().try_for_each(|(_, path)| place::file("-o", path))
    }

    /// Nothing is lost that was not asked for.
    fn check(&self, args: &SweepArgs) -> Result<(), BadOutput> {
        let there = |path: &&PathBuf| path.exists() && !args.force;
        let other = self.others.iter().map(|(_, path)| path).find(there);
        match (self.csv.as_ref().filter(there), other) {
            (Some(csv), _) if !args.resume => Err(BadOutput::Exists(csv.clone())),
            (_, Some(other)) if args.resume && self.csv.is_none() => {
                Err(BadOutput::NotResumable(other.clone()))
            }
            // Made anew of the CSV beside it.
            (_, Some(other)) if !args.resume => Err(BadOutput::Exists(other.clone())),
            _ => Ok(()),
        }
    }
}

fn sweep(args: &SweepArgs, files: &Files, output: Output) -> anyhow::Result<()> {
    let policies = PolicyArgs { policy: args.policy.clone(), baseline: args.baseline.clone() };
    let (specs, baseline) = common::specs(&policies)?;
    let baseline = specs.iter().find(|spec| Some(spec.to_string()) == baseline);
    let vary = |text: &String| Vary::parse(text, args.max_points);
    let varied: Vec<Vary> = args.vary.iter().map(vary).collect::<Result<_, _>>()?;
    let path = args.workload.as_deref().context("which workload?")?;
    let text = Workload::read(path)?;
    let options = Options {
        seed: args.seed,
        reps: args.reps,
        cpus: args.machine.cpus,
        duration_ns: args.machine.duration,
        quantum_ns: args.machine.quantum,
        ..Options::default()
    };
    let request = SweepOptions {
        text: &text,
        file: &path.display().to_string(),
        specs: &specs,
        varied: &varied,
        options: &options,
        warm_up: args.warm_up,
        per_task: args.per_task,
        baseline,
        most: args.max_points,
    };
    let plan = Plan::new(&request)?;
    if let Some(load) = plan.overload() {
        output.note(&format!(
            "note: at a load of {} the queue grows as long as the run lasts: means depend on its length",
            divvy_results::text::plain(load)
        ));
    }
    let (shard, shards) = args.shard.unwrap_or((1, 1));
    let rows = table::shard(&plan, shard, shards);
    files.check(args)?;
    files.check_writable()?;
    let mut result = Partial::begin(&plan, &rows, files, args)?;
    let left = &rows[result.done..];
    if result.done > 0 {
        output.note(&format!("{} of {} rows are done", result.done, rows.len()));
    }
    let bar = FigureBar::new("sweep", output);
    let mut shown = Vec::new();
    divvy_sweep::run(&plan, left, &bar, |row| -> anyhow::Result<()> {
        result.add(&table::line(&plan, &row))?;
        if files.is_empty() {
            shown.push(row);
        }
        Ok(())
    })?;
    drop(bar);
    finish(&result.text, files, args, output, || draw(&plan, &shown, output))
}

fn draw(plan: &Plan, rows: &[Row], output: Output) -> String {
    view::table::draw(&view::sweep::page(plan, rows), output.columns(None), output.is_styled(None))
}

/// The CSV so far: what is in the file, if there is one, is that as well.
struct Partial {
    text: String,
    done: usize,
    file: Option<(File, PathBuf)>,
}

impl Partial {
    fn begin(plan: &Plan, rows: &[usize], files: &Files, args: &SweepArgs) -> anyhow::Result<Partial> {
        let Some(path) = &files.csv else {
            return Ok(Partial { text: table::header(plan), done: 0, file: None });
        };
        let cannot = || format!("cannot write {}", path.display());
        let mut partial = Partial { text: String::new(), done: 0, file: None };
        if args.resume && path.exists() {
            partial.text = read(path)?;
            let done = table::done(plan, rows, &path.display().to_string(), &partial.text)?;
            partial.text.truncate(done.bytes);
            partial.done = done.rows;
        }
        let file =
            OpenOptions::new().create(true).write(true).truncate(false).open(path).with_context(cannot)?;
        file.set_len(partial.text.len() as u64).with_context(cannot)?;
        drop(file);
        partial.file = Some((OpenOptions::new().append(true).open(path).with_context(cannot)?, path.clone()));
        if partial.text.is_empty() {
            partial.add(&table::header(plan))?;
        }
        Ok(partial)
    }

    /// Whole lines: whoever interrupts the run finds what is done.
    fn add(&mut self, line: &str) -> anyhow::Result<()> {
        self.text.push_str(line);
        if let Some((file, path)) = &mut self.file {
            file.write_all(line.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

fn merge(args: &SweepArgs, files: &Files, output: Output) -> anyhow::Result<()> {
    let named = |path: &PathBuf| Ok((path.display().to_string(), read(path)?));
    let shards: Vec<(String, String)> = args.merge.iter().map(named).collect::<anyhow::Result<_>>()?;
    let text = table::merge(&shards)?;
    files.check(args)?;
    files.check_writable()?;
    if let Some(path) = &files.csv {
        fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    finish(&text, files, args, output, || text.clone())
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// All points are there: what else is to be written of them.
fn finish(
    csv: &str,
    files: &Files,
    args: &SweepArgs,
    output: Output,
    table: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    for (form, path) in &files.others {
        let bytes = match form {
            Form::Json => json(csv)?.into_bytes(),
            Form::Html => view::sweep_page::write(&finished(csv)?, &common::this_command())?.into_bytes(),
            Form::Parquet => parquet(csv)?,
        };
        fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    match (files.is_empty(), args.format) {
        (true, SweepFormat::Csv) => output.write(csv, None),
        (true, SweepFormat::Json) => output.write(&json(csv)?, None),
        (true, SweepFormat::Table) => output.write(&table(), None),
        (false, _) => Ok(()),
    }
}

fn finished(csv: &str) -> anyhow::Result<Finished> {
    divvy_sweep::read(csv).map_err(|what| TableError::NoRows(what).into())
}

fn json(csv: &str) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(&finished(csv)?)?;
    text.push('\n');
    Ok(text)
}

#[cfg(feature = "parquet")]
fn parquet(csv: &str) -> anyhow::Result<Vec<u8>> {
    Ok(divvy_sweep::parquet::write(csv)?)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &str) -> anyhow::Result<Vec<u8>> {
    unreachable!("refused when the command line was read")
}
