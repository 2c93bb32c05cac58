//! `divvy top`.

use std::time::Duration;

use crate::args::TopArgs;
use crate::output::Output;
use crate::top::{self, Metrics, Options, Show};

/// Watches the loaded scheduler.
pub fn run(args: &TopArgs, output: Output) -> anyhow::Result<()> {
    let options = Options {
        every: Duration::from_nanos(args.interval),
        times: if args.once { Some(1) } else { args.times },
        format: args.format,
        show: Show::new(args.by, args.sort, &args.filter, args.top),
        metrics: args.metrics.map(|address| Metrics { address, threads: args.metrics_threads }),
    };
    top::run(options, output)
}
