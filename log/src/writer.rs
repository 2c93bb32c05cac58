//! Writes a log.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::error::LogError;
use super::format::{Header, RECORD_SIZE, Trailer};

const BUFFER: usize = 1 << 20;

/// A log that is being written. Without [`LogWriter::finish`] it has no trailer, and counts as cut off.
pub struct LogWriter {
    file: PathBuf,
    out: BufWriter<File>,
}

impl LogWriter {
    /// Begins a file, in place of one that is there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(file: &Path, header: &Header) -> Result<LogWriter, LogError> {
        let failed = |error| LogError::Io { file: file.to_owned(), error };
        let mut out = BufWriter::with_capacity(BUFFER, File::create(file).map_err(failed)?);
        out.write_all(&header.encode()).map_err(failed)?;
        Ok(LogWriter { file: file.to_owned(), out })
    }

    /// Appends records as they come out of the kernel's ring buffer: one, or several without a gap.
    ///
    /// # Errors
    /// When the file cannot be written.
    ///
    /// # Panics
    /// When these are not whole records: the host and the loader are not of the same build.
    pub fn records(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        assert!(bytes.len().is_multiple_of(RECORD_SIZE), "{} bytes of records", bytes.len());
        self.out.write_all(bytes).map_err(|error| LogError::Io { file: self.file.clone(), error })
    }

    /// Ends it: the host's `stats.records` and `stats.dropped`, read after the scheduler was detached and the
    /// ring buffer emptied.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self, records: u64, dropped: u64) -> Result<(), LogError> {
        let trailer = Trailer { records, dropped }.encode();
        let done = self.out.write_all(&trailer).and_then(|()| self.out.flush());
        done.map_err(|error| LogError::Io { file: self.file, error })
    }
}
