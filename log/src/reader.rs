//! Reads a log, one record at a time.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use super::error::LogError;
use super::format::{END_KIND, FIXED_SIZE, Header, MAGIC, RECORD_SIZE, Record, Trailer};

const BUFFER: usize = 1 << 20;

/// Whether a file begins as a log does.
#[must_use]
pub fn is_log(file: &Path) -> bool {
    let mut magic = [0; MAGIC.len()];
    // A pipe could not be read again from its beginning.
    file.is_file()
        && File::open(file).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && &magic == MAGIC
}

/// A record and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// From 1, in the order of the file.
    pub number: u64,
    pub record: Record,
}

/// The next part of a log.
pub(super) enum Next {
    Record(Entry),
    End(Trailer),
    /// No trailer, at this byte.
    Cut(u64),
}

pub(super) struct Reader {
    pub file: PathBuf,
    pub header: Header,
    pub header_size: u64,
    /// Records read.
    pub records: u64,
    input: BufReader<File>,
}

impl Reader {
    /// Opens a log and reads its header.
    pub fn open(file: &Path) -> Result<Reader, LogError> {
        let io_error = |error| LogError::Io { file: file.to_owned(), error };
        let foreign = |what: &str| LogError::Foreign { file: file.to_owned(), what: what.to_owned() };
        let mut input = BufReader::with_capacity(BUFFER, File::open(file).map_err(io_error)?);
        let mut fixed = [0; FIXED_SIZE];
        let read = fill(&mut input, &mut fixed).map_err(io_error)?;
        if read < FIXED_SIZE && !MAGIC.starts_with(&fixed[..read.min(8)]) {
            return Err(foreign("not a log of divvy (`divvy load SPEC --log FILE` writes one)"));
        }
        if read < FIXED_SIZE {
            return Err(LogError::Cut { file: file.to_owned(), at: read as u64, events: 0 });
        }
        let (mut header, lengths) = Header::decode(&fixed).map_err(|what| foreign(&what))?;
        let mut rest = vec![0; lengths.header - FIXED_SIZE];
        let read = fill(&mut input, &mut rest).map_err(io_error)?;
        if read < rest.len() {
            return Err(LogError::Cut { file: file.to_owned(), at: (FIXED_SIZE + read) as u64, events: 0 });
        }
        header.shards = rest[lengths.spec..lengths.spec + lengths.shards].to_vec();
        rest.truncate(lengths.spec);
        header.spec =
            String::from_utf8(rest).map_err(|_| foreign("a damaged header: its spec is not text"))?;
        let header_size = lengths.header as u64;
        Ok(Reader { file: file.to_owned(), header, header_size, records: 0, input })
    }

    /// The next record, or the end.
    pub fn next(&mut self) -> Result<Next, LogError> {
        let mut bytes = [0; RECORD_SIZE];
        let read = fill(&mut self.input, &mut bytes)
            .map_err(|error| LogError::Io { file: self.file.clone(), error })?;
        if read < RECORD_SIZE {
            return Ok(Next::Cut(self.header_size + self.records * RECORD_SIZE as u64 + read as u64));
        }
        self.records += 1;
        if bytes[30] != END_KIND {
            let record = Record::decode(&bytes, !self.header.shards.is_empty());
            return Ok(Next::Record(Entry { number: self.records, record }));
        }
        let trailer = Trailer::decode(&bytes).ok_or_else(|| self.bad(self.records, "a damaged trailer"))?;
        if fill(&mut self.input, &mut [0]).map_err(|error| LogError::Io { file: self.file.clone(), error })?
            > 0
        {
            return Err(self.bad(self.records + 1, "more after the trailer"));
        }
        self.records -= 1;
        Ok(Next::End(trailer))
    }

    pub fn bad(&self, record: u64, what: impl Into<String>) -> LogError {
        LogError::Bad { file: self.file.clone(), record, header_size: self.header_size, what: what.into() }
    }
}

/// Reads as much as there is; returns how much.
fn fill(input: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match input.read(&mut bytes[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
