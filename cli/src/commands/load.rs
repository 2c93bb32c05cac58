//! `divvy load SPEC`.

use std::ffi::OsString;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use divvy_kernel::flow::DEFAULT_DB;
use divvy_kernel::load::MAX_POOL;
use divvy_kernel::load::{self, End, Grouping, LoadError, Options, Period, Watch};
use divvy_policy::spec;

use crate::args::durations::{duration, positive_duration};
use crate::output::Output;
use crate::view::{interval, safe, verified};

/// Make a policy the kernel's scheduler, until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo divvy load gr3+procfair
  sudo divvy load sfq+feasible --quiet --exec make -j8
  sudo divvy load rr:quantum=2ms --duration 1min --format json
  sudo divvy load sfs+procfair --dry-run",
    after_long_help = LOAD_HELP)]
pub struct LoadArgs {
    /// The policy: SELECTION[:param=value]..[+MODIFIER[:param=value]..]..
    ///
    /// `divvy policies` lists selections and modifiers, `divvy policies NAME` their parameters.
    #[arg(value_name = "SPEC", value_hint = ValueHint::Other)]
    pub spec: String,

    /// Run this command under the policy, unload when it ends, and return its exit code; it takes the rest of the line
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true, conflicts_with = "command",
        value_hint = ValueHint::CommandName)]
    pub exec: Vec<OsString>,

    /// A command to run under the policy, as with --exec
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,

    /// Only let this kernel verify the policy, and print what each BPF program costs its verifier; nothing is scheduled
    #[arg(long, conflicts_with_all = ["exec", "command", "duration", "log"])]
    pub dry_run: bool,

    /// Unload after this time
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,

    #[command(flatten)]
    pub scheduler: SchedulerArgs,

    #[command(flatten)]
    pub watch: WatchArgs,
}

/// Settings of a scheduler in the kernel.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scheduler")]
pub struct SchedulerArgs {
    /// Slice of policies that do not set their own
    #[arg(long, value_name = "TIME", default_value = "4ms", value_parser = positive_duration)]
    pub quantum: Duration,

    /// How long a task may wait for a CPU before the kernel unloads the policy; at most 30s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = watchdog)]
    pub timeout: Duration,

    /// Starvation limit: a task that waits this long runs next, once; 0s means never [default: half of --timeout]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub patience: Option<Duration>,

    /// Honour cpu.weight: divide the CPUs among cgroups, and a cgroup's part among its tasks and cgroups (adds +groups)
    ///
    /// At each level tasks count by their own weights, and cgroups by cpu.weight, where 100 is nice 0. A cgroup gets no
    /// more CPUs than it has runnable tasks, and others get the rest. A cgroup without the controller cpu belongs to
    /// the one above it. Not honoured: cpu.max, cpu.idle (such a cgroup has weight 1, as its cpu.weight says), cpu.uclamp.
    #[arg(long, conflicts_with = "users")]
    pub cgroups: bool,

    /// Divide the CPUs equally among users, and a user's part among the user's tasks (adds +groups)
    #[arg(long)]
    pub users: bool,

    /// Most tasks that the policy takes; further ones wait in a separate queue
    #[arg(long, value_name = "N", default_value_t = i64::from(MAX_POOL) - 1,
        value_parser = clap::value_parser!(i64).range(1..i64::from(MAX_POOL)))]
    pub pool: i64,

    /// Where +flow keeps what it learns of programs; `divvy flow` shows it
    #[arg(long, value_name = "FILE", default_value = DEFAULT_DB, value_hint = ValueHint::FilePath)]
    pub db: PathBuf,

    /// Members of this group may also watch it and send commands (divvy top, divvy set)
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    pub group: Option<String>,

    /// For tests: each N-th task gets no place
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    pub fail_every: u32,
}

/// Statistics while it runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct WatchArgs {
    /// Time between statistics; -q prints only those of the whole run
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = positive_duration)]
    pub interval: Duration,

    /// Number of tasks to show, those that received the most CPU time
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// How to print statistics; json has one line per interval
    #[arg(long, value_enum, default_value = "table")]
    pub format: LoadFormat,

    /// Write the decision log to this file: the events that the policy saw, and its decisions
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub log: Option<PathBuf>,
}

/// Formats of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadFormat {
    /// For people
    Table,
    /// One line per interval
    Json,
}

