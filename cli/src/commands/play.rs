//! `divvy play WORKLOAD`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use divvy_play::Scale;
use divvy_play::{ByScheduler, Options, play};
use divvy_sim::run::{self, adapted};
use divvy_workload::Workload;

use crate::args::durations::positive_ns;
use crate::args::output::OutputArgs;
use crate::args::random::RandomArgs;
use crate::assert::Claims;
use crate::input;
use crate::output::Output;
use crate::print::print;
use crate::progress::ProgressBar;
use crate::view::page::PageOptions;

/// This command itself, also when its file was replaced or removed after the run began.
const COMMAND: &str = "/proc/self/exe";

/// Run a workload with real threads, under the kernel's scheduler
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  divvy play mix.toml
  divvy play mix.toml --duration 5s --format json -o mix.json
  divvy play shares.toml --scale-weights auto --assert 'max(error) < 50ms'",
    after_long_help = "\
It reads the workload file of `divvy sim` and prints the same report, for one policy: kernel: and the name of \
the scheduler that is loaded through sched_ext, or eevdf or cfs. Each instance of a task is a thread, in the process \
that the task names or in its own. A task that names an executable and no process executes a program of its own, which +flow knows \
when it runs again. Calibrated loops use up CPU time; with the same seed, demands and \
sleeps are those of the simulation. The workload's CPUs are the first of those that divvy itself may use.

Quantum, tick and costs of the workload are ignored: they are the kernel's here. Service errors are as \
precise as the clock is read, every 200us of work; a switch is counted when a thread leaves its CPU; decisions are \
not known, and migrations only where the kernel reports them. Only weights above that of nice 0 need root.

Examples:
  divvy play mix.toml
  divvy play mix.toml --duration 5s --format json -o mix.json
  divvy play shares.toml --scale-weights auto --assert 'max(error) < 50ms'"
)]
pub struct PlayArgs {
    /// The workload, a TOML file
    #[arg(value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub workload: PathBuf,

    /// Number of CPUs [default: as the workload says]
    #[arg(long, value_name = "N", help_heading = "Machine", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub cpus: Option<u32>,

    /// How long to run, as in 5s [default: as the workload says]
    #[arg(long = "duration", value_name = "TIME", help_heading = "Machine", value_parser = positive_ns)]
    pub duration_ns: Option<u64>,

    /// How far weights may be changed to become nice values: exact, auto (1%), or as in 5%
    ///
    /// The kernel takes weights as nice values: 1024 is nice 0, and a step is a factor of about 1.25 (88761 to 15).
    /// If all weights are in this table, they are used as they are. Others are multiplied by one factor that brings them
    /// into it, which keeps their shares. This works for equal weights, and for 1 and 2; for 1, 2 and 3 only to 2%.
    ///
    /// A policy that `divvy load` loaded takes any weights as they are, if its socket admits this user.
    #[arg(long, value_name = "HOW", help_heading = "Machine", default_value = "exact", value_parser = scale)]
    pub scale_weights: Scale,

    /// Largest number of threads at one time
    #[arg(long, value_name = "N", help_heading = "Machine", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_threads: u32,

    #[command(flatten)]
    pub random: RandomArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Runs it with real threads, prints, checks.
pub fn run(args: &PlayArgs, verbose: bool, output: Output) -> anyhow::Result<()> {
    let target = args.output.target(&args.workload)?;
    let claims = Claims::parse(&args.output.assert)?;
    let options = run::Options { cpus: args.cpus, duration_ns: args.duration_ns, ..run::Options::default() };
    // A kernel has its own topology, which need not fit that of the file.
    let workload = Workload { topology: None, ..input::workload(&args.workload, output)? };
    let workload = adapted(&workload, &options)?;
    claims.check_names(&workload)?;
    let RandomArgs { seed, reps } = args.random;
    let options = Options { seed, reps, max_threads: args.max_threads, command: Some(Path::new(COMMAND)) };
    let bar = ProgressBar::new("running", output);
    let played = play(&workload, &options, &mut ByScheduler::new(args.scale_weights), &bar);
    drop(bar);
    let played = played?;
    output.notes(&played.notes);
    let page = PageOptions { baseline: None, all_tasks: verbose, by: None };
    claims.check(&print(played.report, &page, &target, output)?)
}

fn scale(text: &str) -> Result<Scale, String> {
    let percent =
        || text.strip_suffix('%')?.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
    match text {
        "exact" => Ok(Scale::Exact),
        "auto" => Ok(Scale::Within(0.01)),
        _ => percent()
            .map(|share| Scale::Within(share / 100.0))
            .ok_or_else(|| "expected exact, auto, or a percentage of 0% to 100%, as in 5%".to_owned()),
    }
}
