//! `divvy replay TRACE -p SPEC..`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};
use divvy_sim::replay::{ReplayOptions, replay};
use divvy_sim::run::Options;
use divvy_trace::{Grade, WakePolicy};

use crate::args::choice::{Choice, one_of};
use crate::args::durations::positive_ns;
use crate::args::machine::MachineArgs;
use crate::args::output::OutputArgs;
use crate::args::policies::PolicyArgs;
use crate::args::schedule::ScheduleArgs;
use crate::assert::Claims;
use crate::input;
use crate::output::Output;
use crate::print::print;
use crate::progress::ProgressBar;
use crate::view::page::PageOptions;

/// Replay a recorded trace: what would its workload have done under another policy?
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy replay perf.data -p eevdf,gr3,pbs:alpha=2
  divvy replay build.perfetto-trace -p eevdf,sfs --keep make --strict B
  divvy replay perf.data -p gr3,eevdf --baseline eevdf --assert 'p99(delay, task=sleeper) < 4ms'")]
pub struct ReplayArgs {
    /// The trace: perf.data of `perf sched record`, what `perf script` prints, or Perfetto's; - is stdin
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,

    #[command(flatten)]
    pub policies: PolicyArgs,

    #[command(flatten)]
    pub recording: RecordingArgs,

    #[command(flatten)]
    pub machine: MachineArgs,

    #[command(flatten)]
    pub random: NoRandomArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub schedule: ScheduleArgs,
}

/// A replay has no random numbers: these options are for scripts that pass them to every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub struct NoRandomArgs {
    /// Number to write into the report; a replay has no random times, so it changes nothing
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Repetitions: only 1, because all would be the same
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = single)]
    pub reps: u32,
}

/// How to read a recording.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recording")]
pub struct RecordingArgs {
    /// Cause of wake-ups in the replay
    #[arg(long, value_parser = one_of(WAKES), default_value = "dep", value_name = "HOW")]
    pub wakes: WakePolicy,

    /// Slices end at multiples of this, as on a kernel with a tick [default: as the recorded preemptions
    /// show]
    #[arg(long, value_parser = positive_ns, value_name = "TIME")]
    pub tick: Option<u64>,

    /// Fail, with exit code 4, if the recording's grade is below this
    #[arg(long, value_parser = one_of(GRADES), ignore_case = true, value_name = "GRADE")]
    pub strict: Option<Grade>,

    /// Keep only threads of this name and those that they fork (repeat for more)
    #[arg(long, value_name = "COMM", action = ArgAction::Append, value_hint = ValueHint::CommandName)]
    pub keep: Vec<String>,

    /// One row per thread, as in make:1234, instead of one for all threads of a name
    #[arg(long)]
    pub per_thread: bool,
}

const WAKES: &[Choice<WakePolicy>] = &[
    ("dep", WakePolicy::Dependency, "As recorded: another task, a timer, the outside world"),
    ("fixed", WakePolicy::Fixed, "Every sleep lasts as long as in the recording"),
    ("open", WakePolicy::Open, "Every wake-up comes at the recording's time"),
];

/// Best first.
const GRADES: &[Choice<Grade>] = &[
    ("A", Grade::A, "Nothing that matters is missing"),
    ("B", Grade::B, "Small gaps"),
    ("C", Grade::C, "Tendencies only"),
    ("D", Grade::D, "Not reliable"),
];

/// Reads, replays, compares, checks.
pub fn run(args: &ReplayArgs, verbose: bool, output: Output) -> anyhow::Result<()> {
    let target = args.output.target(&args.trace)?;
    let (specs, baseline) = args.policies.specs()?;
    let claims = Claims::parse(&args.output.assert)?;
    let recording =
        input::trace(&args.trace)?.at_least(args.recording.strict)?.named(&args.recording.keep)?;
    let options = ReplayOptions {
        run: Options {
            seed: args.random.seed,
            reps: args.random.reps,
            ..args.schedule.options(&args.machine, &target)
        },
        wakes: args.recording.wakes,
        per_thread: args.recording.per_thread,
        tick_ns: args.recording.tick,
    };
    let bar = ProgressBar::new("simulating", output);
    let report = replay(&input::trace_name(&args.trace), &recording, &specs, &options, &bar);
    drop(bar);
    let page = PageOptions { baseline: baseline.as_deref(), all_tasks: verbose, by: None };
    claims.check(&print(report?, &page, &target, output)?)
}

fn single(text: &str) -> Result<u32, String> {
    match text {
        "1" => Ok(1),
        _ => Err(
            "a replay has no random times: every repetition would be the same; leave --reps out, or give 1"
                .to_owned(),
        ),
    }
}
