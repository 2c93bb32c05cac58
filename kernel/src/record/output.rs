//! The file or stream that a recording is written to.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::fchown;
use std::path::Path;

use divvy_trace::{Machine, PerfWriter};

use super::error::RecordError;

/// The variables in which sudo says for whom it runs.
const SUDO: [&str; 2] = ["SUDO_UID", "SUDO_GID"];

/// A file, or stdout.
pub enum Sink {
    File(File),
    Stdout(io::Stdout),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
            Sink::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.flush(),
            Sink::Stdout(stdout) => stdout.flush(),
        }
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Sink::File(file) => file.seek(to),
            Sink::Stdout(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// Begins the recording's file; a stream if it is stdout, or something that has no places, as a named pipe.
pub fn open(path: &Path, machine: &Machine) -> Result<PerfWriter<Sink>, RecordError> {
    let failed = |error| RecordError::Io(format!("cannot write {}", path.display()), error);
    if path == Path::new("-") {
        return PerfWriter::stream(Sink::Stdout(io::stdout()), machine).map_err(failed);
    }
    let file = create(path).map_err(failed)?;
    let is_file = file.metadata().is_ok_and(|known| known.is_file());
    let sink = Sink::File(file);
    if is_file { PerfWriter::file(sink, machine) } else { PerfWriter::stream(sink, machine) }.map_err(failed)
}

/// A new file belongs to who called sudo. One that was there keeps its owner: it may be anybody's.
fn create(path: &Path) -> io::Result<File> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => {
            if let [Some(user), Some(group)] = SUDO.map(id) {
                // The recording is worth more than its owner.
                let _ = fchown(&file, Some(user), Some(group));
            }
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            OpenOptions::new().write(true).truncate(true).open(path)
        }
        Err(error) => Err(error),
    }
}

fn id(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}
