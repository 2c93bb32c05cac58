//! `divvy sim WORKLOAD -p SPEC..`.

use divvy_sim::run::{Options, simulate};

use super::common;
use crate::args::SimArgs;
use crate::output::Output;
use crate::place;
use crate::progress::Bar;
use crate::view::page::Wish;

/// Simulates, compares, checks.
pub fn run(args: &SimArgs, verbose: bool, output: Output) -> anyhow::Result<()> {
    place::not_input(std::iter::once(args.workload.as_path()), args.show.output.as_deref())?;
    let (specs, baseline) = common::specs(&args.policies)?;
    let claims = common::claims(&args.show)?;
    let workload = common::workload(&args.workload, output)?;
    let machine = common::options(&args.machine, &args.schedule, &args.show);
    let options = Options { seed: args.chance.seed, reps: args.chance.reps, ..machine };
    let runs = specs.len() as u64 * u64::from(options.reps);
    let bar = Bar::new("simulating", options.duration_ns.or(workload.duration_ns), runs, output);
    let report = simulate(&workload, &specs, &options, &bar);
    drop(bar);
    let wish = Wish { baseline: baseline.as_deref(), all_tasks: verbose };
    common::show(report?, &wish, &args.show, &claims, output)
}
