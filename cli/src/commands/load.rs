//! `divvy load SPEC`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum, ValueHint};
use divvy_kernel::load::{self, End, LoadError, Options, Period, Watch, Writer};

use crate::args::durations::positive_duration;
use crate::args::scheduler::{self, SchedulerArgs};
use crate::commands::replacement;
use crate::output::Output;
use crate::view::{interval, safe, verified};

/// Make a policy the kernel's scheduler, until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo divvy load desktop
  sudo divvy load gr3+procfair
  sudo divvy load sfq+feasible --quiet --exec make -j8
  sudo divvy load sfq@llc:skew=2
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

    /// With --dry-run: as on a machine with so many CPUs, 1 to 256
    #[arg(long, value_name = "N", requires = "dry_run", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cpus: Option<u16>,

    /// Unload after this time
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,

    #[command(flatten)]
    pub scheduler: SchedulerArgs,

    #[command(flatten)]
    pub watch: WatchArgs,
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
  sudo divvy load sfq@llc:skew=2
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
        return dry_run(&options, args.cpus, args.watch.format, output);
    }
    let mut watch = Screen::new(args.watch.format, output, anstream::stdout(), anstream::stderr());
    let end = load::load(&options, &replacement::read, &mut watch);
    let written = watch.finish();
    match end.inspect_err(dump)? {
        End::Asked | End::Command(0) => written,
        End::Command(code) => Err(CommandFailed(code).into()),
    }
}

fn dry_run(options: &Options, cpus: Option<u16>, format: LoadFormat, output: Output) -> anyhow::Result<()> {
    let programs = load::dry_run(options, cpus)?;
    let text = match format {
        LoadFormat::Table => verified::table(&options.spec.to_string(), &programs),
        LoadFormat::Json => verified::json(&options.spec.to_string(), &programs)?,
    };
    output.write(&text, None)
}

fn options(args: &LoadArgs) -> anyhow::Result<Options> {
    let command = if args.exec.is_empty() { &args.command } else { &args.exec };
    Ok(Options {
        interval: args.watch.interval,
        duration: args.duration,
        command: command.clone(),
        log: args.watch.log.clone(),
        top: args.watch.top,
        ..scheduler::options(&args.spec, &args.scheduler)?
    })
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
