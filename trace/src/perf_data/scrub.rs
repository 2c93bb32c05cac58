//! Makes a `perf.data` fit to be shown: only chosen threads remain, and nothing that tells of the machine or of anybody else on it.

use super::bytes::{Endian, Stream};
use super::file::{self, FEATURE_OSRELEASE, FEATURE_TRACING_DATA, HEADER_SIZE, Header, Section};
use super::format::TracingData;
use super::layout::{Layout, Layouts};
use super::tracepoints::Decoders;
use super::{MOST_TRACING_DATA, record};
use crate::error::{ErrorKind, Place, TraceError};
use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom, Write};

/// A thread number beyond the kernel's largest (`PID_MAX_LIMIT`), for all threads that are not kept.
const OTHER_TID: i32 = 1 << 22;
const OTHER_COMM: &[u8] = b"other";

/// Features that say nothing but how to read the file: tracepoints, release, version, architecture, number of CPUs, events, clock.
const KEPT_FEATURES: [u64; 7] = [FEATURE_TRACING_DATA, FEATURE_OSRELEASE, 5, 6, 7, 12, 23];
const MOST_FEATURE: u64 = 1 << 24;

/// The parts that were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scrubbed {
    /// Samples of the input.
    pub samples: u64,
    /// Samples of the output.
    pub kept: u64,
}

/// Copies a `perf.data` (in its file form) with only those threads that `keep` selects.
///
/// The time that other threads had on a CPU appears as idle, so that every switch still follows from the one before. Where another
/// thread acts on a kept one (wakes it, forks it) it appears as `other`. Kernel addresses, host, command line, maps, build ids, processor
/// and topology are left out; the kernel's release is cut to its number.
///
/// # Errors
/// If the input cannot be read, is not such a file, has parts that cannot be scrubbed, or the output cannot be written.
pub fn scrub<R: Read + Seek, W: Write + Seek>(
    mut input: R,
    mut output: W,
    keep: &BTreeSet<i32>,
) -> Result<Scrubbed, TraceError> {
    let length = input.seek(SeekFrom::End(0))?;
    let (header, description) = file::open_whole(&mut input, length)?;
    let endian = header.endian;
    let before = Section { offset: 0, size: header.data.offset };
    let mut start = file::read_section(&mut input, before, MOST_FEATURE, "its list of events")?;
    if header.attrs.offset + header.attrs.size > header.data.offset {
        return Err(TraceError::new(ErrorKind::Unsupported, "its list of events lies behind the data")
            .at(Place::Offset(header.attrs.offset)));
    }
    let features = kept_features(&mut input, &header, length)?;
    for (feature, section) in file::read_features(&mut input, &header, length)? {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let range = place(section.offset)..place(section.offset.saturating_add(section.size));
        if feature != FEATURE_TRACING_DATA
            && let Some(early) = start.get_mut(range)
        {
            early.fill(0);
        }
    }
    output.write_all(&start)?;

    let decoders = description.decoders(endian)?;
    let mut scrubber = Scrubber {
        endian,
        layouts: &description.layouts,
        decoders,
        keep,
        named_other: false,
        counts: Scrubbed::default(),
    };
    input.seek(SeekFrom::Start(header.data.offset))?;
    let mut stream = Stream::new(input, header.data.offset);
    let data_size = scrubber.records(&mut stream, header.data.offset + header.data.size, &mut output)?;
    write_features(&mut output, endian, header.data.offset + data_size, &features)?;

    output.seek(SeekFrom::Start(0))?;
    output.write_all(&new_header(&start, endian, data_size, &features))?;
    Ok(scrubber.counts)
}

