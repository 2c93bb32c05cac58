//! The kernel's descriptions of its tracepoints, as perf embeds them: `HEADER_TRACING_DATA`.
//!
//! Field sizes, offsets and the set of fields differ between kernels, so nothing is assumed: every field is found by its name.
//! Source: `tools/perf/util/trace-event-info.c`, and `Documentation/trace/events.rst` for the text.

use super::bytes::Endian;

/// Most bytes of tracepoint descriptions. No kernel has as many.
pub(crate) const MOST_TRACING_DATA: u64 = 1 << 28;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// One tracepoint's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Format {
    pub name: String,
    pub id: u64,
    fields: Vec<Field>,
    pub print_fmt: String,
}

/// Where a field lies in the raw record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    name: String,
    offset: usize,
    size: usize,
    signed: bool,
    place: Storage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// The bytes themselves.
    Inline,
    /// A `u32`: length << 16 | offset from the start of the record.
    DataLoc,
    /// The same, but the offset counts from the end of the `u32`.
    RelLoc,
}

impl Field {
    /// Sign-extended value.
    pub fn number(&self, raw: &[u8], endian: Endian) -> Option<i64> {
        let value = endian.uint(raw, self.offset, self.size)?;
        let unused = 64 - 8 * self.size as u32;
        Some(if self.signed { (value << unused) as i64 >> unused } else { value as i64 })
    }

    /// The bytes of a text field, padding included.
    pub fn text<'a>(&self, raw: &'a [u8], endian: Endian) -> Option<&'a [u8]> {
        if self.place == Storage::Inline {
            return raw.get(self.offset..self.offset.checked_add(self.size)?);
        }
        let location = endian.u32(raw, self.offset)?;
        let base = if self.place == Storage::RelLoc { self.offset + 4 } else { 0 };
        let start = base + (location & 0xffff) as usize;
        raw.get(start..start + (location >> 16) as usize)
    }

    /// The bytes of the field itself.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.size
    }

    /// The range of bytes that holds the text, to overwrite it.
    pub fn text_range(&self, raw: &[u8], endian: Endian) -> Option<std::ops::Range<usize>> {
        let text = self.text(raw, endian)?;
        let start = text.as_ptr() as usize - raw.as_ptr() as usize;
        Some(start..start + text.len())
    }
}

impl Format {
    /// Parses one `format` file.
    pub fn parse(text: &str) -> Option<Format> {
        let mut format =
            Format { name: String::new(), id: u64::MAX, fields: Vec::new(), print_fmt: String::new() };
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("name: ") {
                format.name = name.trim().to_owned();
            } else if let Some(id) = line.strip_prefix("ID: ") {
                format.id = id.trim().parse().ok()?;
            } else if let Some(print_fmt) = line.strip_prefix("print fmt: ") {
                format.print_fmt = print_fmt.to_owned();
            } else if let Some(field) = line.trim_start().strip_prefix("field:") {
                format.fields.push(parse_field(field)?);
            }
        }
        (!format.name.is_empty() && format.id != u64::MAX).then_some(format)
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|f| f.name == name).cloned()
    }
}

/// Parses `pid_t prev_pid; offset:24; size:4; signed:1;`.
fn parse_field(text: &str) -> Option<Field> {
    let mut parts = text.split(';').map(str::trim);
    let declaration = parts.next()?;
    let mut field =
        Field { name: String::new(), offset: usize::MAX, size: 0, signed: false, place: Storage::Inline };
    for part in parts {
        match part.split_once(':') {
            Some(("offset", n)) => field.offset = n.parse().ok()?,
            Some(("size", n)) => field.size = n.parse().ok()?,
            Some(("signed", n)) => field.signed = n == "1",
            _ => {}
        }
    }
    let (kind, name) = declaration.rsplit_once(' ')?;
    field.name = name.split('[').next()?.trim_start_matches('*').to_owned();
    field.place = match kind.split(' ').next()? {
        "__data_loc" => Storage::DataLoc,
        "__rel_loc" => Storage::RelLoc,
        _ => Storage::Inline,
    };
    (field.offset < 1 << 16 && field.size < 1 << 16).then_some(field)
}

/// The event descriptions in a tracing-data section, and where the parts that name processes or kernel symbols lie.
#[derive(Debug, Default)]
pub(crate) struct TracingData {
    pub formats: Vec<Format>,
    /// The end of the event descriptions: kernel symbols, print formats and saved names follow.
    pub formats_end: usize,
}

impl TracingData {
    /// `None` when the section contradicts itself; formats that cannot be understood are left out.
    pub fn parse(data: &[u8]) -> Option<TracingData> {
        let mut at = MAGIC.len();
        if !data.starts_with(MAGIC) {
            return None;
        }
        skip_text(data, &mut at)?; // version
        let endian = if *data.get(at)? == 0 { Endian::Little } else { Endian::Big };
        at += 1 + 1 + 4; // byte order, size of long, size of a page
        for _ in ["header_page", "header_event"] {
            skip_text(data, &mut at)?;
            take_sized(data, &mut at, endian)?;
        }
        let ftrace_formats = endian.u32(data, at)?;
        at += 4;
        for _ in 0..ftrace_formats {
            take_sized(data, &mut at, endian)?;
        }
        let systems = endian.u32(data, at)?;
        at += 4;
        let mut formats = Vec::new();
        for _ in 0..systems {
            skip_text(data, &mut at)?;
            let events = endian.u32(data, at)?;
            at += 4;
            for _ in 0..events {
                let text = take_sized(data, &mut at, endian)?;
                formats.extend(Format::parse(&String::from_utf8_lossy(text)));
            }
        }
        Some(TracingData { formats, formats_end: at })
    }
}

fn skip_text(data: &[u8], at: &mut usize) -> Option<()> {
    let end = memchr::memchr(0, data.get(*at..)?)?;
    *at += end + 1;
    Some(())
}

fn take_sized<'a>(data: &'a [u8], at: &mut usize, endian: Endian) -> Option<&'a [u8]> {
    let size = usize::try_from(endian.u64(data, *at)?).ok()?;
    let start = *at + 8;
    let taken = data.get(start..start.checked_add(size)?)?;
    *at = start + size;
    Some(taken)
}
