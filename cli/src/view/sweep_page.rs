//! A sweep as one HTML file that needs no network: curves with their intervals. It is a page as a report is, with another
//! script.

use divvy_pages::report;
use divvy_sweep::Finished;
use serde::Serialize;

/// The data that the page's scripts read.
#[derive(Serialize)]
struct Data<'a> {
    sweep: &'a Finished,
    /// In digits: a script's numbers are exact only up to 2^53.
    seed: String,
    command: &'a str,
    /// In a sentence or two.
    summary: Vec<String>,
    version: &'static str,
}

/// Writes the page; `command` is what made it.
pub fn write(sweep: &Finished, command: &str) -> serde_json::Result<String> {
    let seed = sweep.seed.to_string();
    report::page(
        &report::SWEEP,
        &Data {
            sweep,
            seed,
            command,
            summary: divvy_sweep::sentences(sweep),
            version: env!("CARGO_PKG_VERSION"),
        },
    )
}