/// The contents of the features that are kept, in their order.
fn kept_features<R: Read + Seek>(
    input: &mut R,
    header: &Header,
    length: u64,
) -> Result<Vec<(u64, Vec<u8>)>, TraceError> {
    let mut features = Vec::new();
    for (feature, section) in file::read_features(input, header, length)? {
        if !KEPT_FEATURES.contains(&feature) {
            continue;
        }
        let mut data = file::read_section(input, section, MOST_TRACING_DATA, "a feature section")?;
        if feature == FEATURE_TRACING_DATA {
            let end =
                TracingData::parse(&data).ok_or_else(|| file::bad_tracing_data(section.offset))?.formats_end;
            data.truncate(end);
            data.extend([0; 4 + 4 + 8]); // no kernel symbols, no print formats, no saved names
        }
        if feature == FEATURE_OSRELEASE {
            let number = |b: &u8| b.is_ascii_digit() || *b == b'.';
            let end = data.iter().skip(4).position(|b| !number(b)).map_or(data.len(), |n| n + 4);
            data[end..].fill(0);
        }
        features.push((feature, data));
    }
    Ok(features)
}

fn write_features<W: Write>(
    output: &mut W,
    endian: Endian,
    at: u64,
    features: &[(u64, Vec<u8>)],
) -> Result<(), TraceError> {
    let mut offset = at + features.len() as u64 * 16;
    for (_, data) in features {
        let mut section = [0; 16];
        endian.put(&mut section[..8], offset);
        endian.put(&mut section[8..], data.len() as u64);
        output.write_all(&section)?;
        offset += data.len() as u64;
    }
    features.iter().try_for_each(|(_, data)| output.write_all(data).map_err(TraceError::from))
}

fn new_header(start: &[u8], endian: Endian, data_size: u64, features: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut header = start[..HEADER_SIZE].to_vec();
    endian.put(&mut header[48..56], data_size);
    for word in 0..4 {
        let bits =
            features.iter().filter(|(f, _)| f / 64 == word).fold(0, |bits, (f, _)| bits | 1 << (f % 64));
        let at = 72 + word as usize * 8;
        endian.put(&mut header[at..at + 8], bits);
    }
    header
}

struct Scrubber<'a> {
    endian: Endian,
    layouts: &'a Layouts,
    decoders: Decoders,
    keep: &'a BTreeSet<i32>,
    /// The file already says that `OTHER_TID` is called `other`.
    named_other: bool,
    counts: Scrubbed,
}

