//! `divvy load SPEC`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{PathBuf, absolute};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum, ValueHint};
use divvy_kernel::flow::DEFAULT_DB;
use divvy_kernel::load::MAX_POOL;
use divvy_kernel::load::{self, End, GroupMay, Grouping, LoadError, Options, Period, Watch, Writer};
use divvy_policy::spec;
use divvy_policy::units::show_duration;

use crate::args::choice::{Choice, one_of};
use crate::args::durations::{duration, positive_duration};
use crate::args::presets;
use crate::output::Output;
use crate::view::{interval, safe, verified};

/// Make a policy the kernel's scheduler, until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo divvy load desktop
  sudo divvy load gr3+procfair
  sudo divvy load sfq+feasible --quiet --exec make -j8
  sudo divvy load rr --quantum 2ms --duration 1min --format json
  sudo divvy load sfs+procfair --dry-run",
    after_long_help = LOAD_HELP)]
pub struct LoadArgs {
    /// The policy: SELECTION[:param=value]..[+MODIFIER[:param=value]..].., or a preset
    ///
    /// `divvy policies` lists selections, modifiers and presets, `divvy policies NAME` their parameters.
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

/// Defaults.
const QUANTUM: &str = "4ms";
const TIMEOUT: &str = "30s";
const MOST_TASKS: i64 = MAX_POOL as i64 - 1;

/// Settings of a scheduler in the kernel.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scheduler")]
pub struct SchedulerArgs {
    /// Slice of policies that do not set their own
    #[arg(long, value_name = "TIME", default_value = QUANTUM, value_parser = positive_duration)]
    pub quantum: Duration,

    /// How long a task may wait for a CPU before the kernel unloads the policy; at most 30s
    #[arg(long, value_name = "TIME", default_value = TIMEOUT, value_parser = watchdog)]
    pub timeout: Duration,

    /// A task that waits this long runs next, once; 0s means never [default: half of --timeout]
    #[arg(long, alias = "patience", value_name = "TIME", value_parser = duration)]
    pub starvation_limit: Option<Duration>,

    /// Honour cpu.weight and cpu.max: divide the CPUs among cgroups, and a cgroup's part among its tasks and cgroups (adds +groups)
    ///
    /// At each level tasks count by their own weights, and cgroups by cpu.weight, where 100 is nice 0. A cgroup gets no
    /// more CPUs than it has runnable tasks, and others get the rest. A cgroup without the controller cpu belongs to
    /// the one above it. Limits (cpu.max) are kept down to eight levels; one that is set while the policy is loaded holds within a second. Not
    /// honoured: cpu.idle (such a cgroup has weight 1, as its cpu.weight says), cpu.uclamp.
    #[arg(long, conflicts_with = "users")]
    pub cgroups: bool,

    /// Divide the CPUs equally among users, and a user's part among the user's tasks (adds +groups)
    #[arg(long)]
    pub users: bool,

    /// Load although cgroups have limits of CPU time (cpu.max), which do not hold while the policy is loaded
    ///
    /// Without it, and without --cgroups, such cgroups are named, and nothing is loaded. A limit that is set later does not hold either.
    /// With --cgroups limits are not kept.
    #[arg(long)]
    pub ignore_cpu_max: bool,

    /// Most tasks that the policy takes; further ones wait in a separate queue
    #[arg(long, value_name = "N", default_value_t = MOST_TASKS,
        value_parser = clap::value_parser!(i64).range(1..i64::from(MAX_POOL)))]
    pub pool: i64,

    /// The same, for policies that may look at every task to choose one (linux24, pbs, vtrr): they are not loaded without it
    ///
    /// All CPUs wait for such a decision. `divvy policies NAME` says how long it may take for each task. Tasks beyond
    /// this number wait in one queue, and together get what one task of nice 0 gets, or more if that is too little for
    /// --starvation-limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..i64::from(MAX_POOL)))]
    pub max_tasks: Option<u32>,

    /// Where +flow keeps what it learns of programs; `divvy flow` shows it
    #[arg(long, value_name = "FILE", default_value = DEFAULT_DB, value_hint = ValueHint::FilePath)]
    pub db: PathBuf,

    /// Weights by executable, service, cgroup and user [default: /etc/divvy.toml, if it is there]
    ///
    /// A weight takes the place of nice 0's, which is 1024. The file is read again when it changes. `man divvy-load` has its format.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rules: Option<PathBuf>,

    /// Members of this group may also watch it, and change the weights of their own threads (divvy top, divvy set)
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    pub group: Option<String>,

    /// Rights of the members of --group, who may always watch
    #[arg(long, value_parser = one_of(RIGHTS), value_name = "WHAT", default_value = "own", requires = "group")]
    pub group_may: GroupMay,

    /// For tests: each N-th task gets no place
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    pub fail_every: u32,
}

