//! The parts of a `perf.data` file around its records: header, attributes, features.

use super::bytes::{Endian, Stream, truncated};
use super::format::{MOST_TRACING_DATA, TracingData};
use super::layout::{Layout, Layouts};
use super::tracepoints::Decoders;
use crate::error::{ErrorKind, Place, TraceError};
use std::io::{Read, Seek, SeekFrom};

pub(crate) const FEATURE_TRACING_DATA: u64 = 1;
pub(crate) const FEATURE_OSRELEASE: u64 = 4;
pub(crate) const FEATURES: u64 = 256;
/// Simpleperf's own features, from this number on.
const FEATURE_SIMPLEPERF: u64 = 128;
pub(crate) const HEADER_SIZE: usize = 104;
const MOST_ATTRS: u64 = 1 << 20;
const MOST_IDS: u64 = 1 << 24;

/// A range of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Section {
    pub offset: u64,
    pub size: u64,
}

impl Section {
    pub fn parse(data: &[u8], at: usize, endian: Endian) -> Option<Section> {
        Some(Section { offset: endian.u64(data, at)?, size: endian.u64(data, at + 8)? })
    }

    /// An error if it does not lie within a file of `length` bytes.
    fn check(self, length: u64, what: &str) -> Result<Section, TraceError> {
        match self.offset.checked_add(self.size) {
            Some(end) if end <= length => Ok(self),
            Some(_) => Err(truncated(what, length)),
            None => Err(TraceError::new(
                ErrorKind::Malformed,
                format!("{what} claims to lie at byte {}", self.offset),
            )),
        }
    }
}

/// The file's first bytes.
pub(crate) struct Header {
    pub endian: Endian,
    pub attr_size: u64,
    pub attrs: Section,
    pub data: Section,
    /// The list of the tracepoints' names of perf before 2010; where divvy describes them. Such a list has other first bytes.
    pub early: Section,
    /// Bits of the features that follow the data, in ascending order.
    pub features: Vec<u64>,
}

impl Header {
    /// Byte order, and whether it is a pipe-mode header; `None` if this is not a `perf.data`.
    pub fn sniff(start: &[u8]) -> Option<(Endian, bool)> {
        let endian = match start.get(..8)? {
            b"PERFILE2" => Endian::Little,
            b"2ELIFREP" => Endian::Big,
            _ => return None,
        };
        Some((endian, endian.u64(start, 8)? == 16))
    }

    fn parse(bytes: &[u8; HEADER_SIZE]) -> Option<Header> {
        let (endian, _) = Header::sniff(bytes)?;
        let bit = |n: &u64| {
            endian.u64(bytes, 72 + (*n / 64) as usize * 8).is_some_and(|word| word >> (n % 64) & 1 == 1)
        };
        Some(Header {
            endian,
            attr_size: endian.u64(bytes, 16)?,
            attrs: Section::parse(bytes, 24, endian)?,
            data: Section::parse(bytes, 40, endian)?,
            early: Section::parse(bytes, 56, endian)?,
            features: (0..FEATURES).filter(bit).collect(),
        })
    }
}

/// The meaning of the records.
#[derive(Default)]
pub(crate) struct Description {
    pub layouts: Layouts,
    pub tracing: TracingData,
    /// The kernel's release.
    pub release: String,
    pub clock: &'static str,
}

impl Description {
    /// Decoders for the tracepoints of this recording; an error if switches are not among them.
    pub fn decoders(&self, endian: Endian) -> Result<Decoders, TraceError> {
        let decoders = Decoders::new(&self.tracing.formats, &self.release, endian);
        if !decoders.has_switch() || self.layouts.is_empty() {
            return Err(TraceError::new(ErrorKind::Empty, "the recording has no sched:sched_switch events")
                .advise("record with: perf sched record -k CLOCK_MONOTONIC -m 8M -a -- COMMAND"));
        }
        Ok(decoders)
    }

    /// The descriptions of tracepoints are there.
    pub fn is_described(&self) -> bool {
        !self.tracing.formats.is_empty()
    }

    /// Adds a `perf_event_attr` with the numbers of its events.
    pub fn add_attr(&mut self, attr: &[u8], ids: &[u8], endian: Endian) {
        let Some(layout) = Layout::of_attr(attr, endian) else {
            return;
        };
        self.layouts.add(layout, ids.chunks_exact(8).filter_map(|id| endian.u64(id, 0)));
        let use_clockid = endian.u64(attr, 40).is_some_and(|flags| flags >> 25 & 1 == 1);
        self.clock = match endian.u32(attr, 92) {
            Some(0) if use_clockid => "realtime",
            Some(1) if use_clockid => "monotonic",
            Some(4) if use_clockid => "monotonic_raw",
            Some(7) if use_clockid => "boottime",
            _ => "local",
        };
    }

    /// Adds the attribute of a `HEADER_ATTR` record: the attribute says its own size, numbers follow.
    pub fn add_piped_attr(&mut self, payload: &[u8], endian: Endian) {
        let size = endian.u32(payload, 4).map_or(0, |size| size as usize).min(payload.len());
        let (attr, ids) = payload.split_at(size);
        self.add_attr(attr, ids, endian);
    }

    /// Reads a feature section, as far as it is needed.
    pub fn add_feature(&mut self, feature: u64, data: &[u8], endian: Endian) {
        if feature == FEATURE_OSRELEASE {
            let length = endian.u32(data, 0).map_or(0, |n| n as usize).min(data.len().saturating_sub(4));
            let text = data.get(4..4 + length).unwrap_or_default();
            let end = memchr::memchr(0, text).unwrap_or(length);
            self.release = String::from_utf8_lossy(&text[..end]).into_owned();
        }
    }
}

