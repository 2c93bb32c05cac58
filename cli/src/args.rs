//! What can be asked on the command line; help, completions and man pages come from here.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use divvy_kernel::flow::DEFAULT_DB;
use divvy_kernel::load::MAX_POOL;
use divvy_play::Scale;
use divvy_policy::units::parse_duration;
use divvy_sweep::WarmUp;

use crate::commands::help::HelpArgs;
use crate::top::metrics;
use crate::top::rows::{By, Column};
use crate::{assert, exit};

/// Options that every command has stand behind those of the command.
const LAST: usize = 1000;

/// Divides the CPU on purpose: simulate, replay and load scheduling policies.
#[derive(Debug, Parser)]
#[command(name = "divvy", version, max_term_width = 100, after_help = exit::HELP, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Colour and emphasis; auto honours NO_COLOR and CLICOLOR_FORCE
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        display_order = LAST,
        help_heading = "Output"
    )]
    pub color: Color,

    /// No progress and no notes on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = LAST, help_heading = "Output")]
    pub quiet: bool,

    /// Every task under every policy, however many there are
    #[arg(short, long, global = true, display_order = LAST, help_heading = "Output")]
    pub verbose: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Sim(SimArgs),
    Replay(ReplayArgs),
    Report(ReportArgs),
    Convert(ConvertArgs),
    Load(LoadArgs),
    Set(SetArgs),
    Top(TopArgs),
    Flow(FlowArgs),
    Doctor(DoctorArgs),
    Play(PlayArgs),
    Verify(VerifyArgs),
    Policies(PoliciesArgs),
    Paper(PaperArgs),
    Sweep(SweepArgs),
    Help(HelpArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Simulate a workload under one or more policies, and compare them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy sim mix.toml -p rr,sfq,gr3
  divvy sim mix.toml -p pbs:alpha=2+procfair --reps 10 --format json -o mix.json
  divvy sim mix.toml -p gr3 --gantt --gantt-span 1s..1200ms --assert 'max(error) < 8ms'")]
pub struct SimArgs {
    /// The workload, a TOML file
    #[arg(value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub workload: PathBuf,

    #[command(flatten)]
    pub policies: PolicyArgs,

    #[command(flatten)]
    pub machine: MachineArgs,

    #[command(flatten)]
    pub chance: ChanceArgs,

    #[command(flatten)]
    pub show: ShowArgs,

    #[command(flatten)]
    pub schedule: ScheduleArgs,
}

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
    pub chance: NoChanceArgs,

    #[command(flatten)]
    pub show: ShowArgs,

    #[command(flatten)]
    pub schedule: ScheduleArgs,
}

/// Make a page with figures of results: one HTML file that needs no network
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy sim mix.toml -p rr,eevdf,sfs --figures --format json -o mix.json && divvy report mix.json -o mix.html
  divvy report monday.json tuesday.json -o both.html
  divvy sim mix.toml -p rr,eevdf,sfs -o mix.html")]
pub struct ReportArgs {
    /// Results of divvy sim, replay or play in JSON, with --figures; - is stdin
    #[arg(value_name = "RUN", required = true, value_hint = ValueHint::FilePath)]
    pub runs: Vec<PathBuf>,

    /// Write the page to this file; - is stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// Convert a trace or a workload to another format, or a trace to a workload
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy convert perf.data build.perfetto-trace
  divvy convert perf.data build.toml && divvy sim build.toml -p eevdf,gr3
  divvy convert rt-app.json mix.toml
  divvy convert mix.toml mix.json
  divvy convert perf.data build.json --to rt-app
  divvy convert scheduler.log scheduler.perfetto-trace

Of a trace the workload has the threads' CPU time, sleeps, wake-ups and forks, as divvy replay takes them.")]
pub struct ConvertArgs {
    /// A trace (perf.data, `perf script` or ftrace text, Perfetto, the log of `divvy load`) or a workload (TOML, JSON of
    /// rt-app); - is stdin
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,