impl SchedulerArgs {
    /// The words of a command line that says the same, without those that say a default.
    pub fn words(&self) -> Vec<String> {
        // Each field by its name, so that a new one is not forgotten here.
        let Self {
            quantum,
            timeout,
            starvation_limit,
            cgroups,
            users,
            ignore_cpu_max,
            pool,
            max_tasks,
            db,
            rules,
            group,
            group_may,
            fail_every,
        } = self;
        let given = |name: &str, value: Option<String>| value.map(|value| format!("--{name}={value}"));
        let time = |time: Duration, default: &str| Some(show(time)).filter(|text| text != default);
        let switch = |name: &str, is_on: bool| is_on.then(|| format!("--{name}"));
        let may = RIGHTS.iter().find(|(_, right, _)| right == group_may && *right != GroupMay::Own);
        // The unit has another directory.
        let full = |path: &PathBuf| absolute(path).unwrap_or_else(|_| path.clone()).display().to_string();
        let db = full(db);
        let words = [
            given("quantum", time(*quantum, QUANTUM)),
            given("timeout", time(*timeout, TIMEOUT)),
            given("starvation-limit", starvation_limit.map(show)),
            switch("cgroups", *cgroups),
            switch("users", *users),
            switch("ignore-cpu-max", *ignore_cpu_max),
            given("pool", Some(*pool).filter(|pool| *pool != MOST_TASKS).map(|pool| pool.to_string())),
            given("max-tasks", max_tasks.map(|tasks| tasks.to_string())),
            given("db", Some(db).filter(|db| db != DEFAULT_DB)),
            given("rules", rules.as_ref().map(full)),
            given("group", group.clone()),
            given("group-may", may.map(|(name, ..)| (*name).to_owned())),
            given("fail-every", Some(*fail_every).filter(|every| *every != 0).map(|every| every.to_string())),
        ];
        words.into_iter().flatten().collect()
    }
}

/// As an option is given.
fn show(time: Duration) -> String {
    show_duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Rights of the group's members.
const RIGHTS: &[Choice<GroupMay>] = &[
    ("watch", GroupMay::Watch, "Nothing"),
    ("own", GroupMay::Own, "Change the weights of threads whose user they are"),
    ("all", GroupMay::All, "Change everything, as root may"),
];

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

Rules: a file of TOML with tables [executable], [service], [cgroup] and [user], each with lines NAME = WEIGHT, as in
  [executable]
  \"/usr/bin/ffmpeg\" = 256
  [user]
  www-data = 2048
A weight takes the place of nice 0's, which is 1024. Of several rules for a task that of its executable holds, or else that of its \
nearest cgroup or service, or else that of its user.

Examples:
  sudo divvy load desktop
  sudo divvy load gr3+procfair
  sudo divvy load sfq+feasible --quiet --exec make -j8
  sudo divvy load rr --quantum 2ms --duration 1min --format json
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
    let mut watch = Screen::new(args.watch.format, output, anstream::stdout(), anstream::stderr());
    let end = load::load(&options, &mut watch);
    let written = watch.finish();
    match end.inspect_err(dump)? {
        End::Asked | End::Command(0) => written,
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
        interval: args.watch.interval,
        duration: args.duration,
        command: command.clone(),
        log: args.watch.log.clone(),
        top: args.watch.top,
        ..scheduler(&args.spec, &args.scheduler)?
    })
}

/// The options of a scheduler alone, of which nothing is shown.
fn scheduler(spec: &str, args: &SchedulerArgs) -> anyhow::Result<Options> {
    let preset = presets::find(spec);
    let spec = preset.map_or(spec, |preset| preset.spec);
    Ok(Options {
        spec: spec::parse(spec, divvy_policy::all())?,
        quantum: args.quantum,
        timeout: args.timeout,
        starvation_limit: args.starvation_limit.unwrap_or(args.timeout / 2),
        grouping: grouping(args).or_else(|| preset?.grouping),
        ignore_cpu_max: args.ignore_cpu_max,
        pool: u32::try_from(args.pool)?,
        max_tasks: args.max_tasks,
        interval: Duration::MAX,
        duration: None,
        command: Vec::new(),
        log: None,
        db: args.db.clone(),
        rules: args.rules.clone(),
        group: args.group.clone(),
        group_may: args.group_may,
        top: 0,
        fail_every: args.fail_every,
    })
}

/// Whether this policy or preset would be loaded with these options, on a machine that has everything.
pub fn loadable(spec: &str, args: &SchedulerArgs) -> anyhow::Result<()> {
    Ok(load::loadable(&scheduler(spec, args)?)?)
}

/// Prints the kernel's dump if it threw the scheduler out: it helps to find the reason.
fn dump(error: &LoadError) {
    if let LoadError::ThrownOut { dump, .. } = error {
        let _ = writeln!(anstream::stderr(), "{}", safe::lines(dump.trim_end()));
    }
}

