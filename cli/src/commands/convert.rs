//! `divvy convert IN OUT`.

use divvy_policy::units::show_duration;
use divvy_policy::{Failure, FailureKind};
use std::io::{self, BufRead as _, Read as _};
use std::path::Path;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use divvy_log::is_log;
use divvy_results::schedule::Schedule;
use divvy_results::text;
use divvy_sim::run::RunError;
use divvy_trace::{Recording, WakePolicy, replayable, write_chrome, write_perf_script, write_perfetto};
use divvy_workload::{JobLog, MAX_FILE_BYTES, Workload, rtapp};

use super::scheduler_log;
use crate::args::durations::positive_ns;
use crate::args::output::PERFETTO_ENDINGS;
use crate::input;
use crate::output::Output;
use crate::output_path;

/// Convert a trace or a workload to another format, or a trace to a workload
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy convert perf.data build.perfetto-trace
  divvy convert perf.data build.toml && divvy sim build.toml -p eevdf,gr3
  divvy convert rt-app.json mix.toml
  divvy convert perf.data build.json --to rt-app
  divvy convert log.swf.gz jobs.toml --second 10ms
  divvy convert scheduler.log scheduler.perfetto-trace

A workload made from a trace has the threads' CPU time, sleeps, wake-ups and forks, as in divvy replay.")]
pub struct ConvertArgs {
    /// A trace (perf.data, `perf script` or ftrace text, Perfetto, the log of `divvy load`) or a workload (TOML, JSON of
    /// rt-app, a log of jobs in the Standard Workload Format); - is stdin
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,

    /// The output: FILE.perfetto-trace (or .pftrace), FILE.txt (as `perf script`), FILE.toml (a workload), FILE.json (for a
    /// trace Chrome's trace events, for a workload rt-app's)
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// The output's format, whatever its name says
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<ConvertTo>,

    /// For a log of jobs: the time that a second of it becomes, as in 1s [default: 1ms]
    #[arg(long = "second", value_name = "TIME", value_parser = positive_ns)]
    pub second_ns: Option<u64>,

    /// For a log of jobs: leave out jobs that failed or were cancelled [default: what they ran counts]
    #[arg(long)]
    pub completed_only: bool,
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConvertTo {
    /// A trace for ui.perfetto.dev
    Perfetto,
    /// Trace events in JSON
    Chrome,
    /// As `perf script` prints
    PerfScript,
    /// A workload
    Toml,
    /// A workload for rt-app, in JSON
    RtApp,
}

/// Options for a log of jobs, and the input is none.
#[derive(Debug, thiserror::Error)]
#[error("{0} is no log of jobs: leave out --second and --completed-only")]
pub struct NoJobLog(String);

impl Failure for NoJobLog {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// The first bytes of a file tell a workload from a trace.
const SNIFFED_BYTES: u64 = 1 << 16;

/// A format that divvy does not write.
#[derive(Debug, thiserror::Error)]
#[error(
    "{file}: {what}; a trace can be written as FILE.perfetto-trace, FILE.json (Chrome), FILE.txt (perf script) or FILE.toml (a workload), \
     a workload as FILE.toml or FILE.json (rt-app); --to names the format if the name does not"
)]
pub struct UnknownFormat {
    file: String,
    what: &'static str,
}

impl Failure for UnknownFormat {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// The output's name gives its format, before the input is read; the input's content gives the input's.
pub fn run(args: &ConvertArgs, output: Output) -> anyhow::Result<()> {
    let to = match args.to {
        Some(to) => Some(to),
        None => by_name(&args.output)?,
    };
    output_path::refuse_input([args.input.as_path()], Some(&args.output))?;
    let start = start_of(&args.input)?;
    let is_job_log = Workload::is_job_log(&start);
    if !start.is_empty() && !is_job_log && (args.second_ns.is_some() || args.completed_only) {
        return Err(NoJobLog(input::trace_name(&args.input)).into());
    }
    if Workload::is_workload(&start, &args.input) {
        let log = args.job_log();
        let workload = input::workload_by(&args.input, &log, output)?;
        let head = if is_job_log { head_of_jobs(&args.input, &log) } else { String::new() };
        return write_workload(&workload, &head, to.unwrap_or(ConvertTo::RtApp), args, output);
    }
    let to = to.unwrap_or(ConvertTo::Chrome);
    if is_log(&args.input) {
        return match to {
            ConvertTo::Toml | ConvertTo::RtApp => {
                let file = args.output.display().to_string();
                let what = "a scheduler's log has no programs: convert a trace of the machine instead";
                Err(UnknownFormat { file, what }.into())
            }
            to => write_trace(&scheduler_log::read(&args.input, output)?, to, args, output),
        };
    }
    let recording = input::trace(&args.input)?;
    match to {
        ConvertTo::Toml | ConvertTo::RtApp => {
            let (workload, head) = programs(&recording, &args.input)?;
            write_workload(&workload, &head, to, args, output)
        }
        to => write_trace(&recording.schedule(), to, args, output),
    }
}

fn write_trace(schedule: &Schedule, to: ConvertTo, args: &ConvertArgs, output: Output) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    match to {
        ConvertTo::Perfetto => write_perfetto(schedule, &mut bytes)?,
        ConvertTo::PerfScript => write_perf_script(schedule, &mut bytes)?,
        _ => write_chrome(schedule, &mut bytes)?,
    }
    output.write_bytes(&bytes, Some(&args.output))
}

