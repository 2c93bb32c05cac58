//! `divvy completions SHELL`.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::output::Output;

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy completions bash > ~/.local/share/bash-completion/completions/divvy
  divvy completions zsh > ~/.zfunc/_divvy
  divvy completions fish > ~/.config/fish/completions/divvy.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Prints the shell's completions.
pub fn run(args: &CompletionsArgs, mut command: Command, output: Output) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "divvy", &mut script);
    output.write(&String::from_utf8(script)?, None)
}
