//! The command `divvy`.

use std::process::ExitCode;

use clap::Parser as _;

mod args;
mod assert;
mod commands;
mod exit;
mod output;
mod place;
mod progress;
mod top;
mod view;

fn main() -> ExitCode {
    exit::code(&commands::run(&args::Cli::parse()))
}
