//! `divvy completions SHELL`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use clap_complete::Shell;
use divvy_policy::Kind;

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

/// Arguments that take a policy's spec, by command. A name is a spec; what follows it is not completed.
const SPECS: [(&str, &[&str]); 5] = [
    ("sim", &["policy", "baseline"]),
    ("replay", &["policy", "baseline"]),
    ("sweep", &["policy", "baseline"]),
    ("load", &["spec"]),
    ("policies", &["name"]),
];

/// Prints the shell's completions.
pub fn run(args: &CompletionsArgs, command: Command, output: Output) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_policies(command), "divvy", &mut script);
    output.write(&String::from_utf8(script)?, None)
}

/// With the selections' names as values, which the command itself does not know: a spec is more than a name.
fn with_policies(command: Command) -> Command {
    let selections = divvy_policy::all().iter().filter(|policy| policy.kind == Kind::Selection);
    let names: Vec<&'static str> = selections.map(|policy| policy.name).collect();
    SPECS.iter().fold(command, |command, (name, arguments)| {
        // Some commands need features that this build may lack.
        if command.find_subcommand(name).is_none() {
            return command;
        }
        command.mut_subcommand(name, |sub| {
            sub.mut_args(|arg| match arguments.contains(&arg.get_id().as_str()) {
                true => arg.value_parser(PossibleValuesParser::new(names.clone())),
                false => arg,
            })
        })
    })
}
