//! `divvy advise WORKLOAD --goal CLAIM..`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};
use divvy_policy::quantity::format_time_ns;
use divvy_policy::{file, spec};
use divvy_sim::run::Options;

use crate::advise::{candidates, default_specs, search};
use crate::args::machine::MachineArgs;
use crate::args::output::PlainFormat;
use crate::args::policies::PolicyArgs;
use crate::assert::{ClaimError, Claims};
use crate::command_line::quoted;
use crate::input;
use crate::output::Output;
use crate::progress::ProgressBar;
use crate::view::{advice, advice_json};

/// Search for a policy, a quantum and weights under which a workload reaches goals
///
/// Policies are tried with several quanta for an eighth of the time, then the best of them with other weights for the tasks that goals name,
/// then the best of those for longer, and at last six for the whole time in --reps repetitions. Of settings that reach all goals the
/// first is the one that costs the other tasks least.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy advise game-and-stream.toml --goal 'p99(response, task=game) < 16ms'
  divvy advise mix.toml -p sfq,gr3 --goal 'share(backup) <= 2%' --goal jain>0.9
  divvy advise mix.toml --goal 'max(error) < 5ms' --baseline rr --reps 10
  divvy advise mix.toml --goal jain>0.9 --format json > advice.json")]
pub struct AdviseArgs {
    /// The workload, a TOML file; - is stdin
    #[arg(value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub workload: PathBuf,

    /// A goal, as in `p99(response, task=game) < 16ms` (repeat for more)
    ///
    /// The language is that of `divvy sim --assert`, without policy=, == and !=.
    #[arg(long, required = true, value_name = "CLAIM", action = ArgAction::Append, value_hint = ValueHint::Other)]
    pub goal: Vec<String>,

    /// Policies to try, several by commas or by repeating -p [default: those that a kernel may load, without baselines]
    #[arg(short, long = "policy", value_name = "SPEC", action = ArgAction::Append, value_hint = ValueHint::Other, help_heading = "Policies")]
    pub policy: Vec<String>,

    /// The policy that the workload has now: what settings cost other tasks is measured beside it
    #[arg(long, value_name = "SPEC", default_value = "eevdf", value_hint = ValueHint::Other, help_heading = "Policies")]
    pub baseline: String,

    #[command(flatten)]
    pub machine: MachineArgs,

    /// Number that all random numbers come from
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Chance")]
    pub seed: u64,

    /// Repetitions of the last round, each with its own random numbers
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000), help_heading = "Chance")]
    pub reps: u32,

    /// How to print the advice
    #[arg(long, value_enum, default_value_t = PlainFormat::Table, help_heading = "Output")]
    pub format: PlainFormat,
}

impl AdviseArgs {
    /// The command that runs the workload again, but for policy and quantum: its beginning, and its end.
    fn rerun(&self) -> (String, String) {
        let mut end = format!("--reps {}", self.reps);
        if self.seed != 1 {
            end += &format!(" --seed {}", self.seed);
        }
        if let Some(cpus) = self.machine.cpus {
            end += &format!(" --cpus {cpus}");
        }
        if let Some(ns) = self.machine.duration_ns {
            end += &format!(" --duration {}", format_time_ns(ns as i64));
        }
        (format!("divvy sim {}", quoted(&self.workload.to_string_lossy())), end)
    }
}

/// Searches, and fails if no settings reach all goals.
pub fn run(args: &AdviseArgs, output: Output) -> anyhow::Result<()> {
    let goals = goals(&args.goal)?;
    let specs = match args.policy.as_slice() {
        [] => default_specs()?,
        given => PolicyArgs { policy: given.to_vec(), baseline: None }.specs()?.0,
    };
    file::load_named(std::slice::from_ref(&args.baseline))?;
    let baseline = spec::parse(&args.baseline, divvy_policy::all())?;
    let workload = input::workload(&args.workload, output)?;
    goals.check_names(&workload).map_err(of_goal)?;
    let candidates = candidates(specs, &workload, args.machine.quantum_ns);
    let options = Options { seed: args.seed, reps: args.reps, ..args.machine.options() };
    let bar = ProgressBar::new("searching", output);
    let found = search(&workload, &goals, candidates, baseline, &options, &bar)?;
    drop(bar);
    let advice = match args.format {
        PlainFormat::Table => advice::write(&found, &workload, &goals, &args.rerun(), output.columns(None)),
        PlainFormat::Json => advice_json::write(&found, &workload, &goals, &args.rerun()),
    };
    output.write(&advice, None)?;
    match found.best.first().and_then(|best| best.report.as_ref()) {
        Some(report) => goals.check(report),
        None => Ok(()),
    }
}

fn goals(texts: &[String]) -> Result<Claims, ClaimError> {
    let goals = Claims::parse(texts).map_err(of_goal)?;
    goals.iter().try_for_each(|goal| goal.check_goal().map_err(of_goal))?;
    Ok(goals)
}

fn of_goal(error: ClaimError) -> ClaimError {
    ClaimError { option: "--goal", ..error }
}
