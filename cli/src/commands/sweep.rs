//! `divvy sweep WORKLOAD --vary KEY=VALUES.. -p SPEC..`, and `--merge`.

use divvy_policy::{Failure, FailureKind};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::{ArgAction, Args, ValueEnum, ValueHint};
use divvy_sim::run::Options;
use divvy_sweep::WarmUp;
use divvy_sweep::{Finished, Plan, Row, SweepOptions, TableError, Vary, table};
use divvy_workload::Workload;

use crate::args::machine::MachineArgs;
use crate::args::policies::PolicyArgs;
use crate::cluster::{self, Address, Cluster};
use crate::command_line::this_command;
use crate::input;
use crate::output::Output;
use crate::output_path::{self, BadOutputPath};
use crate::progress::ProgressBar;
use crate::view;

/// Vary parameters of a workload or policy: one row of means for every combination
#[derive(Debug, Args)]
#[command(
    after_help = SWEEP_EXAMPLES,
    after_long_help = SWEEP_HELP
)]
pub struct SweepArgs {
    /// The workload, a TOML file
    #[arg(value_name = "WORKLOAD", required_unless_present_any = ["merge", "part"], value_hint = ValueHint::FilePath)]
    pub workload: Option<PathBuf>,

    /// Key to vary, with its values: KEY=FROM..TO:STEP, KEY=A,B,C, or both mixed (repeat for every combination)
    #[arg(long, value_name = "KEY=VALUES", required_unless_present_any = ["merge", "part"], action = ArgAction::Append,
        value_hint = ValueHint::Other)]
    pub vary: Vec<String>,

    /// Policy to run: SELECTION[:param=value]..[+MODIFIER[:param=value]..].., several by commas or by repeating -p
    #[arg(short, long = "policy", required_unless_present_any = ["merge", "part"], value_name = "SPEC", action = ArgAction::Append,
        value_hint = ValueHint::Other, help_heading = "Policies")]
    pub policy: Vec<String>,

    /// Add rows of differences from this policy, repetition by repetition; it is run even if -p does not name it
    #[arg(long, value_name = "SPEC", help_heading = "Policies", value_hint = ValueHint::Other)]
    pub baseline: Option<String>,

    #[command(flatten)]
    pub machine: MachineArgs,

    /// Number that all random numbers come from
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Chance")]
    pub seed: u64,

    /// Repetitions, each with its own random numbers, the same for every policy and point
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Chance",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub reps: u32,

    /// Part of each run that does not count, as in 10% or 5s [default: as the workload says; else 10% if tasks never end]
    #[arg(long, value_name = "PART", help_heading = "Chance")]
    pub warm_up: Option<WarmUp>,

    /// Add rows for each task; each instance has a row, as in T/1
    #[arg(long, help_heading = "Work")]
    pub per_task: bool,

    /// Most rows, over all policies
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = "Work",
        value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub max_points: u64,

    /// Run only the I-th of every N points, as in 1/4; --merge joins the files
    #[arg(long, value_name = "I/N", help_heading = "Work", value_parser = shard)]
    pub shard: Option<(usize, usize)>,

    /// Continue the .csv of -o, if it exists and is from this sweep
    #[arg(long, help_heading = "Work", requires = "output", conflicts_with = "force")]
    pub resume: bool,

    /// Merge the .csv files of shards: the same bytes as one run
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Work", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["workload", "vary", "policy", "baseline", "per_task", "shard", "resume", "MachineArgs",
            "warm_up"])]
    pub merge: Vec<PathBuf>,

    /// Run the points on the workers of this Dask cluster: dask://HOST:PORT of its scheduler
    #[arg(long, value_name = "ADDRESS", help_heading = "Work", conflicts_with = "merge", value_hint = ValueHint::Other)]
    pub cluster: Option<Address>,

    /// The same divvy on the workers, if it is not the `divvy` of their PATH
    #[arg(long, value_name = "PATH", help_heading = "Work", requires = "cluster", default_value = "divvy",
        hide_default_value = true, value_hint = ValueHint::Other)]
    pub cluster_command: String,

    /// Run a part of a sweep that comes on stdin, for --cluster
    #[arg(long, hide = true, exclusive = true)]
    pub part: bool,

    /// How to print the points to stdout, when there is no -o
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: SweepFormat,

    /// Write the points to FILE.csv, .json, .html (a page with figures) or .parquet instead (repeat for several)
    #[arg(short, long, value_name = "FILE", action = ArgAction::Append, help_heading = "Output",
        value_hint = ValueHint::FilePath)]
    pub output: Vec<PathBuf>,

    /// Replace existing files
    #[arg(long, help_heading = "Output", requires = "output")]
    pub force: bool,
}