    /// Where to: FILE.perfetto-trace (or .pftrace), FILE.txt (as `perf script`), FILE.toml (a workload), FILE.json (of a
    /// trace Chrome's trace events, of a workload rt-app's)
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// In which format, whatever the name says
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<ConvertTo>,
}

/// A format that is written.
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

/// Run a workload with real threads, under the kernel's scheduler
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  divvy play mix.toml
  divvy play mix.toml --duration 5s --format json -o mix.json
  divvy play shares.toml --scale-weights auto --assert 'max(error) < 50ms'",
    after_long_help = "\
The file is the one that `divvy sim` reads, the report the one that it gives, for one policy: kernel: and the name of \
the scheduler that is loaded through sched_ext, or eevdf or cfs. Each instance of a task is a thread, of the process \
that the task names or of one of its own. CPU time is used up by calibrated loops; with the same seed, demands and \
sleeps are those of the simulation. The workload's CPUs are the first of those that divvy itself may use.

Quantum, tick and costs of the workload are the kernel's business here, and count for nothing. Service errors are as \
sharp as the clock is looked at, every 200us of work; a switch is counted when a thread leaves its CPU; decisions are \
not known, and migrations only where the kernel tells. Nothing needs root, but for weights above that of nice 0.

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
    #[arg(long, value_name = "TIME", help_heading = "Machine", value_parser = positive_duration)]
    pub duration: Option<u64>,

    /// How far weights may be off to become nice values: exact, auto (1%), or as in 5%
    ///
    /// The kernel knows weights as nice values: 1024 is nice 0, and a step is a factor of about 1.25 (88761 to 15).
    /// Weights that are all of this table are taken as they are. Others are multiplied by one factor that makes them
    /// such, which keeps their shares; equal weights always can be, 1 and 2 can be, 1, 2 and 3 only to 2%.
    ///
    /// A policy that `divvy load` loaded takes any weights, and gets them as they are if its socket lets this user in.
    #[arg(long, value_name = "HOW", help_heading = "Machine", default_value = "exact", value_parser = scale)]
    pub scale_weights: Scale,

    /// Most threads at one time
    #[arg(long, value_name = "N", help_heading = "Machine", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_threads: u32,

    #[command(flatten)]
    pub chance: ChanceArgs,

    #[command(flatten)]
    pub show: ShowArgs,
}

/// Make a policy the kernel's scheduler, until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo divvy load gr3+procfair
  sudo divvy load sfq+feasible --quiet --exec make -j8
  sudo divvy load rr:quantum=2ms --duration 1min --format json",
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

    /// Unload after this time
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<u64>,

    #[command(flatten)]
    pub scheduler: SchedulerArgs,

    #[command(flatten)]
    pub watch: WatchArgs,
}

/// Change the loaded policy: a thread's weight, or a parameter
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo divvy set 1234 weight=2048
  sudo divvy set 1234 weight
  sudo divvy set alpha=0.5")]
pub struct SetArgs {
    /// A thread's number; or a parameter of the policy, with or without =VALUE
    #[arg(value_name = "TID|PARAM", value_hint = ValueHint::Other)]
    pub target: String,

    /// weight=N sets the thread's weight until its nice value changes, weight prints it; nice 0 is 1024
    #[arg(value_name = "weight[=N]", value_hint = ValueHint::Other)]
    pub setting: Option<String>,
}

/// Watch the loaded policy: who is entitled to what, who receives it, who waits
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy top
  divvy top --by cgroup --sort error
  divvy top --once --format json
  divvy top --metrics 127.0.0.1:9123", after_long_help = TOP_HELP)]
pub struct TopArgs {
    /// Between looks at the scheduler
    #[arg(short = 'd', long, value_name = "TIME", default_value = "1s", value_parser = top_interval)]
    pub interval: u64,

    /// Print so many intervals as text, instead of a screen
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub times: Option<u64>,

    /// Print one interval as text
    #[arg(long, conflicts_with = "times")]
    pub once: bool,

    /// What has a row
    #[arg(long, value_enum, default_value = "thread")]
    pub by: By,

    /// What comes first
    #[arg(long, value_enum, default_value = "received")]
    pub sort: Column,

    /// Only rows with this text in their name, user, cgroup or number
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub filter: String,

    /// Rows to print, of those that had or wanted a CPU; the screen has all
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    pub top: usize,

    /// Print as text, instead of a screen: json has a line an interval, csv a line a row
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<TopFormat>,

    /// Answer scrapes by Prometheus, at http://ADDRESS/metrics; of a loopback address
    ///
    /// Where there is no terminal nothing else is done, and it goes on when the scheduler is unloaded: divvy_up is 0 then.
    #[arg(long, value_name = "ADDRESS", value_parser = metrics::loopback, help_heading = "Metrics",
        value_hint = ValueHint::Other)]
    pub metrics: Option<SocketAddr>,

    /// Threads with metrics of their own, those that received the most
    #[arg(long, value_name = "N", default_value_t = metrics::THREADS, requires = "metrics", help_heading = "Metrics")]
    pub metrics_threads: usize,
}

