//! `divvy convert IN OUT`.

use std::path::Path;

use divvy_kernel::log::is_log;
use divvy_trace::{Outgoing, write_chrome, write_perf_script, write_perfetto};

use super::{replay, scheduler_log};
use crate::args::{ConvertArgs, PERFETTO_ENDINGS};
use crate::output::Output;
use crate::place;

/// A format that is not written.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {what}; FILE.perfetto-trace, FILE.json (Chrome) and FILE.txt (perf script) can be written")]
pub struct UnknownFormat {
    file: String,
    what: &'static str,
}

#[derive(Clone, Copy)]
enum Format {
    Perfetto,
    Chrome,
    PerfScript,
}

/// The output's format is told by its name, before the input is read; the input's by its content.
pub fn run(args: &ConvertArgs, output: Output) -> anyhow::Result<()> {
    let format = format(&args.output)?;
    place::not_input(std::iter::once(args.input.as_path()), Some(&args.output))?;
    let schedule = match is_log(&args.input) {
        true => scheduler_log::read(&args.input, output)?,
        false => Outgoing::of(&replay::open(&args.input)?),
    };
    let mut bytes = Vec::new();
    match format {
        Format::Perfetto => write_perfetto(&schedule, &mut bytes)?,
        Format::Chrome => write_chrome(&schedule, &mut bytes)?,
        Format::PerfScript => write_perf_script(&schedule, &mut bytes)?,
    }
    output.write_bytes(&bytes, Some(&args.output))
}

fn format(file: &Path) -> Result<Format, UnknownFormat> {
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let refuse = |what| Err(UnknownFormat { file: file.display().to_string(), what });
    match ending.as_str() {
        ending if PERFETTO_ENDINGS.contains(&ending) => Ok(Format::Perfetto),
        "json" => Ok(Format::Chrome),
        "txt" => Ok(Format::PerfScript),
        "data" => refuse("perf.data is read, and not written"),
        "toml" => refuse("workloads are not written yet"),
        _ => refuse("its name does not say in which format"),
    }
}
