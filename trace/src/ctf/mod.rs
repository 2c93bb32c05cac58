//! CTF 1.8, as LTTng's kernel tracer and `perf data convert --to-ctf` write it: a directory, or an archive of one, with a
//! description (`metadata`) and a file for each stream of packets.
//!
//! Source: the CTF 1.8.3 specification. The packets of each stream are read one at a time, and the streams' events are merged by
//! time. Other events than those of scheduling are read over.

mod events;
mod lexer;
mod parser;
mod schema;
mod stream;
mod types;

use crate::error::{ErrorKind, Place, TraceError};
use crate::event::{Context, Event, Kind};
use crate::folder::{Folder, Part};
use crate::import::Facts;
use crate::perf_data::bytes::Endian;
use crate::perf_data::window::Sink;
use divvy_policy::CpuId;
use events::Reader;
use schema::Schema;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use stream::{Item, Packets};

/// The description's name.
pub(crate) const METADATA: &str = "metadata";
/// A description in packets begins with this; else it is text.
const MAGIC: u32 = 0x75d1_1d57;
/// The head of a packet of the description, up to its text.
const HEAD_BYTES: usize = 37;
const MOST_METADATA: u64 = 1 << 24;

/// Reads the trace whose description is the file `metadata` of a folder.
pub(crate) fn import(folder: &Folder, metadata: &str, sink: &mut Sink) -> Result<Facts, TraceError> {
    let text = description(&folder.open(metadata)?).map_err(|error| error.in_file(metadata))?;
    let schema = Schema::parse(&text).map_err(|error| error.in_file(metadata))?;
    let mut reader = Reader::new(&schema);
    if !reader.has_switch() {
        return Err(TraceError::new(ErrorKind::Empty, "the CTF trace does not describe sched_switch events")
            .advise("give the trace of the kernel, recorded with: lttng enable-event --kernel 'sched_*'"));
    }
    let mut facts = Facts { format: "CTF", kernel: reader.release().to_owned(), ..Facts::default() };
    facts.clock =
        if schema.clock.as_ref().is_some_and(|(name, _)| name == "monotonic") { "mono" } else { "" };
    let directory = metadata.strip_suffix(METADATA).unwrap_or_default();
    let mut streams = Vec::new();
    for name in folder.names().filter(|name| is_stream(name, directory)) {
        streams.push(Packets::new(folder.open(name)?, &schema));
    }
    let mut queue = BinaryHeap::new();
    for (index, stream) in streams.iter_mut().enumerate() {
        queue.extend(stream.next_time(&mut facts)?.map(|t| Reverse((t, index))));
    }
    // No event of LTTng says which thread is running: the one that the last switch on its CPU brought.
    let mut current: BTreeMap<CpuId, i32> = BTreeMap::new();
    while let Some(Reverse((t, index))) = queue.pop() {
        let stream = &mut streams[index];
        let offset = stream.offset();
        let cpu = stream.cpu();
        let t_ns = nanoseconds(&schema, t);
        let found = match stream.item() {
            Some(Item::Lost { events }) => {
                current.remove(&cpu);
                let kind = Kind::Lost { events };
                Some(Event { t_ns, cpu, context: Context::UNKNOWN, kind })
            }
            Some(Item::Event { tracepoint, context, fields, packet }) => {
                let found = reader.event(tracepoint, context, fields, packet);
                found.map(|found| {
                    let cpu = found.cpu.unwrap_or(cpu);
                    let tid = match found.context.tid {
                        -1 => current.get(&cpu).copied().unwrap_or(-1),
                        tid => tid,
                    };
                    if let Kind::Switch { next, .. } = found.kind {
                        current.insert(cpu, next.tid);
                    }
                    Event { t_ns, cpu, context: Context { tid, ..found.context }, kind: found.kind }
                })
            }
            None => None,
        };
        if let Some(event) = found {
            sink(&event).map_err(|error| error.at(Place::Offset(offset)).in_file(stream.name()))?;
        }
        queue.extend(streams[index].next_time(&mut facts)?.map(|t| Reverse((t, index))));
    }
    facts.malformed += reader.malformed;
    Ok(facts)
}

/// Whether a file beside the description holds packets: those of a directory below it, and LTTng's index, do not.
fn is_stream(name: &str, directory: &str) -> bool {
    let Some(name) = name.strip_prefix(directory) else { return false };
    !name.contains('/') && name != METADATA && !name.starts_with('.')
}

fn nanoseconds(schema: &Schema, t: u64) -> u64 {
    match &schema.clock {
        Some((_, frequency)) if *frequency != 1_000_000_000 => {
            let t_ns = u128::from(t) * 1_000_000_000 / u128::from(*frequency);
            u64::try_from(t_ns).unwrap_or(u64::MAX)
        }
        _ => t,
    }
}

/// The text of a description, out of its packets.
fn description(part: &Part) -> Result<String, TraceError> {
    let mut bytes = Vec::new();
    part.read_at(0, MOST_METADATA + 1, &mut bytes)?;
    if bytes.len() as u64 > MOST_METADATA {
        return Err(TraceError::new(ErrorKind::TooLarge, "the description is larger than 16 MiB"));
    }
    let starts = |endian: Endian| endian.u32(&bytes, 0) == Some(MAGIC);
    let Some(endian) = [Endian::Little, Endian::Big].into_iter().find(|endian| starts(*endian)) else {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.trim_start_matches('\u{1e}').trim_start().starts_with('{') {
            return Err(TraceError::new(ErrorKind::Unsupported, "this is a trace of CTF 2")
                .advise("record with: lttng create --trace-format=ctf-1.8, or make CTF 1.8 of it"));
        }
        return Ok(text);
    };
    let (mut text, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let damaged = |what: &str| {
            TraceError::new(ErrorKind::Malformed, format!("a packet of the description {what}"))
                .at(Place::Offset(at as u64))
                .advise("the trace is damaged: copy it again, or record again")
        };
        let head = bytes.get(at..at + HEAD_BYTES).ok_or_else(|| damaged("is cut"))?;
        if endian.u32(head, 0) != Some(MAGIC) {
            return Err(damaged("does not begin as one"));
        }
        if head[32..35] != [0, 0, 0] {
            return Err(damaged("is compressed, encrypted or has a checksum, which is not read"));
        }
        let size = |place| endian.u32(head, place).unwrap_or(0) as usize / 8;
        let (content, whole) = (size(24), size(28));
        if content < HEAD_BYTES || whole < content {
            return Err(damaged("contradicts its own size"));
        }
        let body = bytes.get(at + HEAD_BYTES..at + content).ok_or_else(|| damaged("is cut"))?;
        text.extend_from_slice(body);
        at += whole;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
