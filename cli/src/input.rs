//! Files that commands read: workloads and traces. `-` is stdin.

use std::io::{self, Read as _};
use std::path::Path;

use divvy_trace::{ReadOptions, Recording, TraceError, read, read_from};
use divvy_workload::{Workload, WorkloadError};

use crate::output::Output;

/// Largest workload that is read from stdin, in bytes.
pub const MOST_WORKLOAD_BYTES: usize = 64 << 20;

/// Reads a workload. Notes on stderr say where it differs from the file.
pub fn workload(path: &Path, output: Output) -> Result<Workload, WorkloadError> {
    let (workload, notes) = Workload::load(path)?;
    output.notes(&notes);
    Ok(workload)
}

/// Reads a workload, also from stdin.
pub fn workload_or_stdin(path: &Path, output: Output) -> Result<Workload, WorkloadError> {
    if path != Path::new("-") {
        return workload(path, output);
    }
    let failed = |e: io::Error| WorkloadError::File { file: "stdin".to_owned(), reason: e.to_string() };
    let mut text = String::new();
    io::stdin().lock().take(MOST_WORKLOAD_BYTES as u64 + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() > MOST_WORKLOAD_BYTES {
        let reason = "it is longer than the 64 MiB that divvy reads of a workload".to_owned();
        return Err(WorkloadError::File { file: "stdin".to_owned(), reason });
    }
    let (workload, notes) = Workload::parse_any(&text, "stdin")?;
    output.notes(&notes);
    Ok(workload)
}

/// Reads a trace of any kind.
pub fn trace(path: &Path) -> Result<Recording, TraceError> {
    let options = ReadOptions::default();
    if path == Path::new("-") {
        return read_from(io::stdin().lock(), &trace_name(path), &options);
    }
    read(path, &options)
}

/// The trace's name, for reports and messages.
pub fn trace_name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}
