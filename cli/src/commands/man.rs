//! `divvy man [DIR]`.

use std::fs;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::args::{Cli, ManArgs};
use crate::output::Output;

/// Prints divvy.1, or writes a page a command.
pub fn run(args: &ManArgs, output: Output) -> anyhow::Result<()> {
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        return output.write(&String::from_utf8(page)?, None);
    };
    let failed = || format!("cannot write man pages to {}", dir.display());
    fs::create_dir_all(dir).with_context(failed)?;
    clap_mangen::generate_to(Cli::command(), dir).with_context(failed)?;
    output.note(&format!("man pages are in {}", dir.display()));
    Ok(())
}