const SWEEP_EXAMPLES: &str = "\
Examples:
  divvy sweep queue.toml --vary load=0.5..0.9:0.1 --vary alpha=0,1,inf -p pbs --baseline rr -o queue.html
  divvy sweep mix.toml --vary task.editor.weight=512,1024,2048 --vary cpus=1..4:1 -p sfs --shard 1/2 -o 1.csv
  divvy sweep --merge 1.csv 2.csv -o all.csv
  divvy sweep queue.toml --vary load=0.5..0.9:0.01 -p pbs -o queue.csv --cluster dask://10.0.0.7:8786";

const SWEEP_HELP: &str = "\
KEY is one of

  cpus, quantum, duration, warmup, tick, switch_cost, migration_cost: of the workload
  task.NAME.KEY, group.NAME.KEY, barrier.NAME.parties, topology.KEY: single values of the workload; entries of
      lists are numbers from 1, as in task.web.program.1.run.exp
  load: the CPU time that open arrivals need, as a part of all CPUs. All times between arrivals are made longer or
      shorter by one factor. Every task must have open arrivals and end.
  PARAM or POLICY.PARAM: a parameter of the policies of -p, as in alpha or pbs.alpha. A policy without it has one row
      for all of its values.

Every point is run under every policy --reps times; repetition r has the same random numbers everywhere. The warm-up \
does not count, nor do jobs that began in it. Means and 95% intervals are over repetitions, by Student's t. With \
--baseline a row has the mean and interval of the differences between a policy and that one at the same point: random \
variation that both share does not widen it. Rows have a fixed order and, with the same seed, the same bytes, on any \
number of cores. A .csv grows row by row: --resume continues an interrupted run. Shards divide the runs, with \
--baseline the points; --merge takes the .csv of all, and makes the other formats as well. With --cluster the workers of a \
Dask cluster run the points, and the bytes are the same: they need the same divvy, and this machine Python with the package \
distributed. DIVVY_PYTHON names that Python, if it is not `python3`.

Examples:
  divvy sweep queue.toml --vary load=0.5..0.9:0.1 --vary alpha=0,1,inf -p pbs --baseline rr -o queue.html
  divvy sweep mix.toml --vary task.editor.weight=512,1024,2048 --vary cpus=1..4:1 -p sfs --shard 1/2 -o 1.csv
  divvy sweep --merge 1.csv 2.csv -o all.csv
  divvy sweep queue.toml --vary load=0.5..0.9:0.01 -p pbs -o queue.csv --cluster dask://10.0.0.7:8786";

/// Formats of a sweep's points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SweepFormat {
    /// For people: some of the columns
    Table,
    /// All of them
    Csv,
    /// The same, by a schema_version of its own
    Json,
}

/// An output that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadOutput {
    /// It exists.
    #[error("{} exists; --resume continues it if it is from this sweep, --force replaces it", .0.display())]
    Exists(PathBuf),
    /// It does not say which rows it has.
    #[error("{} cannot be resumed; only .csv can: write both, -o x.csv -o {}, or use --force", .0.display(), name(.0))]
    NotResumable(PathBuf),
    /// The ending is not known.
    #[error("{}: a result is a .csv, .json, .html or .parquet file; --format csv writes to stdout", .0.display())]
    Ending(PathBuf),
    /// The format was left out of this build.
    #[error("{}: this divvy was built without Parquet; build it with --features parquet, or write a .csv", .0.display())]
    NoParquet(PathBuf),
    /// A table on a terminal has more than the CSV, which is all that comes from a cluster.
    #[error("--cluster prints no table: give -o FILE, or --format csv or json")]
    NoTable,
    /// Two outputs have the same format.
    #[error("{}: another -o has the same format; give one of each", .0.display())]
    Twice(PathBuf),
}

impl Failure for BadOutput {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// A table of results that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct NoTable {
    path: PathBuf,
    source: io::Error,
}

impl Failure for NoTable {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Runs a sweep, or merges its shards.
pub fn run(args: &SweepArgs, output: Output) -> anyhow::Result<()> {
    if args.part {
        return cluster::part::run(output);
    }
    let files = Files::new(&args.output)?;
    if args.cluster.is_some() && files.is_empty() && args.format == SweepFormat::Table {
        return Err(BadOutput::NoTable.into());
    }
    if args.merge.is_empty() { sweep(args, &files, output) } else { merge(args, &files, output) }
}

/// Formats that the CSV is converted to when it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Html,
    Parquet,
}

