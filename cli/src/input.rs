//! Files that commands read: workloads and traces. `-` is stdin.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use divvy_trace::{ReadOptions, Recording, TraceError, read, read_from};
use divvy_workload::{JobLog, Workload, WorkloadError};

use crate::output::Output;

/// Reads a workload. Notes on stderr say where it differs from the file.
pub fn workload(path: &Path, output: Output) -> Result<Workload, WorkloadError> {
    workload_by(path, &JobLog::default(), output)
}

/// As [`workload`], if it is a log of jobs with these settings.
pub fn workload_by(path: &Path, log: &JobLog, output: Output) -> Result<Workload, WorkloadError> {
    let (workload, notes) = if path == Path::new("-") {
        Workload::read_any(io::stdin().lock(), "stdin", log)?
    } else {
        workload_of(path, log)?
    };
    output.notes(&notes);
    Ok(workload)
}

fn workload_of(path: &Path, log: &JobLog) -> Result<(Workload, Vec<String>), WorkloadError> {
    Workload::load_by(path, log).map_err(|error| {
        if !is_recording(path) {
            return error;
        }
        let file = path.display().to_string();
        let reason = format!("it is a recording, and no workload; `divvy replay {file} -p SPEC` replays it");
        WorkloadError::File { file, reason }
    })
}

/// Whether a file begins as recordings do. It is for messages only: [`trace`] reads them all.
fn is_recording(path: &Path) -> bool {
    const LOOKED_AT_BYTES: u64 = 64 << 10;
    const MAGIC: [&[u8]; 3] = [b"PERFILE2", b"2ELIFREP", b"\x17\x08\x44tracing"];
    const EVENT: &[u8] = b"sched_switch";
    // A pipe cannot be read again: to open it would wait for another writer.
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(LOOKED_AT_BYTES).read_to_end(&mut start));
    read.is_ok()
        && (MAGIC.iter().any(|magic| start.starts_with(magic))
            || start.windows(EVENT.len()).any(|w| w == EVENT))
}

/// Says that means depend on the run's length, if its open arrivals ask for all CPUs or more.
pub fn note_overload(load: Option<f64>, output: Output) {
    if let Some(load) = load {
        output.note(&format!("note: {}", divvy_sweep::overload_note(load)));
    }
}

/// Says that means are not to be relied on, if a task's CPU times have no finite variance.
pub fn note_heavy_tail(found: Option<String>, output: Output) {
    if let Some(note) = found {
        output.note(&format!("note: {note}"));
    }
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
