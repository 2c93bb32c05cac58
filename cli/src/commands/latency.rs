//! `divvy latency`: of a recording, or of this machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use divvy_kernel::stock;
use divvy_policy::{Failure, FailureKind};
use divvy_results::progress::Progress as _;
use divvy_trace::{Latency, Per, latencies};

use crate::args::choice::{Choice, one_of};
use crate::args::durations::positive_duration;
use crate::args::recording::KeepArgs;
use crate::input;
use crate::output::Output;
use crate::progress::ProgressBar;
use crate::view::recorded::{self, Order};
use crate::view::watched;

/// Show how long threads ran and waited for a CPU, now or in a recording
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy latency
  divvy latency --for 30s --per-cgroup --sort mean
  divvy latency perf.data
  divvy latency trace.txt --sort max --per-thread
  divvy latency build.perfetto-trace --keep make --csv

Without TRACE it watches all threads that this user can see, from /proc, under whatever scheduler; it needs neither root nor a recording.
waited: all time that threads could run and had no CPU. max: the longest wait was about so long, or longer, as the kernel keeps a sum of
each thread's waits. Ctrl-C ends it early.

In a recording, latency is from a wake-up, or the birth, to the CPU, where both were seen; waited counts the time after another thread
took the CPU away as well.")]
pub struct LatencyArgs {
    /// A recording, in any format that divvy replay reads; - is stdin
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,

    /// Watch this machine for this time
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration, default_value = "5s",
        conflicts_with = "trace")]
    pub duration: Duration,

    #[command(flatten)]
    pub keep: KeepArgs,

    /// One row per thread instead of one for all threads of a name
    #[arg(long)]
    pub per_thread: bool,

    /// One row per cgroup; a recording must be one of divvy record
    #[arg(long, conflicts_with = "per_thread")]
    pub per_cgroup: bool,

    /// Order of the rows, greatest first
    #[arg(long, value_parser = one_of(ORDERS), default_value = "cpu", value_name = "BY")]
    pub sort: Order,

    /// Print commas and nanoseconds
    #[arg(long, help_heading = "Output")]
    pub csv: bool,
}

const ORDERS: &[Choice<Order>] = &[
    ("cpu", Order::Cpu, "CPU time"),
    ("mean", Order::Mean, "Mean latency; on this machine, mean wait"),
    ("p99", Order::P99, "99th percentile of latency, of a recording"),
    ("max", Order::Max, "Longest latency; on this machine, longest wait"),
    ("waited", Order::Waited, "Time runnable without a CPU"),
    ("runs", Order::Runs, "Times on a CPU"),
];

impl LatencyArgs {
    fn per(&self) -> Per {
        match (self.per_thread, self.per_cgroup) {
            (true, _) => Per::Thread,
            (_, true) => Per::Cgroup,
            _ => Per::Name,
        }
    }
}

/// The kernel keeps no percentiles, and a thread's parent may be gone.
#[derive(Debug, thiserror::Error)]
#[error(
    "{option} needs a recording: `sudo divvy record --for TIME -o FILE`, then `divvy latency FILE {option}`"
)]
pub struct NeedsRecording {
    option: &'static str,
}

impl Failure for NeedsRecording {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// Reads or watches, sums up, prints.
pub fn run(args: &LatencyArgs, output: Output) -> anyhow::Result<()> {
    let text = match &args.trace {
        Some(trace) => recorded(args, trace, output)?,
        None => watched(args, output)?,
    };
    output.write(&text, None)
}

fn recorded(args: &LatencyArgs, trace: &Path, output: Output) -> anyhow::Result<String> {
    let recording = args.keep.select(input::trace(trace)?)?;
    let mut rows = latencies(&recording, args.per());
    let key = |row: &Latency| match args.sort {
        Order::Cpu => row.run_ns,
        Order::Mean => row.delay.mean_ns,
        Order::P99 => row.delay.p99_ns,
        Order::Max => row.delay.max_ns,
        Order::Waited => row.wait_ns,
        Order::Runs => row.runs,
    };
    rows.sort_by_key(|row| std::cmp::Reverse(key(row))); // stable
    if args.csv {
        return Ok(recorded::latency_csv(&rows));
    }
    Ok(recorded::latency_table(&input::trace_name(trace), &recording, &rows, output.columns(None)))
}

fn watched(args: &LatencyArgs, output: Output) -> anyhow::Result<String> {
    let unfit = |option| NeedsRecording { option };
    if !args.keep.keep.is_empty() {
        return Err(unfit("--keep COMM").into());
    }
    let key: fn(&stock::Waits) -> u64 = match args.sort {
        Order::Cpu => |row| row.ran_ns,
        Order::Mean => |row| row.mean_ns().unwrap_or(0),
        Order::P99 => return Err(unfit("--sort p99").into()),
        Order::Max => |row| row.longest_ns.unwrap_or(0),
        Order::Waited => |row| row.waited_ns,
        Order::Runs => |row| row.runs,
    };
    let bar = ProgressBar::new("watching", output);
    bar.begin(Some(args.duration.as_millis() as u64));
    let seen = stock::watch(args.per(), args.duration, |so_far| bar.set_position(so_far.as_millis() as u64))?;
    drop(bar);
    let mut rows = seen.rows();
    rows.sort_by_key(|row| std::cmp::Reverse(key(row))); // stable
    Ok(if args.csv { watched::csv(&rows) } else { watched::table(&seen, &rows, output.columns(None)) })
}
