//! The parts around the pages: how tracepoints look, and where each CPU's pages are.

use crate::error::{ErrorKind, Place, TraceError};
use crate::perf_data::bytes::{Endian, Stream, truncated};
use crate::perf_data::format::Format;
use crate::unpack::Packing;
use flate2::read::ZlibDecoder;
use std::io::{Read, Seek, SeekFrom};

/// Every version begins with this.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Options by their numbers. In version 7, some say where a section is.
mod option {
    pub const DONE: u16 = 0;
    pub const BUFFER: u16 = 3;
    pub const CLOCK: u16 = 4;
    pub const UNAME: u16 = 5;
    pub const TSC: u16 = 14;
    pub const HEADER_INFO: u16 = 16;
    pub const EVENT_FORMATS: u16 = 18;
}

/// More CPUs than any kernel is built for.
const MOST_CPUS: u32 = 8192;
/// Most bytes of a text, an option, a description, and a section or chunk.
const MOST_TEXT: usize = 4096;
const MOST_OPTION: u64 = 1 << 20;
const MOST_FORMAT: u64 = 1 << 20;
const MOST_SECTION: u64 = 1 << 26;
/// Sections of options follow each other; a file has one or two.
const MOST_SECTIONS: usize = 64;
const MOST_PAGE_BYTES: u32 = 1 << 20;
/// A section is compressed.
const COMPRESSED: u16 = 1;

/// Where one CPU's pages are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub cpu: u32,
    pub offset: u64,
    pub size: u64,
    pub is_compressed: bool,
}

/// How sections and chunks are compressed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Compression {
    Zlib,
    Zstd,
}

/// How ticks of a processor become nanoseconds.
struct Ticks {
    factor: u32,
    shift: u32,
    offset: u64,
}

pub(crate) struct Metadata {
    pub endian: Endian,
    /// Bytes of the size in a page's head: those of a `long`.
    pub size_bytes: usize,
    pub page_bytes: usize,
    pub compression: Option<Compression>,
    pub formats: Vec<Format>,
    pub parts: Vec<Part>,
    pub release: String,
    pub clock: &'static str,
    ticks: Option<Ticks>,
}

impl Metadata {
    /// That of pages of 4 KiB in little endian, which `header_page` describes.
    pub fn of_formats(formats: Vec<Format>, header_page: &[u8]) -> Metadata {
        Metadata {
            endian: Endian::Little,
            size_bytes: size_bytes(header_page).unwrap_or(8),
            page_bytes: 4096,
            compression: None,
            formats,
            parts: Vec::new(),
            release: String::new(),
            clock: "",
            ticks: None,
        }
    }

    pub fn read<R: Read + Seek>(input: &mut R) -> Result<Metadata, TraceError> {
        input.seek(SeekFrom::Start(0))?;
        let mut metadata = Metadata::of_formats(Vec::new(), b"");
        let mut stream = Stream::new(&mut *input, 0);
        stream.skip(MAGIC.len() as u64, "its header")?;
        let version = text(&mut stream)?;
        let mut sizes = [0; 6];
        stream.fill(&mut sizes, "its header")?;
        metadata.endian = if sizes[0] == 0 { Endian::Little } else { Endian::Big };
        metadata.size_bytes = if sizes[1] == 4 { 4 } else { 8 };
        metadata.set_page(metadata.endian.u32(&sizes, 2).unwrap_or(0), 14)?;
        match version.as_slice() {
            b"6" => metadata.version_6(&mut stream)?,
            b"7" => metadata.version_7(stream)?,
            other => {
                let what = format!(
                    "this is a trace.dat of version {}",
                    String::from_utf8_lossy(other).escape_debug()
                );
                return Err(TraceError::new(ErrorKind::Unsupported, what)
                    .advise("make text of it: trace-cmd report FILE > trace.txt"));
            }
        }
        Ok(metadata)
    }

    /// The clock counts ticks whose length is not known.
    pub fn has_ticks(&self) -> bool {
        matches!(self.clock, "counter" | "uptime" | "x86-tsc") && self.ticks.is_none()
    }

    pub fn nanoseconds(&self, t: u64) -> u64 {
        let Some(ticks) = &self.ticks else { return t };
        let scaled = u128::from(t.saturating_sub(ticks.offset)) * u128::from(ticks.factor);
        u64::try_from(scaled.checked_shr(ticks.shift).unwrap_or(0)).unwrap_or(u64::MAX)
    }