/// Forms of what `divvy top` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TopFormat {
    /// For people
    Table,
    /// A line an interval
    Json,
    /// A line a row
    Csv,
}

const TOP_HELP: &str = "\
Who may run divvy set may run this: root, or a member of the group of divvy load --group. The keys are those of htop; \
F1 or h shows them. Without a terminal it prints a table an interval. ENTL% and RECV% are of all that the CPUs have; \
ERROR is CPU time received over that entitled to, since loading; WAIT the mean time for which a turn was waited for, in \
the interval. WEIGHT of a process, user or cgroup is the sum over its threads that ran or waited.

Examples:
  divvy top
  divvy top --by cgroup --sort error
  divvy top --once --format json
  divvy top --metrics 127.0.0.1:9123";

/// What the modifier flow learned of programs: list, show, remove, export
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy flow ls
  sudo divvy flow rm 3f9a
  divvy flow export --format csv > programs.csv")]
pub struct FlowArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: FlowCommand,

    /// The database, as `divvy load --db` wrote it
    #[arg(long, value_name = "FILE", global = true, default_value = DEFAULT_DB, value_hint = ValueHint::FilePath)]
    pub db: PathBuf,
}

/// What to do with what is known of programs.
#[derive(Debug, Subcommand)]
pub enum FlowCommand {
    /// List the programs, those first that were stored last
    Ls,
    /// Show a program's sequence, and how well it was predicted
    Show {
        /// The beginning of its identity, or a part of its command line
        #[arg(value_name = "PROGRAM", value_hint = ValueHint::Other)]
        program: String,
    },
    /// Remove programs: the scheduler learns them anew
    Rm {
        /// The beginning of a program's identity, or a part of its command line; all that fit go
        #[arg(value_name = "PROGRAM", required_unless_present = "all", value_hint = ValueHint::Other)]
        programs: Vec<String>,

        /// All of them
        #[arg(long, conflicts_with = "programs")]
        all: bool,
    },
    /// Print everything, for other programs
    Export {
        /// How to print it
        #[arg(long, value_enum, default_value = "json", help_heading = "Output")]
        format: ExportFormat,
    },
}

/// Forms of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// All that is known
    Json,
    /// A line a run
    Csv,
}

/// Say what works on this machine, and what to do about the rest
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy doctor
  sudo divvy doctor
  divvy doctor --format json")]
pub struct DoctorArgs {
    /// How to print it
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: PlainFormat,
}

/// How a scheduler in the kernel works.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scheduler")]
pub struct SchedulerArgs {
    /// Slice of policies that do not set their own
    #[arg(long, value_name = "TIME", default_value = "4ms", value_parser = positive_duration)]
    pub quantum: u64,

    /// How long a task may wait for a CPU before the kernel throws the policy out; at most 30s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = watchdog)]
    pub timeout: u64,

    /// How long a task may wait before it gets one turn out of order; 0s is never [default: half of --timeout]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub patience: Option<u64>,

    /// Honour cpu.weight: divide the CPUs among cgroups, and a cgroup's part among its tasks and cgroups (adds +groups)
    ///
    /// At each level tasks count by their own weights, and cgroups by cpu.weight, of which 100 is nice 0. A cgroup gets no
    /// more CPUs than it has runnable tasks, and others get what that leaves. A cgroup without the controller cpu belongs to
    /// the one above it. Not honoured: cpu.max, cpu.idle (such a cgroup has weight 1, as its cpu.weight says), cpu.uclamp.
    #[arg(long, conflicts_with = "users")]
    pub cgroups: bool,

    /// Divide the CPUs among users, the same for each, and a user's part among the user's tasks (adds +groups)
    #[arg(long)]
    pub users: bool,

    /// Tasks that the policy takes at most; further ones wait in a queue beside it
    #[arg(long, value_name = "N", default_value_t = i64::from(MAX_POOL) - 1,
        value_parser = clap::value_parser!(i64).range(1..i64::from(MAX_POOL)))]
    pub pool: i64,

    /// Where +flow keeps what it learns of programs; `divvy flow` shows it
    #[arg(long, value_name = "FILE", default_value = DEFAULT_DB, value_hint = ValueHint::FilePath)]
    pub db: PathBuf,

    /// Members of this group, too, may look at it and send commands (divvy top, divvy set)
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    pub group: Option<String>,

    /// For tests: each N-th task gets no place
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    pub fail_every: u32,
}

