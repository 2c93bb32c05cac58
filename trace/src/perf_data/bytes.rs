//! Numbers out of byte slices in the file's byte order, and a stream that knows how far it has come.

use crate::error::{ErrorKind, Place, TraceError};
use std::io::Read;

/// The byte order of the machine that recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endian {
    Little,
    Big,
}

impl Endian {
    /// An unsigned number of 1, 2, 4 or 8 bytes at `at`; `None` outside the slice or for another size.
    pub fn uint(self, data: &[u8], at: usize, size: usize) -> Option<u64> {
        let bytes = data.get(at..at.checked_add(size)?)?;
        if !matches!(size, 1 | 2 | 4 | 8) {
            return None;
        }
        let join = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Some(match self {
            Endian::Big => bytes.iter().fold(0, join),
            Endian::Little => bytes.iter().rev().fold(0, join),
        })
    }

    /// Writes a number of the size of `bytes`.
    pub fn put(self, bytes: &mut [u8], value: u64) {
        let all = value.to_le_bytes();
        let size = bytes.len().min(8);
        bytes[..size].copy_from_slice(&all[..size]);
        if self == Endian::Big {
            bytes[..size].reverse();
        }
    }

    pub fn u16(self, data: &[u8], at: usize) -> Option<u16> {
        self.uint(data, at, 2).map(|v| v as u16)
    }

    pub fn u32(self, data: &[u8], at: usize) -> Option<u32> {
        self.uint(data, at, 4).map(|v| v as u32)
    }

    pub fn u64(self, data: &[u8], at: usize) -> Option<u64> {
        self.uint(data, at, 8)
    }
}

/// A reader that counts, so that every error can say where.
pub(crate) struct Stream<R> {
    inner: R,
    pub offset: u64,
}

impl<R: Read> Stream<R> {
    pub fn new(inner: R, offset: u64) -> Self {
        Stream { inner, offset }
    }

    /// The reader itself.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// Fills `buffer`. An early end is an error; its place is the byte at which the file ends.
    pub fn fill(&mut self, buffer: &mut [u8], what: &str) -> Result<(), TraceError> {
        let got = self.read_up_to(buffer)?;
        if got < buffer.len() {
            return Err(truncated(what, self.offset));
        }
        Ok(())
    }

    /// Like [`Stream::fill`], but `false` if the file ends before the first byte.
    pub fn fill_or_end(&mut self, buffer: &mut [u8], what: &str) -> Result<bool, TraceError> {
        match self.read_up_to(buffer)? {
            0 => Ok(false),
            got if got < buffer.len() => Err(truncated(what, self.offset)),
            _ => Ok(true),
        }
    }

    /// Reads as many bytes as the file claims. Memory grows only with the bytes that are really there.
    pub fn claimed(&mut self, size: u64, limit: u64, what: &str) -> Result<Vec<u8>, TraceError> {
        if size > limit {
            return Err(TraceError::new(ErrorKind::Malformed, format!("{what} claims {size} bytes"))
                .at(Place::Offset(self.offset)));
        }
        let mut data = Vec::new();
        let got = self.inner.by_ref().take(size).read_to_end(&mut data)? as u64;
        self.offset += got;
        if got < size {
            return Err(truncated(what, self.offset));
        }
        Ok(data)
    }

    /// Skips `size` bytes.
    pub fn skip(&mut self, size: u64, what: &str) -> Result<(), TraceError> {
        let got = std::io::copy(&mut self.inner.by_ref().take(size), &mut std::io::sink())?;
        self.offset += got;
        if got < size {
            return Err(truncated(what, self.offset));
        }
        Ok(())
    }

    fn read_up_to(&mut self, buffer: &mut [u8]) -> Result<usize, TraceError> {
        let mut got = 0;
        while got < buffer.len() {
            match self.inner.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => {
                    return Err(TraceError::from(e).at(Place::Offset(self.offset + got as u64)));
                }
            }
        }
        self.offset += got as u64;
        Ok(got)
    }
}

/// The file ends at `end`, in the middle of `what`.
pub(crate) fn truncated(what: &str, end: u64) -> TraceError {
    TraceError::new(ErrorKind::Truncated, format!("the file ends inside {what}"))
        .at(Place::Offset(end))
        .advise("copy it again, or record again and let perf end by itself (Ctrl-C once)")
}
