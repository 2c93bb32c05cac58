//! `divvy man [DIR]`.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command, ValueHint};

use crate::output::Output;

/// Print the man page, or write the pages of all commands to a directory
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy man | man -l -
  divvy man ~/.local/share/man/man1
  divvy man target/man && man target/man/divvy-sim.1")]
pub struct ManArgs {
    /// Directory for divvy.1, divvy-sim.1 and so on; created if it does not exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// Prints divvy.1, or writes a page a command.
pub fn run(args: &ManArgs, command: Command, output: Output) -> anyhow::Result<()> {
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return output.write(&String::from_utf8(page)?, None);
    };
    let failed = || format!("cannot write man pages to {}", dir.display());
    fs::create_dir_all(dir).with_context(failed)?;
    clap_mangen::generate_to(command, dir).with_context(failed)?;
    output.note(&format!("man pages are in {}", dir.display()));
    Ok(())
}
