//! The part of a line before the event's own text.
//!
//! - perf: `COMM PID[/TID] [CPU] SEC.FRACTION: sys:event: payload`
//! - ftrace: `COMM-TID (PROCESS) [CPU] FLAGS SEC.USEC: event: payload`
//!
//! COMM is perf's or ftrace's memory of a name: it can be stale, `<...>` or hostile, and is not used.

use super::payload;
use crate::event::{Context, Event, Kind};
use divvy_policy::CpuId;
use std::ops::Range;

/// A parsed header. Ranges are offsets into the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// The current thread, -1 when it was already without a number.
    pub tid: i32,
    process: i32,
    cpu: CpuId,
    t_ns: u64,
    /// The time is a counter's.
    pub is_ticks: bool,
    interrupt: Option<bool>,
    /// The event's name without its system.
    pub event: Range<usize>,
    /// Where the event's own text starts.
    pub payload: usize,
    /// The event is about scheduling.
    pub known: bool,
}

impl Header {
    /// Finds the header in a line. The name in front may look like one itself, so a header of a known event is preferred.
    pub fn parse(line: &[u8]) -> Option<Header> {
        let mut other = None;
        for bracket in memchr::memchr_iter(b'[', line) {
            let Some(header) = Header::around(line, bracket) else {
                continue;
            };
            if header.known {
                return Some(header);
            }
            other.get_or_insert(header);
        }
        other
    }

    /// The event with this header.
    pub fn event(&self, kind: Kind) -> Event {
        let context = Context { tid: self.tid, process: self.process, interrupt: self.interrupt };
        Event { t_ns: self.t_ns, cpu: self.cpu, context, kind }
    }

    /// The header whose `[CPU]` starts at `bracket`.
    fn around(line: &[u8], bracket: usize) -> Option<Header> {
        let (cpu, after) = digits(line, bracket + 1)?;
        if line.get(after) != Some(&b']') {
            return None;
        }
        let (interrupt, at) = flags(line, skip_blank(line, after + 1));
        let (t_ns, at, is_ticks) = match time(line, at) {
            Some((t_ns, at)) => (t_ns, at, false),
            None => ticks(line, at).map(|(t, at)| (t, at, true))?,
        };
        let (event, payload) = event(line, skip_blank(line, at))?;
        let (process, tid) = thread(&line[..bracket])?;
        let known = payload::parser(&line[event.clone()]).is_some();
        if is_ticks && !known {
            return None; // a number and a colon are too little to tell a header
        }
        Some(Header {
            tid,
            process,
            cpu: CpuId::new(u32::try_from(cpu).ok()?),
            t_ns,
            is_ticks,
            interrupt,
            event,
            payload,
            known,
        })
    }
}

fn skip_blank(line: &[u8], at: usize) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// A number of at most 18 digits and the offset behind it.
fn digits(line: &[u8], at: usize) -> Option<(u64, usize)> {
    let rest = line.get(at..)?;
    let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if !(1..=18).contains(&count) {
        return None;
    }
    let value = rest[..count].iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
    Some((value, at + count))
}

/// Seconds with 1 to 9 decimals and a colon, in nanoseconds.
fn time(line: &[u8], at: usize) -> Option<(u64, usize)> {
    let (seconds, dot) = digits(line, at)?;
    if line.get(dot) != Some(&b'.') {
        return None;
    }
    let (fraction, end) = digits(line, dot + 1)?;
    let missing = 9u32.checked_sub((end - dot - 1) as u32)?;
    let t_ns = seconds.checked_mul(1_000_000_000)?.checked_add(fraction * 10u64.pow(missing))?;
    (line.get(end) == Some(&b':')).then_some((t_ns, end + 1))
}

/// A whole number and a colon, as ftrace prints the time of a clock that counts ticks.
fn ticks(line: &[u8], at: usize) -> Option<(u64, usize)> {
    let (ticks, end) = digits(line, at)?;
    (line.get(end) == Some(&b':')).then_some((ticks, end + 1))
}

/// ftrace's context flags: interrupts off, need-resched, `h`/`H`/`s` in an interrupt, preemption depth, perhaps migration depth.
fn flags(line: &[u8], at: usize) -> (Option<bool>, usize) {
    let rest = line.get(at..).unwrap_or_default();
    let count = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'.').take(6).count();
    let (word, rest) = rest.split_at(count);
    if !(4..=5).contains(&count) || !matches!(rest, [] | [b' ' | b'\t', ..]) {
        return (None, at);
    }
    (Some(matches!(word[2], b'h' | b'H' | b's' | b'Z' | b'z')), skip_blank(line, at + word.len()))
}

/// `sys:event:` or `event:`; perf's own records (`PERF_RECORD_FORK(..)`) are their own text.
fn event(line: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
    let rest = &line[at..];
    if rest.starts_with(b"PERF_RECORD_") {
        let end = rest.iter().position(|b| !(b.is_ascii_uppercase() || *b == b'_')).unwrap_or(rest.len());
        return Some((at..at + end, at + end));
    }
    let end = rest.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(rest.len());
    let name = rest[..end].strip_suffix(b":")?;
    let start = memchr::memrchr(b':', name).map_or(0, |colon| colon + 1);
    (start < name.len()).then(|| (at + start..at + name.len(), skip_blank(line, at + end)))
}

/// Process and thread from the end of what stands before `[CPU]`.
fn thread(before: &[u8]) -> Option<(i32, i32)> {
    let mut before = before.trim_ascii_end();
    let mut process = -1;
    if let Some(inner) = before.strip_suffix(b")") {
        let open = memchr::memrchr(b'(', inner)?;
        process = number(inner[open + 1..].trim_ascii()).unwrap_or(-1); // "-----" when ftrace does not know
        before = inner[..open].trim_ascii_end();
    }
    let (tid, rest) = trailing_number(before)?;
    let (process, rest) = match rest.strip_suffix(b"/") {
        Some(rest) => trailing_number(rest)?,
        None => (process, rest),
    };
    // " -1" is perf's dead thread; "name-17" is ftrace's way to write thread 17.
    match rest {
        [b'-'] | [.., b' ' | b'/', b'-'] => Some((-1, -1)),
        [] | [.., b' ' | b'\t' | b'-'] => Some((process, tid)),
        _ => None,
    }
}

fn trailing_number(text: &[u8]) -> Option<(i32, &[u8])> {
    let count = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (rest, digits) = text.split_at(text.len() - count);
    Some((number(digits)?, rest))
}

fn number(text: &[u8]) -> Option<i32> {
    let (value, end) = digits(text, 0)?;
    (end == text.len()).then(|| i32::try_from(value).ok())?
}