/// For so long a note waits for statistics before it, and statistics for a note, so that they come in order. Nothing else
/// waits for a reader while the scheduler is loaded.
const IN_ORDER: Duration = Duration::from_millis(50);
/// After the scheduler is unloaded, a reader that takes nothing for so long is given up.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Nobody read the end of the statistics.
#[derive(Debug, thiserror::Error)]
#[error("the end of the statistics was not read")]
pub struct Unread;

struct Screen {
    format: LoadFormat,
    output: Output,
    statistics: Writer,
    notes: Writer,
    /// The first error in writing, as when nobody reads any more.
    failed: Option<io::Error>,
}

impl Screen {
    fn new(
        format: LoadFormat,
        output: Output,
        statistics: impl Write + Send + 'static,
        notes: impl Write + Send + 'static,
    ) -> Self {
        let (statistics, notes) = (Writer::new(statistics), Writer::new(notes));
        Self { format, output, statistics, notes, failed: None }
    }

    fn has_failed(&mut self) -> bool {
        self.failed = self.failed.take().or_else(|| self.statistics.failure());
        self.failed.is_some()
    }

    /// Says how many intervals were left out.
    fn say_left_out(&mut self) {
        let count = self.statistics.take_left_out();
        if count > 0 {
            let s = if count == 1 { "" } else { "s" };
            self.note(&format!("{count} interval{s} left out: the output was not read in time"));
        }
    }

    /// Waits for the reader, but not for ever.
    fn finish(mut self) -> anyhow::Result<()> {
        let is_read = self.statistics.flush(LAST_WORDS);
        self.say_left_out();
        if !is_read {
            self.note(&Unread.to_string());
        }
        let are_notes_read = self.notes.flush(if is_read { LAST_WORDS } else { IN_ORDER });
        if self.has_failed()
            && let Some(error) = self.failed.take()
        {
            return Err(error).context("cannot write the result");
        }
        if is_read && are_notes_read { Ok(()) } else { Err(Unread.into()) }
    }

    fn show(&mut self, interval: &Period, is_total: bool) {
        let text = match self.format {
            LoadFormat::Table => Ok(interval::table(interval, is_total, self.output.columns(None))),
            LoadFormat::Json => interval::json(interval, is_total).map_err(io::Error::from),
        };
        match text {
            Ok(text) => {
                self.notes.flush(IN_ORDER);
                self.statistics.push(text);
            }
            Err(error) => {
                self.failed.get_or_insert(error);
            }
        }
    }
}

impl Watch for Screen {
    fn note(&mut self, text: &str) {
        if !self.output.is_quiet() {
            self.warn(text);
        }
    }

    fn warn(&mut self, text: &str) {
        self.statistics.flush(IN_ORDER);
        self.notes.push(safe::lines(text) + "\n");
    }

    fn interval(&mut self, interval: &Period) -> ControlFlow<()> {
        if !self.output.is_quiet() {
            self.show(interval, false);
        }
        if self.has_failed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn total(&mut self, total: &Period) {
        if !self.has_failed() {
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

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::time::Instant;

    use divvy_kernel::load::TaskRow;

    use super::*;
    use crate::output::Color;

    fn period() -> Period {
        let task = TaskRow { pid: 7, comm: "x".repeat(15), ..TaskRow::default() };
        Period { tasks: vec![task; 200], ..Period::default() }
    }

    /// Statistics that nobody reads, as behind Ctrl-S: the session goes on, and so does the end.
    #[test]
    fn a_reader_that_pauses_holds_up_nothing() {
        let ((reader, sink), (mut said, notes)) = (io::pipe().expect("a pipe"), io::pipe().expect("a pipe"));
        let mut screen = Screen::new(LoadFormat::Json, Output::new(Color::Never, false), sink, notes);
        let begun = Instant::now();
        screen.note("rr schedules 2 CPUs");
        for _ in 0..200 {
            assert!(screen.interval(&period()).is_continue());
        }
        screen.note("unloaded");
        screen.total(&period());
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        let error = screen.finish().expect_err("nobody read it");
        assert!(error.is::<Unread>() && begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        drop(reader);
        let mut text = String::new();
        said.read_to_string(&mut text).expect("notes");
        assert!(text.contains("unloaded\n") && text.contains(" intervals left out: "), "{text}");
        assert!(text.ends_with("the end of the statistics was not read\n"), "{text}");
    }

    #[test]
    fn a_reader_that_went_away_ends_the_session() {
        let (reader, sink) = io::pipe().expect("a pipe");
        drop(reader);
        let mut screen = Screen::new(LoadFormat::Table, Output::new(Color::Never, true), sink, io::sink());
        assert!(screen.interval(&period()).is_continue(), "quiet: it writes only the total");
        screen.output = Output::new(Color::Never, false);
        let begun = Instant::now();
        while screen.interval(&period()).is_continue() {
            assert!(begun.elapsed() < Duration::from_secs(10), "it goes on");
        }
        let error = screen.finish().expect_err("nobody reads");
        let cause = error.downcast_ref::<io::Error>().map(io::Error::kind);
        assert_eq!(cause, Some(io::ErrorKind::BrokenPipe));
    }
}