    fn set_page(&mut self, bytes: u32, at: u64) -> Result<(), TraceError> {
        if !(64..=MOST_PAGE_BYTES).contains(&bytes) {
            return Err(damaged(format!("a page claims {bytes} bytes"), at));
        }
        self.page_bytes = bytes as usize;
        Ok(())
    }

    fn number<R: Read>(&self, stream: &mut Stream<R>, size: usize) -> Result<u64, TraceError> {
        let mut bytes = [0; 8];
        stream.fill(&mut bytes[..size], "its description")?;
        Ok(self.endian.uint(&bytes, 0, size).unwrap_or(0))
    }

    fn version_6<R: Read>(&mut self, stream: &mut Stream<R>) -> Result<(), TraceError> {
        self.header_info(stream)?;
        for _ in 0..self.number(stream, 4)? {
            let size = self.number(stream, 8)?;
            stream.skip(size, "its description")?; // ftrace's own events
        }
        self.formats(stream)?;
        for bytes in [4, 4, 8] {
            let size = self.number(stream, bytes)?;
            stream.skip(size, "its description")?; // kernel symbols, print formats, names of threads
        }
        let cpus = self.number(stream, 4)? as u32;
        if cpus > MOST_CPUS {
            return Err(damaged(format!("it claims {cpus} CPUs"), stream.offset));
        }
        loop {
            let at = stream.offset;
            let mut kind = [0; 10];
            stream.fill(&mut kind, "its description")?;
            match &kind {
                b"options  \0" => self.options_6(stream)?,
                b"flyrecord\0" => break,
                b"latency  \0" => {
                    return Err(TraceError::new(
                        ErrorKind::Unsupported,
                        "this is the text of a latency tracer",
                    )
                    .advise("record with: trace-cmd record -e sched COMMAND"));
                }
                _ => return Err(damaged("what follows the descriptions is not known".to_owned(), at)),
            }
        }
        for cpu in 0..cpus {
            let (offset, size) = (self.number(stream, 8)?, self.number(stream, 8)?);
            self.add_part(Part { cpu, offset, size, is_compressed: false }, stream.offset)?;
        }
        Ok(())
    }

    fn options_6<R: Read>(&mut self, stream: &mut Stream<R>) -> Result<(), TraceError> {
        loop {
            let id = self.number(stream, 2)? as u16;
            if id == option::DONE {
                return Ok(());
            }
            let size = self.number(stream, 4)?;
            let data = stream.claimed(size, MOST_OPTION, "an option")?;
            self.option(id, &data);
        }
    }

    fn version_7<R: Read + Seek>(&mut self, mut stream: Stream<&mut R>) -> Result<(), TraceError> {
        let name = text(&mut stream)?;
        text(&mut stream)?; // the compressor's version
        self.compression = match name.as_slice() {
            b"zstd" => Some(Compression::Zstd),
            b"zlib" => Some(Compression::Zlib),
            b"none" | b"" => None,
            other => {
                let what = format!("it is compressed with {}", String::from_utf8_lossy(other).escape_debug());
                return Err(TraceError::new(ErrorKind::Unsupported, what)
                    .advise("make text of it: trace-cmd report FILE > trace.txt"));
            }
        };
        let mut next = self.number(&mut stream, 8)?;
        let input = stream.into_inner();
        for _ in 0..MOST_SECTIONS {
            if next == 0 {
                return Ok(());
            }
            let (_, data) = self.section(input, next, option::DONE)?;
            next = self.options_7(input, &data, next)?;
        }
        Err(damaged("its options have no end".to_owned(), next))
    }