/// What to see of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct WatchArgs {
    /// Between statistics; -q has only those of the whole run
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = positive_duration)]
    pub interval: u64,

    /// Tasks to show, those that received the most
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// How to print statistics; json has a line an interval
    #[arg(long, value_enum, default_value = "table")]
    pub format: LoadFormat,

    /// Write what the policy was told and decided to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub log: Option<PathBuf>,
}

/// Forms of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadFormat {
    /// For people
    Table,
    /// A line an interval
    Json,
}

const LOAD_HELP: &str = "\
Linux >= 6.12 with sched_ext and root are needed; divvy doctor says what is missing. If divvy ends, in whatever way, \
or the kernel finds that a task waits for too long, the kernel's own scheduler takes over. Of a task that runs, CPU time \
received is that at the last tick.

Examples:
  sudo divvy load gr3+procfair
  sudo divvy load sfq+feasible --quiet --exec make -j8
  sudo divvy load rr:quantum=2ms --duration 1min --format json";

/// Which policies.
#[derive(Debug, Args)]
#[command(next_help_heading = "Policies")]
pub struct PolicyArgs {
    /// What to run: SELECTION[:param=value]..[+MODIFIER[:param=value]..].., several by commas or by repeating -p
    ///
    /// `divvy policies` lists selections and modifiers, `divvy policies NAME` their parameters. Times have a unit
    /// (quantum=2ms), ratios are decimals or inf.
    #[arg(short, long = "policy", required = true, value_name = "SPEC", action = ArgAction::Append, value_hint = ValueHint::Other)]
    pub policy: Vec<String>,

    /// Relate the others to this policy; it is run as well if -p does not name it [default: the first]
    #[arg(long, value_name = "SPEC", value_hint = ValueHint::Other)]
    pub baseline: Option<String>,
}

/// On which machine.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
pub struct MachineArgs {
    /// Number of CPUs [default: as the workload says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub cpus: Option<u32>,

    /// Simulated time, as in 30s [default: as the workload says]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<u64>,

    /// Slice of policies that do not set their own, as in 2ms [default: as the workload says]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub quantum: Option<u64>,
}

/// What chance has to do with it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub struct ChanceArgs {
    /// Number that all random times come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Repetitions, each with its own random times, the same for every policy
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub reps: u32,
}

/// What chance has not to do with it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub struct NoChanceArgs {
    /// Number to write into the report: a replay draws no random times, and is the same for all
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Repetitions: only 1, as every other would be the same
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = single)]
    pub reps: u32,
}

/// How to read a recording.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recording")]
pub struct RecordingArgs {
    /// What wakes a task in the replay
    #[arg(long, value_enum, default_value = "dep", value_name = "HOW")]
    pub wakes: Wakes,

    /// Fail, with exit code 4, if the recording's grade is below this
    #[arg(long, value_enum, ignore_case = true, value_name = "GRADE")]
    pub strict: Option<Grade>,

    /// Keep only threads of this name and what they fork (repeat for more)
    #[arg(long, value_name = "COMM", action = ArgAction::Append, value_hint = ValueHint::CommandName)]
    pub keep: Vec<String>,

    /// A row a thread, as in make:1234, instead of one for all threads of a name
    #[arg(long)]
    pub per_thread: bool,
}

/// What to print, and what to check.
#[derive(Debug, Args)]
pub struct ShowArgs {
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

impl ShowArgs {
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

/// Which decisions to print, and what of the course of a run.
#[derive(Debug, Args)]
pub struct ScheduleArgs {
    /// Print the first N decisions of each CPU (not in csv)
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub schedule: Option<u32>,

    /// Put into json what figures are drawn from: series, distributions, timeline (html always has them)
    #[arg(long, help_heading = "Output")]
    pub figures: bool,

    /// Draw who ran on which CPU, under each policy (with the table)
    #[arg(long, help_heading = "Output")]
    pub gantt: bool,

