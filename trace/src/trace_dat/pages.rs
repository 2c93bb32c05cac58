//! The kernel's ring buffer, page by page: events with the time since the one before.

use super::metadata::{Metadata, Part};
use crate::error::{ErrorKind, Place, TraceError};
use crate::import::Facts;
use crate::perf_data::bytes::Endian;
use divvy_policy::CpuId;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

/// Bits of an entry's head that hold its kind or length; the others are the time.
const LENGTH_BITS: u32 = 5;
const TIME_BITS: u32 = 32 - LENGTH_BITS;
/// Kinds of entries that are no records of four to 112 bytes.
const LONG: u32 = 0;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a page's size.
const SIZE: u64 = (1 << TIME_BITS) - 1;
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// A time stamp lacks these bits; they are those of the time before.
const STAMP_BITS: u32 = TIME_BITS + 32;
/// A page begins with the time of its first event.
const TIME_BYTES: usize = 8;

/// Something that happened.
pub(super) enum Item<'a> {
    /// Events are missing here; 0 if it is not known how many.
    Lost { events: u64 },
    /// A tracepoint's bytes.
    Record(&'a [u8]),
}

/// One CPU's events.
pub(super) struct Pages {
    part: Part,
    endian: Endian,
    /// Bytes of a page's size, and where its events begin.
    size_bytes: usize,
    data_at: usize,
    page_bytes: usize,
    compression: Option<super::metadata::Compression>,
    /// Where the next page, or the next compressed chunk, begins in the file.
    next: u64,
    /// Compressed chunks that were not read yet; `None` before their number is known.
    chunks: Option<u32>,
    /// The unpacked chunk, and how much of it was used.
    chunk: Vec<u8>,
    used: usize,
    page: Vec<u8>,
    at: usize,
    end: usize,
    t: u64,
    lost: Option<u64>,
    record: Option<Range<usize>>,
}

impl Pages {
    pub fn new(part: Part, metadata: &Metadata) -> Pages {
        Pages {
            part,
            endian: metadata.endian,
            size_bytes: metadata.size_bytes,
            data_at: TIME_BYTES + metadata.size_bytes,
            page_bytes: metadata.page_bytes,
            compression: metadata.compression.filter(|_| part.is_compressed),
            next: part.offset,
            chunks: None,
            chunk: Vec::new(),
            used: 0,
            page: Vec::new(),
            at: 0,
            end: 0,
            t: 0,
            lost: None,
            record: None,
        }
    }

    pub fn cpu(&self) -> CpuId {
        CpuId::new(self.part.cpu)
    }

    /// About where in the file it is.
    pub fn offset(&self) -> u64 {
        self.next
    }

    /// Goes to the next item; its time, or `None` at the end.
    pub fn next_time<R: Read + Seek>(
        &mut self,
        input: &mut R,
        facts: &mut Facts,
    ) -> Result<Option<u64>, TraceError> {
        loop {
            if self.lost.is_some() || self.record.is_some() {
                return Ok(Some(self.t));
            }
            if self.at < self.end {
                if self.entry().is_none() {
                    facts.malformed += 1; // the rest of the page makes no sense
                    self.at = self.end;
                }
            } else if !self.next_page(input, facts)? {
                return Ok(None);
            }
        }
    }

    /// The item that [`Pages::next_time`] went to.
    pub fn take(&mut self) -> Option<(u64, Item<'_>)> {
        if let Some(events) = self.lost.take() {
            return Some((self.t, Item::Lost { events }));
        }
        let record = self.record.take()?;
        Some((self.t, Item::Record(&self.page[record])))
    }