    /// The options of a section; where the next section of options is, 0 if there is none.
    fn options_7<R: Read + Seek>(
        &mut self,
        input: &mut R,
        data: &[u8],
        start: u64,
    ) -> Result<u64, TraceError> {
        let mut at = 0;
        let bad = || damaged("an option does not fit its section".to_owned(), start);
        while at < data.len() {
            let id = self.endian.u16(data, at).ok_or_else(bad)?;
            let size = self.endian.u32(data, at + 2).ok_or_else(bad)? as usize;
            at += 6;
            let option = data.get(at..at.saturating_add(size)).ok_or_else(bad)?;
            at += size;
            let place = self.endian.u64(option, 0);
            match (id, place) {
                (option::DONE, next) => return Ok(next.unwrap_or(0)),
                (option::HEADER_INFO, Some(place)) => {
                    let (_, data) = self.section(input, place, id)?;
                    self.header_info(&mut Stream::new(&data[..], place))?;
                }
                (option::EVENT_FORMATS, Some(place)) => {
                    let (_, data) = self.section(input, place, id)?;
                    self.formats(&mut Stream::new(&data[..], place))?;
                }
                (option::BUFFER, Some(place)) => self.buffer(input, place, &option[8..], start)?,
                _ => self.option(id, option),
            }
        }
        Ok(0)
    }

    /// A buffer: its name, clock and page size, and where each CPU's pages are. The first that has any is the recording.
    fn buffer<R: Read + Seek>(
        &mut self,
        input: &mut R,
        place: u64,
        option: &[u8],
        start: u64,
    ) -> Result<(), TraceError> {
        if self.parts.iter().any(|part| part.size > 0) {
            return Ok(());
        }
        self.parts.clear();
        let mut stream = Stream::new(option, start);
        text(&mut stream)?;
        self.clock = clock(&text(&mut stream)?);
        let page = self.number(&mut stream, 4)? as u32;
        self.set_page(page, start)?;
        let flags = self.section_head(input, place, option::BUFFER)?.0;
        let is_compressed = flags & COMPRESSED != 0 && self.compression.is_some();
        for _ in 0..self.number(&mut stream, 4)? {
            let cpu = self.number(&mut stream, 4)? as u32;
            let (offset, size) = (self.number(&mut stream, 8)?, self.number(&mut stream, 8)?);
            self.add_part(Part { cpu, offset, size, is_compressed }, start)?;
        }
        Ok(())
    }

    /// One CPU's pages.
    pub fn add_part(&mut self, part: Part, at: u64) -> Result<(), TraceError> {
        if part.offset.checked_add(part.size).is_none()
            || part.cpu >= MOST_CPUS
            || self.parts.len() > MOST_CPUS as usize
        {
            return Err(damaged(format!("CPU {} claims {} bytes", part.cpu, part.size), at));
        }
        self.parts.push(part);
        Ok(())
    }

    /// The flags and size of the section at `place`.
    fn section_head<R: Read + Seek>(
        &self,
        input: &mut R,
        place: u64,
        id: u16,
    ) -> Result<(u16, u64), TraceError> {
        input.seek(SeekFrom::Start(place))?;
        let mut head = [0; 16];
        fill(input, &mut head, place)?;
        let number = |at, size| self.endian.uint(&head, at, size).unwrap_or(0);
        if number(0, 2) != u64::from(id) {
            return Err(damaged(format!("section {id} is not here"), place));
        }
        Ok((number(2, 2) as u16, number(8, 8)))
    }

    /// The flags and unpacked content of the section at `place`.
    fn section<R: Read + Seek>(
        &self,
        input: &mut R,
        place: u64,
        id: u16,
    ) -> Result<(u16, Vec<u8>), TraceError> {
        let (flags, size) = self.section_head(input, place, id)?;
        if let Some(compression) = self.compression.filter(|_| flags & COMPRESSED != 0) {
            return Ok((flags, compression.chunk(input, place + 16, self.endian)?.0));
        }
        Ok((flags, Stream::new(input, place + 16).claimed(size, MOST_SECTION, "a section")?))
    }

    /// How a page begins. Its size is a `long` of the machine that recorded, which need not be the one that wrote the file.
    fn header_info<R: Read>(&mut self, stream: &mut Stream<R>) -> Result<(), TraceError> {
        for name in [&b"header_page"[..], b"header_event"] {
            let at = stream.offset;
            if text(stream)? != name {
                return Err(damaged("its description does not begin as one".to_owned(), at));
            }
            let size = self.number(stream, 8)?;
            let data = stream.claimed(size, MOST_FORMAT, "its description")?;
            if name == b"header_page" {
                self.size_bytes = size_bytes(&data).unwrap_or(self.size_bytes);
            }
        }
        Ok(())
    }

