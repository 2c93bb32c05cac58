//! The command `divvy`.

use std::process::ExitCode;

use clap::Parser as _;

mod args;
mod assert;
mod commands;
mod compare;
mod exit;
mod measure;
mod output;
mod place;
mod progress;
#[cfg(test)]
mod samples;
mod summary;
mod top;
mod view;

fn main() -> ExitCode {
    exit::code(&commands::run(&args::Cli::parse()))
}