impl Scrubber<'_> {
    /// Copies records up to `end`; returns the number of bytes written.
    fn records<R: Read, W: Write>(
        &mut self,
        stream: &mut Stream<R>,
        end: u64,
        output: &mut W,
    ) -> Result<u64, TraceError> {
        let (mut written, mut payload) = (0, Vec::new());
        while stream.offset < end {
            let start = stream.offset;
            let mut head = [0; 8];
            stream.fill(&mut head, "a record")?;
            let (kind, size) = record::head(&head, self.endian).map_err(|e| e.at(Place::Offset(start)))?;
            payload.resize(size, 0);
            stream.fill(&mut payload, "a record")?;
            let keep = match kind {
                record::SAMPLE => self.sample(&mut payload),
                record::COMM => self.comm(&mut payload),
                record::FORK | record::EXIT => self.fork(&mut payload),
                record::LOST
                | record::LOST_SAMPLES
                | record::FINISHED_ROUND
                | record::FINISHED_INIT
                | record::ID_INDEX => true,
                record::AUXTRACE | record::COMPRESSED | record::COMPRESSED2 => {
                    return Err(TraceError::new(
                        ErrorKind::Unsupported,
                        "AUX traces and compressed records cannot be scrubbed",
                    )
                    .at(Place::Offset(start)));
                }
                _ => false,
            };
            if keep {
                output.write_all(&head)?;
                output.write_all(&payload)?;
                written += (8 + size) as u64;
            }
        }
        Ok(written)
    }

    fn is_kept(&self, tid: i32) -> bool {
        self.keep.contains(&tid)
    }

    /// Rewrites a sample; `false` if it concerns no kept thread.
    fn sample(&mut self, payload: &mut [u8]) -> bool {
        self.counts.samples += 1;
        let layout = self.layouts.of_sample(payload, self.endian).filter(Layout::is_useful);
        let Some((layout, (origin, raw))) = layout.and_then(|l| Some((l, l.sample(payload, self.endian)?)))
        else {
            return false;
        };
        let raw_at = raw.as_ptr() as usize - payload.as_ptr() as usize;
        let raw_len = raw.len();
        let (parties, current_at, state_at) =
            (self.decoders.parties(raw), self.decoders.current_at(raw), self.decoders.state_at(raw));
        // A wake concerns the woken thread; a switch concerns both threads.
        let subjects =
            if state_at.is_some() { &parties[..] } else { &parties[parties.len().saturating_sub(1)..] };
        if !subjects.iter().any(|p| self.is_kept(p.tid)) {
            return false;
        }
        let is_switch = state_at.is_some();
        let (stand_in, prev_tid) =
            (if is_switch { 0 } else { OTHER_TID }, parties.first().map_or(-1, |p| p.tid));
        let current = current_at
            .clone()
            .and_then(|at| self.endian.u32(&payload[raw_at..], at.start))
            .map_or(-1, |n| n as i32);
        let raw = &mut payload[raw_at..raw_at + raw_len];
        for comm in parties.iter().filter_map(|p| p.comm_at.clone()) {
            clear_padding(&mut raw[comm]);
        }
        for party in parties.iter().filter(|p| p.tid != 0 && !self.is_kept(p.tid)) {
            let idle = format!("swapper/{}", origin.cpu);
            put_text(raw, party.comm_at.clone(), if is_switch { idle.as_bytes() } else { OTHER_COMM });
            self.put(raw, Some(party.tid_at.clone()), stand_in);
            self.put(raw, party.prio_at.clone(), 120);
        }
        if is_switch && !self.is_kept(prev_tid) {
            self.put(raw, state_at, 0);
        }
        if current != 0 && !self.is_kept(current) {
            self.put(raw, current_at, stand_in);
            if let Some(at) = layout.tid_offset() {
                self.put(payload, Some(at..at + 4), stand_in);
                self.put(payload, Some(at + 4..at + 8), stand_in);
            }
        }
        if let Some(at) = layout.ip_offset() {
            payload[at..at + 8].fill(0);
        }
        self.counts.kept += 1;
        true
    }

    fn put(&self, bytes: &mut [u8], at: Option<std::ops::Range<usize>>, value: i32) {
        if let Some(bytes) = at.and_then(|at| bytes.get_mut(at)) {
            self.endian.put(bytes, i64::from(value) as u64);
        }
    }

    /// Names of kept threads stay; the first other one is made the name of all others.
    fn comm(&mut self, payload: &mut [u8]) -> bool {
        let Some(tid) = self.endian.u32(payload, 4) else {
            return false;
        };
        if self.is_kept(tid as i32) {
            return true;
        }
        let end = memchr::memchr(0, &payload[8..]).map_or(payload.len(), |n| 8 + n);
        if self.named_other || end < 8 + OTHER_COMM.len() {
            return false;
        }
        self.named_other = true;
        put_text(payload, Some(8..end), OTHER_COMM);
        self.put(payload, Some(0..4), OTHER_TID);
        self.put(payload, Some(4..8), OTHER_TID);
        true
    }

    /// Forks and exits of kept threads stay.
    fn fork(&self, payload: &mut [u8]) -> bool {
        let tid_at = |at: usize| self.endian.u32(payload, at).map(|n| n as i32);
        let (Some(tid), Some(parent)) = (tid_at(8), tid_at(12)) else {
            return false;
        };
        if !self.is_kept(parent) && payload.len() >= 16 {
            self.put(payload, Some(4..8), OTHER_TID);
            self.put(payload, Some(12..16), OTHER_TID);
        }
        self.is_kept(tid)
    }
}

/// The bytes behind a name's end are old memory: they may hold other names.
fn clear_padding(text: &mut [u8]) {
    if let Some(end) = memchr::memchr(0, text) {
        text[end..].fill(0);
    }
}

/// Overwrites a text and its padding.
fn put_text(bytes: &mut [u8], at: Option<std::ops::Range<usize>>, text: &[u8]) {
    if let Some(bytes) = at.and_then(|at| bytes.get_mut(at)) {
        bytes.fill(0);
        let length = text.len().min(bytes.len().saturating_sub(1));
        bytes[..length].copy_from_slice(&text[..length]);
    }
}
