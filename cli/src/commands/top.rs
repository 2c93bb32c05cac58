//! `divvy top`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueHint};
use divvy_policy::units::parse_duration;

use crate::output::Output;
use crate::top;
use crate::top::metrics;
use crate::top::options::{MetricsOptions, Options, Query, TopFormat};
use crate::top::rows::{By, Column};

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

/// Watches the loaded scheduler.
pub fn run(args: &TopArgs, output: Output) -> anyhow::Result<()> {
    let options = Options {
        every: Duration::from_nanos(args.interval),
        times: if args.once { Some(1) } else { args.times },
        format: args.format,
        query: Query::new(args.by, args.sort, &args.filter, args.top),
        metrics: args.metrics.map(|address| MetricsOptions { address, threads: args.metrics_threads }),
    };
    top::run(options, output)
}

/// More often is of no use: the scheduler's loader answers all who look within 50 ms alike.
fn top_interval(text: &str) -> Result<u64, String> {
    match parse_duration(text)? {
        ns if ns < 100_000_000 => Err("at least 100ms".to_owned()),
        ns => Ok(ns),
    }
}