    /// The part of the run that --gantt and --figure timeline draw, after the warm-up: FROM..TO, as in 1s..1200ms
    #[arg(long, value_name = "SPAN", default_value = "0s..200ms", help_heading = "Output", value_parser = span)]
    pub gantt_span: (u64, u64),
}

/// Check a kernel scheduler's log: does the native build decide the same?
///
/// Tells the native build of the policy every event that the scheduler in the kernel was told (`divvy load SPEC --log
/// FILE`), and compares every answer: which task, for how long, which CPU is asked to choose anew. A difference
/// fails with exit code 1. If records are missing, because the kernel had no room for them, what was told before the
/// first is compared, and the exit code is 3. A file that is damaged or cut off is bad input, 4.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy verify run.log
  divvy verify run.log --events --limit 20
  divvy verify run.log --format json > verdict.json")]
pub struct VerifyArgs {
    /// The log
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub log: PathBuf,

    /// Print the events, one a line, before the verdict
    #[arg(long, help_heading = "Output")]
    pub events: bool,

    /// Print only the first N events; all are verified
    #[arg(long, value_name = "N", requires = "events", help_heading = "Output")]
    pub limit: Option<u64>,

    /// How to print it; json has an object a line, the last is the verdict
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: PlainFormat,
}

/// List the policies, or show one: parameters, paper, guarantees
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy policies
  divvy policies gr3
  divvy policies --format json")]
pub struct PoliciesArgs {
    /// The policy to show
    #[arg(value_name = "NAME", value_hint = ValueHint::Other)]
    pub name: Option<String>,

    /// How to print it
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: PlainFormat,
}

/// List what the papers claim, or reproduce it: paper, measured, tolerance, verdict
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  divvy paper
  divvy paper sfs-5 -o plots
  divvy paper all --small -o claims.html",
    after_long_help = "\
Without an ID it lists the figures, tables and worked examples that can be reproduced, with the policies that each runs \
and how long it takes on two cores. Each claim has what the paper prints, what was measured, how near is near enough, \
and the verdict; one that does not reproduce stays so, with the reason. Then the exit code is 3.

The same seed gives the same bytes, on any number of cores; only costs (gr3-12, gr3-13, sfs-7, flow-overhead) are times of this machine. \
The GR3 study takes minutes: with --resume an interrupted run goes on where it was, and ends with the same bytes.

Examples:
  divvy paper
  divvy paper gr3-9 --resume found
  divvy paper sfs-5 -o plots
  divvy paper all --small -o claims.html"
)]
pub struct PaperArgs {
    /// A figure, as in gr3-9, or all
    #[arg(value_name = "ID", value_hint = ValueHint::Other)]
    pub id: Option<String>,

    /// The quick version: fewer samples; claims that need them all are not judged
    #[arg(long, requires = "id")]
    pub small: bool,

    /// Number that all random numbers come from
    #[arg(long, value_name = "N", default_value_t = 1, requires = "id")]
    pub seed: u64,

    /// Keep what the GR3 study finds in this directory, and go on with what is there from the same build
    #[arg(long, value_name = "DIR", requires = "id", value_hint = ValueHint::DirPath)]
    pub resume: Option<PathBuf>,

    /// How to print it
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: PlainFormat,

    /// Write the figures to this directory, as SVG; or, as FILE.html, everything as one page
    #[arg(short, long, value_name = "DIR", requires = "id", help_heading = "Output", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,
}

/// Vary parameters of a workload or policy: a row of means at every combination
#[derive(Debug, Args)]
#[command(
    after_help = SWEEP_EXAMPLES,
    after_long_help = SWEEP_HELP
)]
pub struct SweepArgs {
    /// The workload, a TOML file
    #[arg(value_name = "WORKLOAD", required_unless_present = "merge", value_hint = ValueHint::FilePath)]
    pub workload: Option<PathBuf>,

