//! `divvy sim WORKLOAD -p SPEC..`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use divvy_sim::run::{Options, simulate};

use crate::args::machine::MachineArgs;
use crate::args::output::OutputArgs;
use crate::args::policies::PolicyArgs;
use crate::args::random::RandomArgs;
use crate::args::schedule::ScheduleArgs;
use crate::assert::Claims;
use crate::input;
use crate::output::Output;
use crate::print::print;
use crate::progress::ProgressBar;
use crate::view::page::PageOptions;

/// Simulate a workload under one or more policies, and compare them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy sim mix.toml -p rr,sfq,gr3
  divvy sim mix.toml -p pbs:alpha=2+procfair --reps 10 -o mix.json
  divvy sim mix.toml -p gr3 --gantt --gantt-span 1s..1200ms --assert 'max(error) < 8ms'")]
pub struct SimArgs {
    /// The workload, a TOML file; - is stdin
    #[arg(value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub workload: PathBuf,

    #[command(flatten)]
    pub policies: PolicyArgs,

    #[command(flatten)]
    pub machine: MachineArgs,

    #[command(flatten)]
    pub random: RandomArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub schedule: ScheduleArgs,
}

/// Simulates, compares, checks.
pub fn run(args: &SimArgs, verbose: bool, output: Output) -> anyhow::Result<()> {
    let target = args.output.target(&args.workload)?;
    let (specs, baseline) = args.policies.specs()?;
    let claims = Claims::parse(&args.output.assert)?;
    let workload = input::workload(&args.workload, output)?;
    claims.check_names(&workload)?;
    args.schedule.check_span(&args.machine, &target, &workload)?;
    input::note_overload(
        divvy_sweep::overload(&workload, args.machine.cpus.unwrap_or(workload.cpus)),
        output,
    );
    args.machine.note_decisions(&workload, output);
    let options = Options {
        seed: args.random.seed,
        reps: args.random.reps,
        ..args.schedule.options(&args.machine, &target)
    };
    let report = simulate(&workload, &specs, &options, &ProgressBar::new("simulating", output))?;
    let page = PageOptions { baseline: baseline.as_deref(), all_tasks: verbose, by: None };
    claims.check(&print(report, &page, &target, output)?)
}
