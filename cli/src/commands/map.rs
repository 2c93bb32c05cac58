//! `divvy map TRACE`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::recording::{KeepArgs, PartArgs};
use crate::input;
use crate::output::Output;
use crate::view::map;
use crate::view::recorded;

/// Print which recorded thread ran on which CPU, as perf sched map
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy map perf.data | less
  divvy map trace.txt --keep make
  divvy map build.perfetto-trace --from 20ms --to 40ms

A line is a switch, and has a column for each CPU: the thread's sign, a dot for idle, ? where events were lost. A * marks the CPU that
switched. The sign's meaning follows where the thread is new.")]
pub struct MapArgs {
    /// The recording, in any format that divvy replay reads; - is stdin
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,

    #[command(flatten)]
    pub keep: KeepArgs,

    #[command(flatten)]
    pub part: PartArgs,
}

/// Reads, and prints switch by switch.
pub fn run(args: &MapArgs, output: Output) -> anyhow::Result<()> {
    let recording = args.keep.select(input::trace(&args.trace)?)?;
    let schedule = recording.schedule();
    let lines = map::lines(&schedule, recording.origin_ns, |at_ns| args.part.contains(at_ns));
    recorded::write_lines(String::new(), lines, output)
}
