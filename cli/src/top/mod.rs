//! `divvy top`: shows the loaded scheduler on a screen, as text, or as metrics. It is another process than the loader,
//! and asks it for counters since loading; the differences over an interval are computed here.

mod batch;
mod cells;
pub mod metrics;
pub mod options;
mod plain;
pub mod poller;
pub mod rows;
#[cfg(feature = "top")]
mod screen;
pub mod users;

use crate::output::Output;
use options::Options;

/// Runs until the user quits, the scheduler is unloaded, or the number of intervals is reached.
pub fn run(options: Options, output: Output) -> anyhow::Result<()> {
    let is_batch = options.format.is_some() || options.times.is_some();
    if !is_batch && has_screen() {
        return on_screen(options, output);
    }
    let server = options.metrics.map(metrics::listen).transpose()?;
    match server {
        Some(server) if !is_batch => {
            output.note(&format!("metrics at {}", server.url()));
            server.serve_forever()
        }
        server => {
            if let Some(server) = server {
                std::thread::spawn(move || {
                    if let Err(error) = server.serve_forever() {
                        output.note(&format!("{error:#}"));
                    }
                });
            }
            batch::run(&options, output)
        }
    }
}

fn has_screen() -> bool {
    use std::io::IsTerminal as _;
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    cfg!(feature = "top") && !is_dumb && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

#[cfg(feature = "top")]
use screen::run as on_screen;

#[cfg(not(feature = "top"))]
fn on_screen(options: Options, output: Output) -> anyhow::Result<()> {
    batch::run(&options, output)
}