    fn formats<R: Read>(&mut self, stream: &mut Stream<R>) -> Result<(), TraceError> {
        for _ in 0..self.number(stream, 4)? {
            text(stream)?;
            for _ in 0..self.number(stream, 4)? {
                let size = self.number(stream, 8)?;
                let data = stream.claimed(size, MOST_FORMAT, "the description of a tracepoint")?;
                let format = Format::parse(&String::from_utf8_lossy(&data));
                self.formats.extend(format.filter(|format| is_needed(&format.name)));
            }
        }
        Ok(())
    }

    fn option(&mut self, id: u16, data: &[u8]) {
        let shown = String::from_utf8_lossy(data);
        match id {
            option::UNAME => {
                let release = shown.split(' ').nth(2).unwrap_or_default();
                self.release = release.trim_matches('\0').to_owned();
            }
            option::CLOCK if self.clock.is_empty() => {
                let chosen = shown.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
                self.clock = clock(chosen.map_or("", |(name, _)| name).as_bytes());
            }
            option::TSC => {
                let number = |at, size| self.endian.uint(data, at, size);
                if let (Some(factor), Some(shift), Some(offset)) = (number(0, 4), number(4, 4), number(8, 8))
                {
                    self.ticks = Some(Ticks { factor: factor as u32, shift: shift as u32, offset });
                }
            }
            _ => {}
        }
    }
}

impl Compression {
    /// Unpacks what follows two sizes at `place`: the bytes, and how many they take in the file.
    pub fn chunk<R: Read + Seek>(
        self,
        input: &mut R,
        place: u64,
        endian: Endian,
    ) -> Result<(Vec<u8>, u64), TraceError> {
        input.seek(SeekFrom::Start(place))?;
        let mut sizes = [0; 8];
        fill(input, &mut sizes, place)?;
        let number = |at| u64::from(endian.u32(&sizes, at).unwrap_or(0));
        let (packed, unpacked) = (number(0), number(4));
        let data = Stream::new(input, place + 8).claimed(packed, MOST_SECTION, "a compressed section")?;
        if unpacked > MOST_SECTION {
            return Err(damaged(format!("a compressed section claims {unpacked} bytes"), place));
        }
        let mut content = Vec::new();
        let done = match self {
            Compression::Zlib => ZlibDecoder::new(&data[..]).take(unpacked).read_to_end(&mut content),
            Compression::Zstd => Packing::Zstd.unpack(&data[..]).take(unpacked).read_to_end(&mut content),
        };
        if done.is_err() || (content.len() as u64) < unpacked {
            return Err(damaged("a compressed section does not unpack".to_owned(), place));
        }
        Ok((content, 8 + packed))
    }
}

/// The formats that tell about scheduling; a kernel has thousands of others.
fn is_needed(name: &str) -> bool {
    name.starts_with("sched_") || name == "task_rename"
}

/// The size of `commit` in the description of a page.
fn size_bytes(header_page: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(header_page);
    let line = text.lines().find(|line| line.contains(" commit;"))?;
    match line.split_once("size:")?.1.split(';').next()? {
        "4" => Some(4),
        "8" => Some(8),
        _ => None,
    }
}

fn clock(name: &[u8]) -> &'static str {
    const KNOWN: [&str; 9] =
        ["local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "x86-tsc"];
    KNOWN.into_iter().find(|known| known.as_bytes() == name).unwrap_or("")
}

/// Up to a NUL.
fn text<R: Read>(stream: &mut Stream<R>) -> Result<Vec<u8>, TraceError> {
    let (start, mut text) = (stream.offset, Vec::new());
    while text.len() < MOST_TEXT {
        let mut byte = [0];
        stream.fill(&mut byte, "its description")?;
        if byte[0] == 0 {
            return Ok(text);
        }
        text.push(byte[0]);
    }
    Err(damaged("a text has no end".to_owned(), start))
}

/// Fills `buffer` from `place` on, where `input` is.
pub(super) fn fill(input: &mut impl Read, buffer: &mut [u8], place: u64) -> Result<(), TraceError> {
    let wanted = buffer.len();
    Stream::new(input, place).fill(buffer, "a section").map_err(|error| match error.kind {
        ErrorKind::Truncated => truncated("a section", place.saturating_add(wanted as u64)),
        _ => error,
    })
}

fn damaged(what: String, at: u64) -> TraceError {
    TraceError::new(ErrorKind::Malformed, what)
        .at(Place::Offset(at))
        .advise("the file is damaged: copy it again, or record again")
}
