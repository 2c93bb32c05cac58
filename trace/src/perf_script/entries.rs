//! Cuts text into entries: a line with a header, and the lines without one that follow it.

use super::header::Header;
use super::payload::parser;
use crate::error::{Place, TraceError};
use crate::event::Kind;
use std::io::BufRead;

/// Longer lines are not scheduler events. The limit bounds memory for any file.
const MOST_BYTES: usize = 16 << 10;

/// An event names at most two threads, by 15 bytes each: it has no more newlines than that.
pub(super) const MOST_NEWLINES: usize = 30;

/// One event's text.
pub(crate) struct Entry<'a> {
    /// Number of its first line, from 1.
    pub line: u64,
    /// The line, and those that continue it, joined by newlines; without the last newline.
    pub text: &'a [u8],
    /// The parsed header; `None` when the text stands before any header, or is a loss or a comment.
    pub header: Option<Header>,
    /// A line was too long, or held a NUL byte, which no name can.
    pub damaged: bool,
}

/// Streams entries.
pub(crate) struct Entries<R> {
    input: R,
    /// Lines read so far.
    lines: u64,
    current: Line,
    /// The first line of the next entry.
    ahead: Line,
    has_ahead: bool,
}

#[derive(Default)]
struct Line {
    number: u64,
    bytes: Vec<u8>,
    header: Option<Header>,
    damaged: bool,
    /// Lines joined to it.
    joined: usize,
}

impl<R: BufRead> Entries<R> {
    pub fn new(input: R) -> Self {
        Entries { input, lines: 0, current: Line::default(), ahead: Line::default(), has_ahead: false }
    }

    /// Lines read so far.
    pub fn line(&self) -> u64 {
        self.lines
    }

    /// The next entry, `None` at the end.
    pub fn advance(&mut self) -> Result<Option<Entry<'_>>, TraceError> {
        if !self.has_ahead && !self.read_ahead()? {
            return Ok(None);
        }
        std::mem::swap(&mut self.current, &mut self.ahead);
        self.has_ahead = false;
        while self.read_ahead()? {
            if self.ahead_is_new() {
                self.has_ahead = true;
                break;
            }
            self.current.join(&self.ahead);
        }
        let line = &self.current;
        Ok(Some(Entry {
            line: line.number,
            text: &line.bytes,
            header: line.header.clone(),
            damaged: line.damaged,
        }))
    }

    /// True if the line ahead does not continue the current entry. A name can imitate the header of some short-named event,
    /// but not of a known one: so if the current event is incomplete, an unknown one continues it.
    fn ahead_is_new(&self) -> bool {
        let Some(current) = &self.current.header else { return true };
        match &self.ahead.header {
            Some(header) if header.known => true,
            Some(_) => {
                self.current.joined >= MOST_NEWLINES || kind(current, &self.current.bytes) != Some(None)
            }
            None => self.ahead.damaged || self.ahead.is_loss(),
        }
    }

    /// Reads one line into `ahead`; `false` at the end.
    fn read_ahead(&mut self) -> Result<bool, TraceError> {
        let line = &mut self.ahead;
        line.bytes.clear();
        line.damaged = false;
        line.joined = 0;
        let mut seen = false;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(TraceError::from(e).at(Place::Line(self.lines + 1))),
            };
            if available.is_empty() {
                break;
            }
            seen = true;
            let newline = memchr::memchr(b'\n', available);
            let part = &available[..newline.unwrap_or(available.len())];
            let room = MOST_BYTES - line.bytes.len();
            line.damaged |= part.len() > room;
            line.bytes.extend_from_slice(&part[..part.len().min(room)]);
            let consumed = newline.map_or(available.len(), |n| n + 1);
            self.input.consume(consumed);
            if newline.is_some() {
                break;
            }
        }
        if !seen {
            return Ok(false);
        }
        self.lines += 1;
        if line.bytes.last() == Some(&b'\r') {
            line.bytes.pop();
        }
        // Old systrace pages hold the text as a string of JavaScript: each line ends in a newline's escape and a backslash.
        if let Some(text) = line.bytes.strip_suffix(b"\\n\\") {
            line.bytes.truncate(text.len());
        }
        line.number = self.lines;
        line.damaged |= memchr::memchr(0, &line.bytes).is_some();
        line.header = Header::parse(&line.bytes);
        Ok(true)
    }
}

impl Line {
    /// ftrace's `CPU:1 [LOST 34 EVENTS]`, or trace-cmd's `CPU:1 [34 EVENTS DROPPED]`.
    fn is_loss(&self) -> bool {
        self.bytes.starts_with(b"CPU:")
            && (self.bytes.ends_with(b"EVENTS]") || self.bytes.ends_with(b"EVENTS DROPPED]"))
    }

    /// Goes on with a line, as far as it can belong to the event: behind that come stacks and the like.
    fn join(&mut self, other: &Line) {
        self.joined += 1;
        if self.joined <= MOST_NEWLINES && self.bytes.len() + other.bytes.len() < MOST_BYTES {
            self.bytes.push(b'\n');
            self.bytes.extend_from_slice(&other.bytes);
        }
    }
}

/// The event of an entry. `None` for a tracepoint that is not read, `Some(None)` for one that is damaged.
pub(super) fn kind(header: &Header, text: &[u8]) -> Option<Option<Kind>> {
    let parse = parser(&text[header.event.clone()])?;
    let whole = &text[header.payload..];
    // A name with a newline continues in the next line; but so may a name before the next line's own header. The event is
    // the shortest text that parses to its end: no name is long enough to complete the grammar by itself.
    let mut ends = memchr::memchr_iter(b'\n', whole).chain([whole.len()]);
    Some(ends.find_map(|end| parse(&whole[..end], header.tid)))
}