/// The output files.
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

    /// Checks all outputs before the sweep, so that writing them does not fail at its end.
    fn check_writable(&self) -> Result<(), BadOutputPath> {
        self.others.iter().try_for_each(|(_, path)| output_path::file("-o", path))
    }

    /// Refuses to overwrite a file without --force or --resume.
    fn check(&self, args: &SweepArgs) -> Result<(), BadOutput> {
        let there = |path: &&PathBuf| path.exists() && !args.force;
        let other = self.others.iter().map(|(_, path)| path).find(there);
        match (self.csv.as_ref().filter(there), other) {
            (Some(csv), _) if !args.resume => Err(BadOutput::Exists(csv.clone())),
            (_, Some(other)) if args.resume && self.csv.is_none() => {
                Err(BadOutput::NotResumable(other.clone()))
            }
            // This output is made again from the CSV.
            (_, Some(other)) if !args.resume => Err(BadOutput::Exists(other.clone())),
            _ => Ok(()),
        }
    }
}

fn sweep(args: &SweepArgs, files: &Files, output: Output) -> anyhow::Result<()> {
    let policies = PolicyArgs { policy: args.policy.clone(), baseline: args.baseline.clone() };
    let (specs, baseline) = policies.specs()?;
    let baseline = specs.iter().find(|spec| Some(spec.to_string()) == baseline);
    let vary = |text: &String| Vary::parse(text, args.max_points);
    let varied: Vec<Vary> = args.vary.iter().map(vary).collect::<Result<_, _>>()?;
    let path = args.workload.as_deref().context("missing workload: give a TOML file")?;
    let text = Workload::read(path)?;
    let options = Options { seed: args.seed, reps: args.reps, ..args.machine.options() };
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
    let plan = Arc::new(Plan::new(&request)?);
    input::note_overload(plan.overload(), output);
    input::note_heavy_tail(plan.heavy_tail_note(), output);
    let (shard, shards) = args.shard.unwrap_or((1, 1));
    let rows = table::shard(&plan, shard, shards);
    files.check(args)?;
    files.check_writable()?;
    let mut result = Partial::begin(&plan, &rows, files, args)?;
    let left = &rows[result.done..];
    if result.done > 0 {
        output.note(&format!("{} of {} rows are done", result.done, rows.len()));
    }
    if let Some(address) = &args.cluster {
        let cluster = Cluster { address, command: &args.cluster_command };
        cluster::run(&plan, left, &request, &cluster, output, |lines| result.add(lines))?;
        return finish(&result.text, files, args, output, || Ok(result.text.clone()));
    }
    let bar = ProgressBar::new("sweep", output);
    let mut shown = Vec::new();
    divvy_sweep::run(&plan, left, &bar, |row| -> anyhow::Result<()> {
        result.add(&table::line(&plan, &row))?;
        if files.is_empty() {
            shown.push(row);
        }
        Ok(())
    })?;
    drop(bar);
    finish(&result.text, files, args, output, || draw(&plan, &shown, &result.text, output))
}

/// The rows, and what they say in short.
fn draw(plan: &Plan, rows: &[Row], csv: &str, output: Output) -> anyhow::Result<String> {
    let page = view::sweep::page(plan, rows, &finished(csv)?);
    Ok(view::terminal::draw(&page, output.columns(None), output.is_styled(None)))
}

/// The CSV so far, also in the file if there is one.
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

    /// Writes whole lines, so that an interrupted run can be resumed.
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
    finish(&text, files, args, output, || Ok(text.clone()))
}

fn read(path: &Path) -> Result<String, NoTable> {
    fs::read_to_string(path).map_err(|source| NoTable { path: path.to_owned(), source })
}

/// Writes the other outputs when all points are done.
fn finish(
    csv: &str,
    files: &Files,
    args: &SweepArgs,
    output: Output,
    table: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    for (form, path) in &files.others {
        let bytes = match form {
            Form::Json => json(csv)?.into_bytes(),
            Form::Html => view::sweep_page::write(&finished(csv)?, &this_command())?.into_bytes(),
            Form::Parquet => parquet(csv)?,
        };
        fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    match (files.is_empty(), args.format) {
        (true, SweepFormat::Csv) => output.write(csv, None),
        (true, SweepFormat::Json) => output.write(&json(csv)?, None),
        (true, SweepFormat::Table) => output.write(&table()?, None),
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

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    parts
        .filter(|(i, n)| (1..=*n).contains(i))
        .ok_or_else(|| "expected I/N, with I from 1 to N, as in 1/4".to_owned())
}
