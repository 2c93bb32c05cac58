//! The commands.

use crate::args::{Cli, Command};
use crate::output::Output;

pub mod common;
mod completions;
pub mod convert;
mod doctor;
pub mod flow;
pub mod help;
pub mod load;
mod man;
pub mod paper;
mod play;
pub mod policies;
pub mod replay;
pub mod report;
mod scheduler_log;
pub mod set;
mod sim;
pub mod sweep;
mod top;
pub mod verify;

/// Does what was asked.
pub fn run(cli: &Cli) -> anyhow::Result<()> {
    let output = Output::new(cli.color, cli.quiet);
    match &cli.command {
        Command::Sim(args) => sim::run(args, cli.verbose, output),
        Command::Replay(args) => replay::run(args, cli.verbose, output),
        Command::Report(args) => report::run(args, output),
        Command::Convert(args) => convert::run(args, output),
        Command::Load(args) => load::run(args, output),
        Command::Flow(args) => flow::run(args, output),
        Command::Set(args) => set::run(args, output),
        Command::Top(args) => top::run(args, output),
        Command::Doctor(args) => doctor::run(args, output),
        Command::Play(args) => play::run(args, cli.verbose, output),
        Command::Verify(args) => verify::run(args, output),
        Command::Policies(args) => policies::run(args, output),
        Command::Paper(args) => paper::run(args, output),
        Command::Sweep(args) => sweep::run(args, output),
        Command::Help(args) => help::run(args, output),
        Command::Completions(args) => completions::run(args, output),
        Command::Man(args) => man::run(args, output),
    }
}