    /// Reads one entry of the page; `None` if it does not fit.
    fn entry(&mut self) -> Option<()> {
        let head = self.endian.u32(&self.page[..self.end], self.at)?;
        let (kind, time) = match self.endian {
            Endian::Little => (head & ((1 << LENGTH_BITS) - 1), head >> LENGTH_BITS),
            Endian::Big => (head >> TIME_BITS, head & ((1 << TIME_BITS) - 1)),
        };
        let data = self.at + 4;
        let word = || self.endian.u32(&self.page[..self.end], data);
        let time = u64::from(time);
        let (start, length) = match kind {
            PADDING if time == 0 => (self.end, 0),
            PADDING => (data, word()? as usize),
            TIME_EXTEND => {
                self.t = self.t.saturating_add(u64::from(word()?) << TIME_BITS);
                (data + 4, 0)
            }
            TIME_STAMP => {
                let stamp = (u64::from(word()?) << TIME_BITS) + time;
                self.t = self.t >> STAMP_BITS << STAMP_BITS | stamp;
                self.at = data + 4;
                return Some(());
            }
            LONG => (data + 4, (word()?.checked_sub(4)? as usize).checked_next_multiple_of(4)?),
            words => (data, words as usize * 4),
        };
        let next = start.checked_add(length).filter(|next| *next <= self.end)?;
        self.t = self.t.saturating_add(time);
        if !matches!(kind, PADDING | TIME_EXTEND) {
            self.record = Some(start..next);
        }
        self.at = next;
        Some(())
    }

    /// Reads the next page; `false` at the end. A page without events is skipped.
    fn next_page<R: Read + Seek>(&mut self, input: &mut R, facts: &mut Facts) -> Result<bool, TraceError> {
        let has_page = match self.compression {
            None => self.plain_page(input, facts)?,
            Some(compression) => self.packed_page(input, compression, facts)?,
        };
        if !has_page {
            return Ok(false);
        }
        let size = self.endian.uint(&self.page, TIME_BYTES, self.size_bytes).unwrap_or(0);
        self.t = self.endian.u64(&self.page, 0).unwrap_or(0);
        self.at = self.data_at;
        let end = usize::try_from(size & SIZE).ok().and_then(|size| self.data_at.checked_add(size));
        self.end = match end.filter(|end| *end <= self.page.len()) {
            Some(end) => end,
            None => {
                facts.malformed += 1;
                self.at
            }
        };
        if size & MISSED != 0 {
            let stored =
                self.endian.uint(&self.page, self.end, self.size_bytes).filter(|_| size & MISSED_STORED != 0);
            self.lost = Some(stored.unwrap_or(0));
        }
        Ok(true)
    }

    fn plain_page<R: Read + Seek>(&mut self, input: &mut R, facts: &mut Facts) -> Result<bool, TraceError> {
        if self.next >= self.part.offset + self.part.size {
            return Ok(false);
        }
        input.seek(SeekFrom::Start(self.next))?;
        self.page.clear();
        let got = input.by_ref().take(self.page_bytes as u64).read_to_end(&mut self.page)?;
        if got < self.page_bytes {
            facts.cut_at.get_or_insert(self.next + got as u64);
            return Ok(false);
        }
        self.next += self.page_bytes as u64;
        Ok(true)
    }

    fn packed_page<R: Read + Seek>(
        &mut self,
        input: &mut R,
        compression: super::metadata::Compression,
        facts: &mut Facts,
    ) -> Result<bool, TraceError> {
        if self.used + self.page_bytes > self.chunk.len() {
            match self.next_chunk(input, compression) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) if error.kind == ErrorKind::Truncated => {
                    facts.cut_at.get_or_insert(self.next);
                    return Ok(false);
                }
                Err(error) => return Err(error.at(Place::Offset(self.next))),
            }
        }
        let page = self.chunk.get(self.used..self.used + self.page_bytes);
        let Some(page) = page else {
            facts.malformed += 1; // a chunk that is no whole number of pages
            return Ok(false);
        };
        self.page.clear();
        self.page.extend_from_slice(page);
        self.used += self.page_bytes;
        Ok(true)
    }

    /// Unpacks the next chunk; `false` after the last.
    fn next_chunk<R: Read + Seek>(
        &mut self,
        input: &mut R,
        compression: super::metadata::Compression,
    ) -> Result<bool, TraceError> {
        let end = self.part.offset.saturating_add(self.part.size);
        input.seek(SeekFrom::Start(self.next))?;
        let left = match self.chunks {
            Some(left) => left,
            None if self.part.size < 4 => 0,
            None => {
                let mut count = [0; 4];
                super::metadata::fill(input, &mut count, self.next)?;
                self.next += 4;
                self.endian.u32(&count, 0).unwrap_or(0)
            }
        };
        self.chunks = Some(left.saturating_sub(1));
        if left == 0 || self.next >= end {
            return Ok(false);
        }
        let (chunk, length) = compression.chunk(input, self.next, self.endian)?;
        self.next += length;
        (self.chunk, self.used) = (chunk, 0);
        Ok(true)
    }
}
