//! An interval after the other, as text.

use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::Instant;

use crate::args::TopFormat;
use crate::output::Output;

use super::plain;
use super::{Looker, Options, Sight};

/// Prints as many intervals as are asked for. The first begins now.
pub fn run(options: &Options, output: Output) -> anyhow::Result<()> {
    let mut looker = Looker::default();
    looker.look()?;
    if options.format == Some(TopFormat::Csv) {
        output.write_bytes(plain::CSV_HEAD.as_bytes(), None)?;
    }
    let mut next = Instant::now();
    for _ in 0..options.times.unwrap_or(u64::MAX) {
        next += options.every;
        // One that could not be looked at in time is left out.
        next = next.max(Instant::now());
        thread::sleep(next - Instant::now());
        let sight = looker.look()?;
        print(options, &sight, output)?;
    }
    Ok(())
}

/// Programs get names as they are, byte by byte; a terminal gets none that it would obey.
fn print(options: &Options, sight: &Sight, output: Output) -> anyhow::Result<()> {
    let show = &options.show;
    let rows = show.rows(&sight.interval);
    let text = match options.format.unwrap_or(TopFormat::Table) {
        TopFormat::Table => {
            let table = plain::table(sight, &rows, show, output.columns(None), output.is_styled(None));
            return output.write(&table, None);
        }
        TopFormat::Json => plain::json(sight, &rows, show)?,
        TopFormat::Csv => plain::csv(sight, &rows, io::stdout().is_terminal()),
    };
    output.write_bytes(text.as_bytes(), None)
}
