//! `divvy top`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueHint};

use crate::args::durations::duration;
use crate::output::Output;
use crate::top;
use crate::top::metrics;
use crate::top::options::{MetricsOptions, Options, Query, TopFormat};
use crate::top::rows::{By, Column};

/// Watch who receives what: the loaded policy, or the kernel's own scheduler
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy top
  divvy top --by cgroup --sort error
  divvy top --once --format json
  divvy top --metrics 127.0.0.1:9123", after_long_help = TOP_HELP)]
pub struct TopArgs {
    /// Time between updates
    #[arg(short = 'd', long, value_name = "TIME", default_value = "1s", value_parser = top_interval)]
    pub interval: Duration,

    /// Print this many intervals as text, instead of a screen
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub times: Option<u64>,

    /// Print one interval as text
    #[arg(long, conflicts_with = "times")]
    pub once: bool,

    /// Rows to show
    #[arg(long, value_enum, default_value = "thread")]
    pub by: By,

    /// Order of the rows
    #[arg(long, value_enum, default_value = "received")]
    pub sort: Column,

    /// Only rows with this text in their name, user, cgroup or number
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub filter: String,

    /// Number of rows to print, of those that had or wanted a CPU; the screen has all
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    pub top: usize,

    /// Print as text, instead of a screen: json has one line per interval, csv one line per row
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<TopFormat>,

    /// Serve Prometheus metrics at http://ADDRESS/metrics; a loopback address only
    ///
    /// Without a terminal it does nothing else, and continues when the scheduler is unloaded: divvy_up is then 0.
    #[arg(long, value_name = "ADDRESS", value_parser = metrics::loopback, help_heading = "Metrics",
        value_hint = ValueHint::Other)]
    pub metrics: Option<SocketAddr>,

    /// Number of threads with metrics of their own, those that received the most CPU time
    #[arg(long, value_name = "N", default_value_t = metrics::THREADS, requires = "metrics", help_heading = "Metrics")]
    pub metrics_threads: usize,
}

const TOP_HELP: &str = "\
A policy shows itself to root, and to members of the group of divvy load --group; to change weights with it, the rights of divvy set are needed. \
If no policy is loaded, divvy top shows the kernel's own scheduler from /proc, to everybody: entitled are threads by nice and cpu.weight. The keys are those of htop; \
F1 or h shows them. Without a terminal it prints one table per interval. ENTL% and RECV% are shares of all CPU time; \
ERROR is received minus entitled CPU time since loading, or since divvy top began without a policy; WAIT is the mean waiting time before a slice, in \
the interval. WEIGHT of a process, user or cgroup is the sum over its threads that ran or waited.

Examples:
  divvy top
  divvy top --by cgroup --sort error
  divvy top --once --format json
  divvy top --metrics 127.0.0.1:9123";

/// Watches the loaded scheduler.
pub fn run(args: &TopArgs, output: Output) -> anyhow::Result<()> {
    let options = Options {
        every: args.interval,
        times: if args.once { Some(1) } else { args.times },
        format: args.format,
        query: Query::new(args.by, args.sort, &args.filter, args.top),
        metrics: args.metrics.map(|address| MetricsOptions { address, threads: args.metrics_threads }),
    };
    top::run(options, output)
}

/// More often is of no use: the loader gives all viewers within 50 ms the same answer.
fn top_interval(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        time if time < Duration::from_millis(100) => Err("at least 100ms".to_owned()),
        time => Ok(time),
    }
}
