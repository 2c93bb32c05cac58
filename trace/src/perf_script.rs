//! Text: `perf script` of a scheduler recording, and the kernel's own `trace` and `trace_pipe`, whose lines differ only in the header.
//!
//! The text is ambiguous: a thread's name may hold newlines, ` ==> `, `prev_state=R`, tabs and bytes that are not UTF-8. So the
//! text is not split at separators. Each part is found from both ends, by the parts of fixed form around the names.

mod entries;
mod header;
mod payload;
pub mod write;

use divvy_policy::CpuId;

use crate::error::{ErrorKind, Place, TraceError};
use crate::event::{Context, Event, Kind};
use crate::import::Facts;
use crate::perf_data::window::Sink;
use entries::{Entries, Entry};
use std::io::BufRead;

/// Lines after which a file without a single scheduler event is given up.
const MOST_FOREIGN_LINES: u64 = 100_000;

/// Reads text line by line; one entry is held at a time.
pub(crate) fn import<R: BufRead>(input: R, sink: &mut Sink) -> Result<Facts, TraceError> {
    let mut facts = Facts { format: "perf script", ..Facts::default() };
    let mut entries = Entries::new(input);
    let (mut understood, mut odd_line) = (0u64, 0);
    while let Some(entry) = entries.advance()? {
        facts.ticks |= entry.header.as_ref().is_some_and(|header| header.is_ticks);
        match parse(&entry) {
            Parsed::Event(event) => {
                understood += 1;
                sink(&event).map_err(|e| e.at(Place::Line(entry.line)))?;
            }
            Parsed::Foreign => {}
            // Before the first event: what other tools print above their events (`cpus=4`), or a page around them.
            Parsed::Malformed if understood == 0 && entry.header.is_none() => {
                odd_line = if odd_line == 0 { entry.line } else { odd_line };
            }
            Parsed::Malformed => {
                facts.malformed += 1;
                if facts.first_malformed_line == 0 {
                    facts.first_malformed_line = entry.line;
                }
            }
        }
        if understood == 0 && entry.line > MOST_FOREIGN_LINES {
            break;
        }
    }
    if understood == 0 {
        return Err(no_events(facts.first_malformed_line.max(odd_line), entries.line()));
    }
    Ok(facts)
}

fn no_events(damaged_line: u64, lines: u64) -> TraceError {
    let error = TraceError::new(ErrorKind::Foreign, format!("no scheduler events in {lines} lines of text"));
    let error = if damaged_line > 0 { error.at(Place::Line(damaged_line)) } else { error };
    error.advise("make the text with: perf script --ns -F comm,pid,tid,cpu,time,event,trace")
}

enum Parsed {
    Event(Event),
    /// Not about scheduling: a comment, another tracepoint.
    Foreign,
    Malformed,
}

fn parse(entry: &Entry) -> Parsed {
    if entry.damaged {
        return Parsed::Malformed;
    }
    let Some(header) = &entry.header else {
        return match lost_line(entry.text) {
            Some(kind) => Parsed::Event(kind),
            None if entry.text.first().is_none_or(|&b| b == b'#') => Parsed::Foreign,
            None => Parsed::Malformed,
        };
    };
    match entries::kind(header, entry.text) {
        Some(Some(kind)) => Parsed::Event(without_time(header.event(kind))),
        Some(None) => Parsed::Malformed,
        None => Parsed::Foreign,
    }
}

/// perf describes the threads that were there before the recording by records at time 0.
fn without_time(event: Event) -> Event {
    let kind = match event.kind {
        _ if event.t_ns > 0 => return event,
        Kind::Fork { child, process, .. } if process > 0 => Kind::Identity { task: child, process },
        Kind::Rename { task } => Kind::Identity { task, process: -1 },
        kind => kind,
    };
    Event { context: Context::UNKNOWN, kind, ..event }
}

/// ftrace's `CPU:1 [LOST 34 EVENTS]`, trace-cmd's `CPU:1 [34 EVENTS DROPPED]` or `CPU:1 [EVENTS DROPPED]`. It has no time: it
/// belongs where it stands.
fn lost_line(text: &[u8]) -> Option<Event> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (cpu, what) = text.strip_prefix("CPU:")?.split_once(" [")?;
    let events = match what {
        "EVENTS DROPPED]" => 0,
        what => {
            let count = what.strip_suffix(" EVENTS DROPPED]");
            count.or_else(|| what.strip_prefix("LOST ")?.strip_suffix(" EVENTS]"))?.parse().ok()?
        }
    };
    Some(Event {
        t_ns: 0,
        cpu: CpuId::new(cpu.trim().parse().ok()?),
        context: Context::UNKNOWN,
        kind: Kind::Lost { events },
    })
}
