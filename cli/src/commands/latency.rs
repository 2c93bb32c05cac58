//! `divvy latency TRACE`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use divvy_trace::{Latency, Per, latencies};

use crate::args::choice::{Choice, one_of};
use crate::args::recording::KeepArgs;
use crate::input;
use crate::output::Output;
use crate::view::recorded::{self, Order};

/// Show how long recorded threads ran and waited for a CPU, as perf sched latency
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy latency perf.data
  divvy latency trace.txt --sort max --per-thread
  divvy latency build.perfetto-trace --keep make --csv

latency: from a wake-up, or the birth, to the CPU, where both were seen. waited: all time that threads could run and had no CPU,
also after another thread took it away.")]
pub struct LatencyArgs {
    /// The recording, in any format that divvy replay reads; - is stdin
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,

    #[command(flatten)]
    pub keep: KeepArgs,

    /// One row per thread instead of one for all threads of a name
    #[arg(long)]
    pub per_thread: bool,

    /// One row per cgroup, in recordings of divvy record
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
    ("mean", Order::Mean, "Mean latency"),
    ("p99", Order::P99, "99th percentile of latency"),
    ("max", Order::Max, "Longest latency"),
    ("waited", Order::Waited, "Time runnable without a CPU"),
    ("runs", Order::Runs, "Times on a CPU"),
];

/// Reads, sums up, prints.
pub fn run(args: &LatencyArgs, output: Output) -> anyhow::Result<()> {
    let recording = args.keep.select(input::trace(&args.trace)?)?;
    let per = match (args.per_thread, args.per_cgroup) {
        (true, _) => Per::Thread,
        (_, true) => Per::Cgroup,
        _ => Per::Name,
    };
    let mut rows = latencies(&recording, per);
    let key = |row: &Latency| match args.sort {
        Order::Cpu => row.run_ns,
        Order::Mean => row.delay.mean_ns,
        Order::P99 => row.delay.p99_ns,
        Order::Max => row.delay.max_ns,
        Order::Waited => row.wait_ns,
        Order::Runs => row.runs,
    };
    rows.sort_by_key(|row| std::cmp::Reverse(key(row))); // stable
    let text = if args.csv {
        recorded::latency_csv(&rows)
    } else {
        let name = input::trace_name(&args.trace);
        recorded::latency_table(&name, &recording, &rows, output.columns(None))
    };
    output.write(&text, None)
}
