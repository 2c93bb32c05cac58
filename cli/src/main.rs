//! The command `divvy`.

use std::process::ExitCode;

use clap::Parser as _;

mod advise;
mod args;
mod assert;
mod cli;
mod cluster;
mod command_line;
mod commands;
mod exit;
mod http;
mod input;
mod output;
mod output_path;
mod print;
mod progress;
mod studio;
mod top;
mod view;

fn main() -> ExitCode {
    divvy_play::run_instance().unwrap_or_else(|| exit::code(&cli::run(&cli::Cli::parse())))
}