    /// What to vary: KEY=FROM..TO:STEP, KEY=A,B,C, or both mixed (repeat for every combination)
    #[arg(long, value_name = "KEY=VALUES", required_unless_present = "merge", action = ArgAction::Append,
        value_hint = ValueHint::Other)]
    pub vary: Vec<String>,

    /// What to run: SELECTION[:param=value]..[+MODIFIER[:param=value]..].., several by commas or by repeating -p
    #[arg(short, long = "policy", required_unless_present = "merge", value_name = "SPEC", action = ArgAction::Append,
        value_hint = ValueHint::Other, help_heading = "Policies")]
    pub policy: Vec<String>,

    /// Rows of differences from this policy as well, repetition by repetition; it is run even if -p does not name it
    #[arg(long, value_name = "SPEC", help_heading = "Policies", value_hint = ValueHint::Other)]
    pub baseline: Option<String>,

    #[command(flatten)]
    pub machine: MachineArgs,

    /// Number that all random times come from
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Chance")]
    pub seed: u64,

    /// Repetitions, each with its own random times, the same for every policy and point
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Chance",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub reps: u32,

    /// What does not count of each run, as in 10% or 5s [default: as the workload says; else 10% if tasks never end]
    #[arg(long, value_name = "PART", help_heading = "Chance", value_parser = warm_up)]
    pub warm_up: Option<WarmUp>,

    /// Rows of each task as well; instances of a task have a row each, as in T/1
    #[arg(long, help_heading = "Work")]
    pub per_task: bool,

    /// Most rows, over all policies
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = "Work",
        value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub max_points: u64,

    /// Run only the I-th of every N points, as in 1/4; --merge puts them together
    #[arg(long, value_name = "I/N", help_heading = "Work", value_parser = shard)]
    pub shard: Option<(usize, usize)>,

    /// Go on with the .csv of -o, if it is there and of this sweep
    #[arg(long, help_heading = "Work", requires = "output", conflicts_with = "force")]
    pub resume: bool,

    /// Put the .csv files of shards together: the same bytes as one run
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Work", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["workload", "vary", "policy", "baseline", "per_task", "shard", "resume", "MachineArgs",
            "warm_up"])]
    pub merge: Vec<PathBuf>,

    /// How to print the points to stdout, when there is no -o
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: SweepFormat,

    /// Write the points to FILE.csv, .json, .html (a page with figures) or .parquet instead (repeat for several)
    #[arg(short, long, value_name = "FILE", action = ArgAction::Append, help_heading = "Output",
        value_hint = ValueHint::FilePath)]
    pub output: Vec<PathBuf>,

    /// Replace files that are there
    #[arg(long, help_heading = "Output", requires = "output")]
    pub force: bool,
}

const SWEEP_EXAMPLES: &str = "\
Examples:
  divvy sweep queue.toml --vary load=0.5..0.9:0.1 --vary alpha=0,1,inf -p pbs --baseline rr -o queue.html
  divvy sweep mix.toml --vary task.editor.weight=512,1024,2048 --vary cpus=1..4:1 -p sfs --shard 1/2 -o 1.csv
  divvy sweep --merge 1.csv 2.csv -o all.csv";

const SWEEP_HELP: &str = "\
KEY is one of

  cpus, quantum, duration, warmup, tick, switch_cost, migration_cost: of the workload
  task.NAME.KEY, group.NAME.KEY, barrier.NAME.parties: in the workload, down to single values; entries of lists are
      numbers from 1, as in task.web.program.1.run.exp
  load: the CPU time that open arrivals ask for, as a part of all CPUs. All times between arrivals are made longer or
      shorter by one factor. Only where every task has open arrivals and ends.
  PARAM or POLICY.PARAM: of the policies of -p that have it, as in alpha or pbs.alpha. A policy without it has one row
      for all of its values.

Every point is run under every policy, --reps times, the r-th time with the same random numbers everywhere. The warm-up \
does not count, nor do jobs that began in it. Means and 95% intervals are over repetitions, by Student's t. With \
--baseline a row has the mean and interval of the differences between a policy and that one at the same point: what \
chance did to both alike does not widen it. Rows have a fixed order and, with the same seed, the same bytes, on any \
number of cores. A .csv grows row by row: an interrupted run goes on with --resume. Shards share out runs, with \
--baseline points; --merge takes the .csv of all, and makes the other forms as well.

Examples:
  divvy sweep queue.toml --vary load=0.5..0.9:0.1 --vary alpha=0,1,inf -p pbs --baseline rr -o queue.html
  divvy sweep mix.toml --vary task.editor.weight=512,1024,2048 --vary cpus=1..4:1 -p sfs --shard 1/2 -o 1.csv
  divvy sweep --merge 1.csv 2.csv -o all.csv";

/// Forms of the points of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SweepFormat {
    /// For people: some of the columns
    Table,
    /// All of them
    Csv,
    /// The same, by a schema_version of its own
    Json,
}

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy completions bash > ~/.local/share/bash-completion/completions/divvy
  divvy completions zsh > ~/.zfunc/_divvy
  divvy completions fish > ~/.config/fish/completions/divvy.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Print the man page, or write the pages of all commands to a directory
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy man | man -l -
  divvy man ~/.local/share/man/man1
  divvy man target/man && man target/man/divvy-sim.1")]
