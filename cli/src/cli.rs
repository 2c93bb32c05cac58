//! The command line: its commands, and the options that all of them have. Help, completions and man pages come from here.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::advise::{self, AdviseArgs};
use crate::commands::apply::{self, ApplyArgs};
use crate::commands::completions::{self, CompletionsArgs};
use crate::commands::convert::{self, ConvertArgs};
use crate::commands::doctor::{self, DoctorArgs};
use crate::commands::enable::{self, DisableArgs, EnableArgs};
use crate::commands::exercise::{self, ExerciseArgs};
use crate::commands::flow::{self, FlowArgs};
use crate::commands::help::{self, HelpArgs};
use crate::commands::latency::{self, LatencyArgs};
use crate::commands::load::{self, LoadArgs};
use crate::commands::man::{self, ManArgs};
use crate::commands::map::{self, MapArgs};
use crate::commands::paper::{self, PaperArgs};
use crate::commands::play::{self, PlayArgs};
use crate::commands::policies::{self, PoliciesArgs};
use crate::commands::record::{self, RecordArgs};
use crate::commands::replay::{self, ReplayArgs};
use crate::commands::report::{self, ReportArgs};
use crate::commands::set::{self, SetArgs};
use crate::commands::sim::{self, SimArgs};
use crate::commands::studio::{self, StudioArgs};
use crate::commands::sweep::{self, SweepArgs};
use crate::commands::timehist::{self, TimehistArgs};
use crate::commands::top::{self, TopArgs};
use crate::commands::verify::{self, VerifyArgs};
use crate::exit;
use crate::output::{Color, Output};

/// Options that every command has stand behind those of the command.
const LAST: usize = 1000;

/// Divides the CPU on purpose: simulate, replay and load scheduling policies.
#[derive(Debug, Parser)]
#[command(name = "divvy", version, max_term_width = 100, after_help = exit::HELP, disable_help_subcommand = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,

    /// Colour and emphasis; auto honours NO_COLOR and CLICOLOR_FORCE
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        display_order = LAST,
        help_heading = "Output"
    )]
    pub color: Color,

    /// No progress and no notes on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = LAST, help_heading = "Output")]
    pub quiet: bool,

    /// Show every task under every policy, however many there are
    #[arg(short, long, global = true, display_order = LAST, help_heading = "Output")]
    pub verbose: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Sim(SimArgs),
    Replay(ReplayArgs),
    Record(RecordArgs),
    Report(ReportArgs),
    Convert(ConvertArgs),
    Latency(LatencyArgs),
    Timehist(TimehistArgs),
    Map(MapArgs),
    Load(LoadArgs),
    Enable(EnableArgs),
    Disable(DisableArgs),
    Apply(ApplyArgs),
    Set(SetArgs),
    Top(TopArgs),
    Flow(FlowArgs),
    Doctor(DoctorArgs),
    Play(PlayArgs),
    Verify(VerifyArgs),
    Policies(PoliciesArgs),
    Paper(PaperArgs),
    Sweep(SweepArgs),
    Studio(StudioArgs),
    Exercise(ExerciseArgs),
    Advise(AdviseArgs),
    Help(HelpArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Runs the command.
pub fn run(cli: &Cli) -> anyhow::Result<()> {
    let output = Output::new(cli.color, cli.quiet);
    match &cli.command {
        Command::Sim(args) => sim::run(args, cli.verbose, output),
        Command::Replay(args) => replay::run(args, cli.verbose, output),
        Command::Record(args) => record::run(args, output),
        Command::Report(args) => report::run(args, output),
        Command::Convert(args) => convert::run(args, output),
        Command::Latency(args) => latency::run(args, output),
        Command::Timehist(args) => timehist::run(args, output),
        Command::Map(args) => map::run(args, output),
        Command::Load(args) => load::run(args, output),
        Command::Enable(args) => enable::run(args, output),
        Command::Disable(args) => enable::stop(args, output),
        Command::Apply(args) => apply::run(args, cli.verbose, output),
        Command::Flow(args) => flow::run(args, output),
        Command::Set(args) => set::run(args, output),
        Command::Top(args) => top::run(args, output),
        Command::Doctor(args) => doctor::run(args, output),
        Command::Play(args) => play::run(args, cli.verbose, output),
        Command::Verify(args) => verify::run(args, output),
        Command::Policies(args) => policies::run(args, output),
        Command::Paper(args) => paper::run(args, output),
        Command::Sweep(args) => sweep::run(args, output),
        Command::Studio(args) => studio::run(args, output),
        Command::Exercise(args) => exercise::run(args, output),
        Command::Advise(args) => advise::run(args, output),
        Command::Help(args) => help::run(args, Cli::command(), output),
        Command::Completions(args) => completions::run(args, Cli::command(), output),
        Command::Man(args) => man::run(args, Cli::command(), output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Scripts may have it; the help does not.
    #[test]
    fn the_starvation_limits_old_name_still_works() {
        let limit = |name: &str| match Cli::try_parse_from(["divvy", "load", "rr", name, "2s"]) {
            Ok(Cli { command: Command::Load(args), .. }) => args.scheduler.starvation_limit,
            other => panic!("{other:?}"),
        };
        assert_eq!(limit("--patience"), Some(std::time::Duration::from_secs(2)));
        assert_eq!(limit("--patience"), limit("--starvation-limit"));
    }

    #[test]
    fn every_command_has_a_one_line_about_and_a_few_examples() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let about = command.get_about().expect(name).to_string();
            assert!(!about.contains('\n') && about.len() <= 80, "{name}: {about}");
            let after = command.get_after_help().expect(name).to_string();
            let examples = after
                .lines()
                .filter(|line| line.trim_start_matches(' ').trim_start_matches("sudo ").starts_with("divvy "))
                .count();
            assert!((3..=6).contains(&examples), "{name}: {examples}");
        }
    }

    #[test]
    fn the_examples_are_valid() {
        for command in Cli::command().get_subcommands() {
            let after = command.get_after_help().expect("examples").to_string();
            for line in after.lines().filter_map(|line| line.strip_prefix("  ")) {
                let line = line.strip_prefix("sudo ").unwrap_or(line);
                let line = line.split(" > ").next().unwrap_or(line);
                let line = line.split(" | ").next().unwrap_or(line);
                let line = line.split(" && ").next().unwrap_or(line);
                // Quotes hold no quotes in the examples.
                let words = line.split('\'').enumerate().flat_map(|(index, piece)| {
                    if index % 2 == 1 { vec![piece] } else { piece.split_whitespace().collect() }
                });
                let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
                let claims = match &cli.command {
                    Command::Sim(args) => &args.output.assert,
                    Command::Replay(args) => &args.output.assert,
                    Command::Play(args) => &args.output.assert,
                    _ => continue,
                };
                for claim in claims {
                    assert::Claim::parse(claim).unwrap_or_else(|error| panic!("{error}"));
                }
            }
        }
    }
}
