//! Where the decision log goes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Takes the records of the ring buffer, 32 bytes each, in the order in which they arrive.
pub trait RecordSink {
    /// One record.
    fn write(&mut self, record: &[u8]) -> io::Result<()>;
    /// All that was written is in the file.
    fn flush(&mut self) -> io::Result<()>;
}

/// Records one after the other.
pub struct Raw(BufWriter<File>);

impl Raw {
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(BufWriter::with_capacity(1 << 20, File::create(path)?)))
    }
}

impl RecordSink for Raw {
    fn write(&mut self, record: &[u8]) -> io::Result<()> {
        self.0.write_all(record)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