pub struct ManArgs {
    /// Where to write divvy.1, divvy-sim.1 and so on; it is made if it is not there
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// When to write escape sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    Auto,
    /// Even into a file
    Always,
    /// Not at all
    Never,
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

/// What wakes a task in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wakes {
    /// What did in the recording: another task, a timer, the outside world
    Dep,
    /// Every sleep lasts as long as in the recording
    Fixed,
    /// Every wake-up comes at the recording's time
    Open,
}

/// Quality of a recording, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Grade {
    /// Nothing that matters is missing
    #[value(name = "A")]
    A,
    /// Small gaps
    #[value(name = "B")]
    B,
    /// Tendencies only
    #[value(name = "C")]
    C,
    /// Not to be believed
    #[value(name = "D")]
    D,
}

/// The kernel's own limit.
fn watchdog(text: &str) -> Result<u64, String> {
    match positive_duration(text)? {
        ns if ns > 30_000_000_000 => Err("the kernel takes at most 30s".to_owned()),
        ns if ns < 1_000_000 => Err("it must be at least 1ms".to_owned()),
        ns => Ok(ns),
    }
}

fn single(text: &str) -> Result<u32, String> {
    match text {
        "1" => Ok(1),
        _ => Err("a replay draws no random times: every repetition would be the same".to_owned()),
    }
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

fn warm_up(text: &str) -> Result<WarmUp, String> {
    let Some(percent) = text.strip_suffix('%') else {
        return parse_duration(text).map(WarmUp::Time);
    };
    let share = percent.parse::<f64>().ok().filter(|percent| (0.0..100.0).contains(percent));
    share
        .map(|percent| WarmUp::Share(percent / 100.0))
        .ok_or_else(|| "expected 0% to less than 100%, or a time, as in 5s".to_owned())
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    parts
        .filter(|(i, n)| (1..=*n).contains(i))
        .ok_or_else(|| "expected I/N, with I from 1 to N, as in 1/4".to_owned())
}

fn span(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once("..").ok_or("expected FROM..TO, as in 0s..200ms")?;
    match (parse_duration(from)?, parse_duration(to)?) {
        (from_ns, to_ns) if from_ns < to_ns => Ok((from_ns, to_ns)),
        _ => Err("it must end after it begins".to_owned()),
    }
}

fn positive_duration(text: &str) -> Result<u64, String> {
    match parse_duration(text)? {
        0 => Err("it must be more than 0".to_owned()),
        ns => Ok(ns),
    }
}

/// More often is of no use: the scheduler's loader answers all who look within 50 ms alike.
fn top_interval(text: &str) -> Result<u64, String> {
    match parse_duration(text)? {
        ns if ns < 100_000_000 => Err("at least 100ms".to_owned()),
        ns => Ok(ns),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_one_line_about_and_a_few_examples() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let about = command.get_about().expect(name).to_string();
            assert!(!about.contains('\n') && about.len() <= 80, "{name}: {about}");
            let after = command.get_after_help().expect(name).to_string();
            let examples = after
                .lines()
                .filter(|line| line.trim_start_matches(' ').trim_start_matches("sudo ").starts_with("divvy "))
                .count();
            assert!((3..=6).contains(&examples), "{name}: {examples}");
        }
    }

    #[test]
    fn the_examples_are_valid() {
        for command in Cli::command().get_subcommands() {
            let after = command.get_after_help().expect("examples").to_string();
            for line in after.lines().filter_map(|line| line.strip_prefix("  ")) {
                let line = line.strip_prefix("sudo ").unwrap_or(line);
                let line = line.split(" > ").next().unwrap_or(line);
                let line = line.split(" | ").next().unwrap_or(line);
                let line = line.split(" && ").next().unwrap_or(line);
                // Quotes hold no quotes in the examples.
                let words = line.split('\'').enumerate().flat_map(|(index, piece)| {
                    if index % 2 == 1 { vec![piece] } else { piece.split_whitespace().collect() }
                });
                let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
                let claims = match &cli.command {
                    Command::Sim(args) => &args.show.assert,
                    Command::Replay(args) => &args.show.assert,
                    Command::Play(args) => &args.show.assert,
                    _ => continue,
                };
                for claim in claims {
                    assert::Claim::parse(claim).unwrap_or_else(|error| panic!("{error}"));
                }
            }
        }
    }
}
