//! `divvy record`.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use divvy_kernel::record::{self, Options, SLOTS, Summary, Watch};

use crate::args::durations::positive_duration;
use crate::commands::load::CommandFailed;
use crate::exit;
use crate::output::Output;
use crate::output_path::BadOutputPath;
use crate::progress::ProgressBar;
use crate::view::recording;

/// Record what the kernel schedules, for divvy replay and perf sched
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  sudo divvy record --for 10s
  sudo divvy record -o build.perf.data -- make -j8
  sudo divvy record --scrub --for 1min -o field.perf.data
  sudo divvy record -q -o - --for 5s | divvy replay - -p eevdf,gr3",
    after_long_help = RECORD_HELP
)]
pub struct RecordArgs {
    /// The file to write, a perf.data; - is stdout, and COMMAND prints to stderr then
    #[arg(short, long, value_name = "FILE", default_value = "divvy.perf.data", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Record for this time; without it, until the command ends, or Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,

    /// Replace names of threads by task1, task2.., and of cgroups by group1, group2..: equal names stay equal
    #[arg(long)]
    pub scrub: bool,

    /// Events that each CPU's buffer has room for, rounded up to a power of two; 96 bytes each
    #[arg(long, value_name = "EVENTS", default_value_t = 32768, value_parser = slots)]
    pub buffer: u32,

    /// A command to run meanwhile; its exit code is returned
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

const RECORD_HELP: &str = "\
It records all CPUs: every switch, wake-ups with who woke, forks, exits, exec, names, migrations, CPU time and cgroups. The file is a \
perf.data: perf sched timehist and perf script read it as well. Events that a buffer had no room for are counted in the file, \
which lowers the grade of the recording: then raise --buffer.

It needs root, or CAP_BPF and CAP_PERFMON, and Linux 5.18 or later. COMMAND runs with the same rights; under sudo, as root. To run it as you: \
sudo divvy record -- sudo -u $USER COMMAND. A file that is new then belongs to you.

Ctrl-C or SIGTERM ends the recording, and completes the file; COMMAND gets the signal first. If --for ends before COMMAND, divvy waits for it. \
After kill -9 the file is without its end, and can still be replayed.

Examples:
  sudo divvy record --for 10s
  sudo divvy record -o build.perf.data -- make -j8
  sudo divvy record --scrub --for 1min -o field.perf.data
  sudo divvy record -q -o - --for 5s | divvy replay - -p eevdf,gr3";

/// Records, and says what was recorded.
pub fn run(args: &RecordArgs, output: Output) -> anyhow::Result<()> {
    if args.output == Path::new("-") && std::io::stdout().is_terminal() {
        return Err(BadOutputPath::Terminal.into());
    }
    let options = Options {
        output: args.output.clone(),
        duration: args.duration,
        scrub: args.scrub,
        slots: args.buffer,
        command: args.command.clone(),
    };
    let mut screen = Screen { output, bar: ProgressBar::new("recording", output) };
    if args.duration.is_none() && args.command.is_empty() {
        output.note("recording until Ctrl-C");
    }
    if let Some(note) = runs_as_root(&args.command) {
        output.note(&note);
    }
    let (recorded, code) = record::record(&options, &mut screen);
    drop(screen);
    let failed = code.filter(|code| *code != 0).map(CommandFailed);
    match (recorded, failed) {
        (Ok(summary), failed) => {
            output.note(&recording::summary(&summary, &args.output));
            failed.map_or(Ok(()), |failed| Err(failed.into()))
        }
        // The command's code says more to a script than the recording's.
        (Err(error), Some(failed)) => {
            exit::say(&error.into());
            Err(failed.into())
        }
        (Err(error), None) => Err(error.into()),
    }
}

/// A command under sudo runs as root, which not everybody expects.
fn runs_as_root(command: &[OsString]) -> Option<String> {
    let user = std::env::var("SUDO_USER").ok().filter(|user| user != "root")?;
    let program = command.first()?.to_string_lossy();
    let drops = ["sudo", "setpriv", "su", "runuser"].contains(&program.as_ref());
    (!drops).then(|| {
        format!("note: {program} runs as root; as {user}: sudo divvy record -- sudo -u {user} {program} ...")
    })
}

struct Screen {
    output: Output,
    bar: ProgressBar,
}

impl Watch for Screen {
    fn note(&mut self, text: &str) {
        self.bar.suspend(|| self.output.note(text));
    }

    fn progress(&mut self, so_far: &Summary) {
        self.bar.say(&recording::progress(so_far));
    }
}

fn slots(text: &str) -> Result<u32, String> {
    let number: u32 = text.parse().map_err(|_| "it must be a number of events".to_owned())?;
    if SLOTS.contains(&number) {
        return Ok(number);
    }
    Err(format!("it must be from {} to {}", SLOTS.start(), SLOTS.end()))
}
