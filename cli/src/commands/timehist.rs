//! `divvy timehist TRACE`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use divvy_trace::history;

use crate::args::recording::{KeepArgs, PartArgs};
use crate::input;
use crate::output::Output;
use crate::view::recorded;

/// Print every turn that a recorded thread had on a CPU, as perf sched timehist
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy timehist perf.data | less
  divvy timehist trace.txt --keep make --cpu 1
  divvy timehist perf.data --from 1.5s --to 1.6s --csv

A line is a turn on a CPU, with the time at which it ended by the recording's own clock. wait: the sleep before it, or the time that
another thread had the CPU. latency: from the wake-up to the CPU. left: R runnable, S asleep, D asleep for a device, X gone; a * marks
times that were inferred because events are missing.")]
pub struct TimehistArgs {
    /// The recording, in any format that divvy replay reads; - is stdin
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,

    #[command(flatten)]
    pub keep: KeepArgs,

    #[command(flatten)]
    pub part: PartArgs,

    /// Only turns on this CPU
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,

    /// Print commas and nanoseconds from the first event
    #[arg(long, help_heading = "Output")]
    pub csv: bool,
}

/// Reads, and prints turn by turn.
pub fn run(args: &TimehistArgs, output: Output) -> anyhow::Result<()> {
    let recording = args.keep.select(input::trace(&args.trace)?)?;
    let mut turns = history(&recording);
    turns.retain(|turn| args.part.contains(turn.end_ns) && args.cpu.is_none_or(|cpu| turn.cpu.get() == cpu));
    let lines = turns.iter().map(|turn| recorded::turn_line(turn, &recording, args.csv));
    recorded::write_lines(recorded::turn_head(args.csv), lines, output)
}
