//! Recordings that are directories: `perf record --threads` makes one; those of LTTng are named.

use crate::error::{ErrorKind, TraceError};
use crate::perf_data;
use crate::reconstruct::{ReadOptions, reconstruct};
use crate::recording::Recording;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// More CPUs than any kernel is built for, and one file for each.
const MOST_FILES: usize = 8192;

pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Recording, TraceError> {
    let main = path.join("data");
    if main.is_file() {
        let parts = parts(path);
        let open = |path: &PathBuf| Ok(BufReader::with_capacity(1 << 16, File::open(path)?));
        let main = BufReader::with_capacity(1 << 18, File::open(main)?);
        return reconstruct(options, |sink| perf_data::import_directory(main, &parts, &open, sink));
    }
    let unsupported =
        |what: &str, advice: &str| Err(TraceError::new(ErrorKind::Unsupported, what).advise(advice));
    if path.join("metadata").is_file() || path.join("kernel").is_dir() {
        return unsupported(
            "this is a CTF trace (LTTng)",
            "record the same with perf sched record, trace-cmd or Perfetto",
        );
    }
    if path.join("metadata.textproto").is_file() {
        return unsupported("this is a collection of SchedViz", "give the recording from which it was made");
    }
    Err(TraceError::new(ErrorKind::Io, "this is a directory, and not one of perf record --threads")
        .advise("give the recording in it"))
}

/// The files `data.0`, `data.1`.. of a directory, in the order of their numbers.
fn parts(path: &Path) -> Vec<PathBuf> {
    (0..MOST_FILES)
        .map(|index| path.join(format!("data.{index}")))
        .take_while(|part| part.is_file())
        .collect()
}
