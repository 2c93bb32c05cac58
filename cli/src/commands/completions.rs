//! `divvy completions SHELL`.

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};
use crate::output::Output;

/// Prints the shell's completions.
pub fn run(args: &CompletionsArgs, output: Output) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "divvy", &mut script);
    output.write(&String::from_utf8(script)?, None)
}
