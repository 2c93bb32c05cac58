//! Prints one interval after the other, as text.

use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::Instant;

use super::options::{Options, TopFormat};
use super::plain;
use super::poller::{Observation, Poller};
use crate::output::Output;

/// Prints intervals; the first begins now.
pub fn run(options: &Options, output: Output) -> anyhow::Result<()> {
    let mut poller = Poller::default();
    poller.poll()?;
    if options.format == Some(TopFormat::Csv) {
        output.write_bytes(plain::CSV_HEAD.as_bytes(), None)?;
    }
    let mut next = Instant::now();
    for _ in 0..options.times.unwrap_or(u64::MAX) {
        next += options.every;
        // An interval that is missed is left out.
        next = next.max(Instant::now());
        thread::sleep(next - Instant::now());
        let observation = poller.poll()?;
        print(options, &observation, output)?;
    }
    Ok(())
}

/// Programs get names byte by byte; for a terminal, control characters are escaped.
fn print(options: &Options, observation: &Observation, output: Output) -> anyhow::Result<()> {
    let query = &options.query;
    let rows = query.rows(&observation.interval);
    let text = match options.format.unwrap_or(TopFormat::Table) {
        TopFormat::Table => {
            let table = plain::table(observation, &rows, query, output.columns(None), output.is_styled(None));
            return output.write(&table, None);
        }
        TopFormat::Json => plain::json(observation, &rows, query)?,
        TopFormat::Csv => plain::csv(observation, &rows, io::stdout().is_terminal()),
    };
    output.write_bytes(text.as_bytes(), None)
}