/// `None` for JSON: that is Chrome's format for a trace and rt-app's for a workload.
fn by_name(file: &Path) -> Result<Option<ConvertTo>, UnknownFormat> {
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let refuse = |what| Err(UnknownFormat { file: file.display().to_string(), what });
    match ending.as_str() {
        ending if PERFETTO_ENDINGS.contains(&ending) => Ok(Some(ConvertTo::Perfetto)),
        "json" => Ok(None),
        "txt" => Ok(Some(ConvertTo::PerfScript)),
        "toml" => Ok(Some(ConvertTo::Toml)),
        "data" => refuse("divvy reads perf.data and does not write it"),
        _ => refuse("its name does not say the format"),
    }
}

/// The first bytes of the input. A file that cannot be opened counts as a trace: reading it then gives the error.
fn start_of(input: &Path) -> anyhow::Result<Vec<u8>> {
    let mut start = Vec::new();
    if input == Path::new("-") {
        start.extend_from_slice(io::stdin().lock().fill_buf()?);
    } else if let Ok(file) = std::fs::File::open(input) {
        let _ = file.take(SNIFFED_BYTES).read_to_end(&mut start);
    }
    Ok(start)
}

impl ConvertArgs {
    fn job_log(&self) -> JobLog {
        let standard = JobLog::default();
        JobLog {
            second_ns: self.second_ns.unwrap_or(standard.second_ns),
            completed_only: self.completed_only,
        }
    }
}

/// A comment for the top of the file.
fn head_of_jobs(input: &Path, log: &JobLog) -> String {
    let failed = if log.completed_only { " Failed and cancelled jobs are left out." } else { "" };
    format!(
        "# The jobs of {}. A second of the log is {}.{failed}\n\n",
        shown_name(input),
        show_duration(log.second_ns)
    )
}

/// The input's name, fit for a comment.
fn shown_name(input: &Path) -> String {
    input::trace_name(input).chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

fn write_workload(
    workload: &Workload,
    head: &str,
    to: ConvertTo,
    args: &ConvertArgs,
    output: Output,
) -> anyhow::Result<()> {
    let written = match to {
        ConvertTo::Toml => head.to_owned() + &workload.to_toml(),
        ConvertTo::RtApp => {
            let (written, notes) = rtapp::write(workload)?;
            output.notes(&notes);
            written
        }
        _ => {
            let file = args.output.display().to_string();
            let what =
                "a workload has no events: simulate it, with divvy sim IN -p POLICY -o OUT.perfetto-trace";
            return Err(UnknownFormat { file, what }.into());
        }
    };
    output.write_bytes(written.as_bytes(), Some(&args.output))?;
    let (lines, size) = (text::count(written.lines().count() as f64), written.len());
    if !head.is_empty() {
        output.note(&format!(
            "note: {} tasks in {lines} lines, {} kB",
            workload.tasks.len(),
            size.div_ceil(1000)
        ));
    }
    if size as u64 > MAX_FILE_BYTES {
        output.note("note: that is longer than the 64 MiB that divvy reads: take a part of it");
    }
    Ok(())
}

/// The threads of a recording as programs, and a comment for the top of the file.
fn programs(recording: &Recording, input: &Path) -> anyhow::Result<(Workload, String)> {
    let name = input::trace_name(input);
    let replay = replayable(recording, WakePolicy::Dependency);
    let workload = replay.workload(&name);
    workload.check().map_err(|problem| RunError::Workload(format!("{name}: {problem}")))?;
    let (wakes, span) = (&replay.wakes, text::time(replay.span_ns as f64));
    let shown = shown_name(input);
    let head = format!(
        "# The threads of {shown} in {span}, as programs: CPU time, sleeps, wake-ups and forks. The schedule\n\
         # of the recorded scheduler is not included. The recording's grade is {:?} (A to D).\n\
         # Sleeps: {} ended by another task (`wait` and `wake`), {} by timers, {} by devices and the outside, {} unknown.\n\
         # Not included, because a trace does not have them: CPU affinity, groups, and locks other than as wake-ups. Real-time threads are nice -20.\n\n",
        recording.quality.grade(),
        wakes.dependency,
        wakes.timer,
        wakes.external + wakes.device,
        wakes.unknown,
    );
    Ok((workload, head))
}