const LOAD_HELP: &str = "\
This needs root and Linux >= 6.12 with sched_ext; divvy doctor says what is missing. If divvy ends, in whatever way, \
or the kernel finds that a task waits for too long, the kernel's own scheduler takes over. CPU time received by a task \
that is running is its value at the last tick.

Examples:
  sudo divvy load gr3+procfair
  sudo divvy load sfq+feasible --quiet --exec make -j8
  sudo divvy load rr:quantum=2ms --duration 1min --format json
  sudo divvy load sfs+procfair --dry-run";

/// The command under the scheduler failed with this exit code.
#[derive(Debug, thiserror::Error)]
#[error("the command ended with exit code {0}")]
pub struct CommandFailed(pub u8);

/// Loads the policy, and shows what it does.
pub fn run(args: &LoadArgs, output: Output) -> anyhow::Result<()> {
    let options = options(args)?;
    if args.dry_run {
        return dry_run(&options, args.watch.format, output);
    }
    let mut watch = Screen { format: args.watch.format, output, failed: None };
    let end = load::load(&options, &mut watch).inspect_err(dump)?;
    watch.failed.map_or(Ok(()), Err)?;
    match end {
        End::Asked | End::Command(0) => Ok(()),
        End::Command(code) => Err(CommandFailed(code).into()),
    }
}

fn dry_run(options: &Options, format: LoadFormat, output: Output) -> anyhow::Result<()> {
    let programs = load::dry_run(options)?;
    let text = match format {
        LoadFormat::Table => verified::table(&options.spec.to_string(), &programs),
        LoadFormat::Json => verified::json(&options.spec.to_string(), &programs)?,
    };
    output.write(&text, None)
}

fn grouping(args: &SchedulerArgs) -> Option<Grouping> {
    match (args.cgroups, args.users) {
        (true, _) => Some(Grouping::Cgroups),
        (false, true) => Some(Grouping::Users),
        (false, false) => None,
    }
}

fn options(args: &LoadArgs) -> anyhow::Result<Options> {
    let command = if args.exec.is_empty() { &args.command } else { &args.exec };
    Ok(Options {
        spec: spec::parse(&args.spec, divvy_policy::all())?,
        quantum: args.scheduler.quantum,
        timeout: args.scheduler.timeout,
        starvation_limit: args.scheduler.patience.unwrap_or(args.scheduler.timeout / 2),
        grouping: grouping(&args.scheduler),
        pool: u32::try_from(args.scheduler.pool)?,
        interval: args.watch.interval,
        duration: args.duration,
        command: command.clone(),
        log: args.watch.log.clone(),
        db: args.scheduler.db.clone(),
        group: args.scheduler.group.clone(),
        top: args.watch.top,
        fail_every: args.scheduler.fail_every,
    })
}

/// Prints the kernel's dump if it threw the scheduler out: it helps to find the reason.
fn dump(error: &LoadError) {
    if let LoadError::ThrownOut { dump, .. } = error {
        let _ = writeln!(anstream::stderr(), "{}", safe::lines(dump.trim_end()));
    }
}

struct Screen {
    format: LoadFormat,
    output: Output,
    /// The first error in writing, as when nobody reads any more.
    failed: Option<anyhow::Error>,
}

impl Screen {
    fn show(&mut self, interval: &Period, is_total: bool) {
        let text = match self.format {
            LoadFormat::Table => Ok(interval::table(interval, is_total, self.output.columns(None))),
            LoadFormat::Json => interval::json(interval, is_total),
        };
        let written = text.map_err(anyhow::Error::from).and_then(|text| self.output.write(&text, None));
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }
}

impl Watch for Screen {
    fn note(&mut self, text: &str) {
        self.output.note(text);
    }

    fn interval(&mut self, interval: &Period) -> ControlFlow<()> {
        if !self.output.is_quiet() {
            self.show(interval, false);
        }
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn total(&mut self, total: &Period) {
        if self.failed.is_none() {
            self.show(total, true);
        }
    }
}

/// Reads the watchdog's time; the kernel has its own limit.
fn watchdog(text: &str) -> Result<Duration, String> {
    match positive_duration(text)? {
        time if time > Duration::from_secs(30) => Err("the kernel takes at most 30s".to_owned()),
        time if time < Duration::from_millis(1) => Err("it must be at least 1ms".to_owned()),
        time => Ok(time),
    }
}