pub(crate) fn bad_tracing_data(offset: u64) -> TraceError {
    TraceError::new(ErrorKind::Malformed, "the description of the tracepoints cannot be understood")
        .at(Place::Offset(offset))
        .advise("the file is damaged there: copy it again, or record again")
}

/// Reads a section whole.
pub(crate) fn read_section<R: Read + Seek>(
    input: &mut R,
    section: Section,
    limit: u64,
    what: &str,
) -> Result<Vec<u8>, TraceError> {
    input.seek(SeekFrom::Start(section.offset))?;
    Stream::new(input, section.offset).claimed(section.size, limit, what)
}

/// The header of a file.
pub(crate) fn read_header<R: Read + Seek>(input: &mut R, length: u64) -> Result<Header, TraceError> {
    input.seek(SeekFrom::Start(0))?;
    let mut bytes = [0; HEADER_SIZE];
    Stream::new(&mut *input, 0).fill(&mut bytes, "its header")?;
    let header = Header::parse(&bytes)
        .ok_or_else(|| TraceError::new(ErrorKind::Foreign, "this is not a perf.data file"))?;
    header.attrs.check(length, "its list of events")?;
    Ok(header)
}

/// The recording was never closed, or its end is missing, and what there is cannot be understood without it.
pub(crate) fn unfinished(size: u64, length: u64) -> TraceError {
    if size > 0 {
        return truncated("the recorded data", length)
            .advise("the descriptions of its events are behind the cut: copy it again, or record again");
    }
    let what = "the recording was never closed: its header says 0 bytes of data";
    TraceError::new(ErrorKind::Truncated, what)
        .at(Place::Offset(48))
        .advise("perf was killed before it ended: record again and stop it with Ctrl-C once")
}

/// The feature sections behind the data, each with its number.
pub(crate) fn read_features<R: Read + Seek>(
    input: &mut R,
    header: &Header,
    length: u64,
) -> Result<Vec<(u64, Section)>, TraceError> {
    let table =
        Section { offset: header.data.offset + header.data.size, size: header.features.len() as u64 * 16 };
    let table = read_section(
        input,
        table.check(length, "its list of features")?,
        FEATURES * 16,
        "its list of features",
    )?;
    let sections = (0..header.features.len()).filter_map(|i| Section::parse(&table, i * 16, header.endian));
    Ok(header.features.iter().copied().zip(sections).collect())
}

/// Reads the list of events.
pub(crate) fn events<R: Read + Seek>(
    input: &mut R,
    header: &Header,
    length: u64,
) -> Result<Description, TraceError> {
    let endian = header.endian;
    let mut description = Description::default();
    let attr_size = usize::try_from(header.attr_size).unwrap_or(usize::MAX);
    if !(64 + 16..=4096).contains(&attr_size) {
        return Err(TraceError::new(
            ErrorKind::Malformed,
            format!("an event description claims {attr_size} bytes"),
        )
        .at(Place::Offset(16)));
    }
    let attrs = read_section(input, header.attrs, MOST_ATTRS, "its list of events")?;
    for entry in attrs.chunks_exact(attr_size) {
        let (attr, ids) = entry.split_at(attr_size - 16);
        let ids =
            Section::parse(ids, 0, endian).unwrap_or_default().check(length, "a list of event numbers")?;
        let ids = read_section(input, ids, MOST_IDS, "a list of event numbers")?;
        description.add_attr(attr, &ids, endian);
    }
    Ok(description)
}

/// Reads what stands behind the records.
pub(crate) fn features<R: Read + Seek>(
    input: &mut R,
    header: &Header,
    length: u64,
    description: &mut Description,
) -> Result<(), TraceError> {
    for (feature, section) in read_features(input, header, length)? {
        let needed = matches!(feature, FEATURE_TRACING_DATA | FEATURE_OSRELEASE);
        let section = if needed { section.check(length, "a feature section")? } else { section };
        if feature == FEATURE_TRACING_DATA {
            let data = read_section(input, section, MOST_TRACING_DATA, "the tracepoint description")?;
            description.tracing =
                TracingData::parse(&data).ok_or_else(|| bad_tracing_data(section.offset))?;
        } else if feature == FEATURE_OSRELEASE {
            let data = read_section(input, section, 4096, "the kernel's release")?;
            description.add_feature(feature, &data, header.endian);
        }
    }
    if header.features.iter().any(|feature| *feature >= FEATURE_SIMPLEPERF) && !description.is_described() {
        let what = "this is a recording of simpleperf, which has no fields of switches";
        return Err(TraceError::new(ErrorKind::Unsupported, what).advise("record with Perfetto"));
    }
    Ok(())
}

/// Reads the description of the tracepoints that stands before the records; false if there is none.
pub(crate) fn early_tracing_data<R: Read + Seek>(
    input: &mut R,
    header: &Header,
    length: u64,
    description: &mut Description,
) -> bool {
    let Ok(section) = header.early.check(length, "the tracepoint description") else { return false };
    let data = read_section(input, section, MOST_TRACING_DATA, "the tracepoint description");
    let Some(tracing) = data.ok().and_then(|data| TracingData::parse(&data)) else { return false };
    description.tracing = tracing;
    description.is_described()
}

/// Reads everything but the records of a file that is whole.
pub(crate) fn open_whole<R: Read + Seek>(
    input: &mut R,
    length: u64,
) -> Result<(Header, Description), TraceError> {
    let header = read_header(input, length)?;
    let Section { offset, size } = header.data;
    if size == 0 || offset.checked_add(size).is_none_or(|end| end > length) {
        return Err(unfinished(size, length));
    }
    let mut description = events(input, &header, length)?;
    features(input, &header, length, &mut description)?;
    Ok((header, description))
}
