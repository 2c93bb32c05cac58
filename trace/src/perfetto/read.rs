//! Reads the sched events of a Perfetto trace, a packet at a time. Bundles come CPU by CPU and are put in order.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use divvy_policy::CpuId;
use flate2::read::ZlibDecoder;

use super::compact::{self, Compact};
use super::field::*;
use super::wire::{Fields, Value};
use super::{ANY_INTERRUPT, PHASE_END};
use crate::error::{ErrorKind, Place, TraceError};
use crate::event::{Context, Event, Kind, TaskRef};
use crate::import::Facts;
use crate::perf_data::bytes::{Stream, truncated};
use crate::perf_data::window::{Sink, Window};
use crate::state::StateTable;
use crate::unpack::Packing;

/// Perfetto's own packets are below a few MB.
const MOST_PACKET_BYTES: u64 = 64 << 20;
/// As many bytes show whether it is text, which may begin with an empty line: the same byte as a packet.
const SNIFFED_BYTES: usize = 64;

/// Whether a file with this beginning is a Perfetto trace.
pub(crate) fn is_perfetto(start: &[u8]) -> bool {
    let is_binary = |byte: &u8| !matches!(byte, 0x09..=0x0d | 0x1b | 0x20..=0x7e);
    start.first() == Some(&0x0a) && start.iter().take(SNIFFED_BYTES).any(is_binary)
}

/// The state of reading one trace.
struct Import {
    states: StateTable,
    facts: Facts,
    window: Window,
    /// The thread that came last on each CPU, because compact events do not say which thread leaves.
    current: BTreeMap<CpuId, TaskRef>,
    /// Events lost by the counters of the kernel: before the recording began, and when it ended.
    lost_before: u64,
    lost_at_end: u64,
}

/// Reads it packet by packet; one is held at a time.
pub(crate) fn import<R: BufRead>(input: R, sink: &mut Sink) -> Result<Facts, TraceError> {
    let mut stream = Stream::new(input, 0);
    let facts = Facts { format: "Perfetto", ..Facts::default() };
    let (states, window) = (StateTable::of_release(""), Window::default());
    let mut import =
        Import { states, facts, window, current: BTreeMap::new(), lost_before: 0, lost_at_end: 0 };
    while let Some(tag) = varint(&mut stream)? {
        let at = stream.offset;
        let size = match (tag >> 3, tag & 7) {
            (_, 2) => varint(&mut stream)?.ok_or_else(|| truncated("a packet's size", stream.offset))?,
            _ => return Err(damaged("this is not a packet", at)),
        };
        if tag >> 3 != u64::from(trace::PACKET) {
            stream.skip(size, "a field of the trace")?;
            continue;
        }
        let start = stream.offset;
        let data = stream.claimed(size, MOST_PACKET_BYTES, "a packet")?;
        import.packet(&data, start, sink)?;
    }
    import.window.finish(sink)?;
    let lost = import.lost_at_end.saturating_sub(import.lost_before);
    import.facts.lost_somewhere = import.facts.lost_somewhere.saturating_add(lost);
    Ok(import.facts)
}

/// `None` at the end of the file.
fn varint<R: Read>(stream: &mut Stream<R>) -> Result<Option<u64>, TraceError> {
    let mut value = 0;
    for index in 0..10 {
        let mut byte = [0];
        if index == 0 {
            if !stream.fill_or_end(&mut byte, "a packet's tag")? {
                return Ok(None);
            }
        } else {
            stream.fill(&mut byte, "a packet's size")?;
        }
        value |= u64::from(byte[0] & 0x7f) << (7 * index);
        if byte[0] < 0x80 {
            return Ok(Some(value));
        }
    }
    Err(damaged("a number has no end", stream.offset))
}

fn damaged(what: &str, at: u64) -> TraceError {
    TraceError::new(ErrorKind::Malformed, format!("{what}: the trace is damaged"))
        .at(Place::Offset(at))
        .advise("copy it again, or record again")
}

/// The fields of the message at byte `start` of the file.
fn fields(data: &[u8], start: u64) -> impl Iterator<Item = Result<(u32, Value<'_>), TraceError>> {
    let place = move |at: usize| damaged("a field does not fit its message", start + at as u64);
    Fields::of(data).map(move |field| field.map_err(place))
}

/// The messages in a field, with where in the file they begin.
fn inner<'a>(value: Value<'a>, start: u64) -> (&'a [u8], u64) {
    match value {
        Value::Bytes(bytes, at) => (bytes, start + at as u64),
        Value::Number(_) => (&[], start),
    }
}

impl Import {
    fn packet(&mut self, data: &[u8], start: u64, sink: &mut Sink) -> Result<(), TraceError> {
        for field in fields(data, start) {
            let (number, value) = field?;
            let (data, start) = inner(value, start);
            match number {
                packet::FTRACE_EVENTS => self.bundle(data, start, sink)?,
                packet::PROCESS_TREE => self.tree(data, start, sink)?,
                packet::FTRACE_STATS => self.stats(data, start)?,
                packet::SYSTEM_INFO => self.system(data, start)?,
                packet::COMPRESSED => self.compressed(ZlibDecoder::new(data), start, sink)?,
                packet::ZSTD_COMPRESSED => self.compressed(Packing::Zstd.unpack(data), start, sink)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Packets in a packet. An error in there has the place of the packet around it.
    fn compressed(&mut self, data: impl Read, start: u64, sink: &mut Sink) -> Result<(), TraceError> {
        let here = |error: TraceError| TraceError { place: Some(Place::Offset(start)), ..error };
        let mut unpacked = Vec::new();
        let done = data.take(MOST_PACKET_BYTES + 1).read_to_end(&mut unpacked);
        if done.is_err() {
            return Err(damaged("compressed packets do not unpack", start));
        }
        if unpacked.len() as u64 > MOST_PACKET_BYTES {
            let what = format!("compressed packets are more than {} MiB unpacked", MOST_PACKET_BYTES >> 20);
            return Err(TraceError::new(ErrorKind::Malformed, what).at(Place::Offset(start)));
        }
        for field in Fields::of(&unpacked) {
            match field.map_err(|_| damaged("compressed packets do not fit together", start))? {
                (trace::PACKET, Value::Bytes(inner, _)) if is_compressed(inner) => {
                    return Err(damaged("compressed packets in compressed packets", start));
                }
                (trace::PACKET, Value::Bytes(inner, _)) => self.packet(inner, 0, sink).map_err(here)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn system(&mut self, data: &[u8], start: u64) -> Result<(), TraceError> {
        for field in fields(data, start) {
            let (system::UTSNAME, value) = field? else { continue };
            let (data, start) = inner(value, start);
            for field in fields(data, start) {
                if let (utsname::RELEASE, release) = field? {
                    self.facts.kernel = String::from_utf8_lossy(release.bytes()).into_owned();
                    self.states = StateTable::of_release(&self.facts.kernel);
                }
            }
        }
        Ok(())
    }

    fn tree(&mut self, data: &[u8], start: u64, sink: &mut Sink) -> Result<(), TraceError> {
        for field in fields(data, start) {
            let (tree::THREAD, value) = field? else { continue };
            let (data, start) = inner(value, start);
            let (mut task, mut process) = (TaskRef::named(0, b""), -1);
            for field in fields(data, start) {
                match field? {
                    (thread::TID, value) => task.tid = value.number() as i32,
                    (thread::TGID, value) => process = value.number() as i32,
                    (thread::NAME, value) => task.comm = TaskRef::named(0, value.bytes()).comm,
                    _ => {}
                }
            }
            let kind = Kind::Identity { task, process };
            sink(&Event { t_ns: 0, cpu: CpuId::new(0), context: Context::UNKNOWN, kind })
                .map_err(|e| e.at(Place::Offset(start)))?;
        }
        Ok(())
    }

    fn bundle(&mut self, data: &[u8], start: u64, sink: &mut Sink) -> Result<(), TraceError> {
        let (mut cpu, mut lost) = (CpuId::new(0), false);
        for field in fields(data, start) {
            match field? {
                (bundle::CPU, value) => cpu = CpuId::new(u32::try_from(value.number()).unwrap_or(u32::MAX)),
                (bundle::LOST, value) if value.number() != 0 => lost = true,
                _ => {}
            }
        }
        if lost {
            self.current.remove(&cpu);
        }
        for field in fields(data, start) {
            let (number, value) = field?;
            let (data, start) = inner(value, start);
            let events = match number {
                bundle::EVENT => self.event(data, start, cpu)?.into_iter().collect(),
                bundle::COMPACT => self.compact(data, start, cpu)?,
                _ => continue,
            };
            for event in events {
                if std::mem::take(&mut lost) {
                    let kind = Kind::Lost { events: 0 };
                    let loss = Event { context: Context::UNKNOWN, kind, ..event };
                    self.window.push(loss, sink).map_err(|e| e.at(Place::Offset(start)))?;
                }
                if let Kind::Switch { next, .. } = event.kind {
                    self.current.insert(cpu, next);
                }
                self.window.push(event, sink).map_err(|e| e.at(Place::Offset(start)))?;
            }
        }
        self.facts.lost_somewhere += u64::from(lost); // nothing in the bundle says when
        Ok(())
    }

    /// Counters of events that were overwritten or dropped.
    fn stats(&mut self, data: &[u8], start: u64) -> Result<(), TraceError> {
        let (mut is_end, mut lost) = (false, 0_u64);
        for field in fields(data, start) {
            let (number, value) = field?;
            let (data, start) = inner(value, start);
            match number {
                stats::PHASE => is_end = value.number() == PHASE_END,
                stats::CPU => {
                    for field in fields(data, start) {
                        if let (cpu_stats::OVERRUN | cpu_stats::DROPPED, count) = field? {
                            lost = lost.saturating_add(count.number());
                        }
                    }
                }
                _ => {}
            }
        }
        if is_end {
            self.lost_at_end = self.lost_at_end.saturating_add(lost);
        } else {
            self.lost_before = self.lost_before.saturating_add(lost);
        }
        Ok(())
    }

    /// Events in columns, in order of time.
    fn compact(&self, data: &[u8], start: u64, cpu: CpuId) -> Result<Vec<Event>, TraceError> {
        let compact = Compact::read(data).ok_or_else(|| {
            damaged("compact events do not fit together, or are more than a million", start)
        })?;
        let mut current = self.current.get(&cpu).copied();
        let mut events = Vec::with_capacity(compact.events.len());
        for event in compact.events {
            let tid = current.map_or(Context::UNKNOWN.tid, |task| task.tid);
            let (interrupt, kind) = match event.what {
                compact::What::Waking { flags } => {
                    (flags.map(|flags| flags & ANY_INTERRUPT != 0), Kind::Waking { task: event.task })
                }
                compact::What::Switch { prev_state } => {
                    // No event names the thread before a CPU's first switch: the CPU counts as idle until then.
                    let prev = current.replace(event.task).unwrap_or(TaskRef::named(0, b"swapper"));
                    let state = self.states.decode(prev_state);
                    (Some(false), Kind::Switch { prev, state, next: event.task })
                }
            };
            let context = Context { tid, interrupt, ..Context::UNKNOWN };
            events.push(Event { t_ns: event.t_ns, cpu, context, kind });
        }
        Ok(events)
    }

    fn event(&self, data: &[u8], start: u64, cpu: CpuId) -> Result<Option<Event>, TraceError> {
        let (mut t_ns, mut context, mut kind) = (0, Context::UNKNOWN, None);
        for field in fields(data, start) {
            let (number, value) = field?;
            let (data, start) = inner(value, start);
            match number {
                event::TIMESTAMP => t_ns = value.number(),
                event::PID => context.tid = value.number() as i32,
                event::FLAGS => context.interrupt = Some(value.number() & ANY_INTERRUPT != 0),
                event::SWITCH => kind = Some(self.switch(data, start)?),
                event::WAKING => kind = Some(Kind::Waking { task: woken(data, start)? }),
                event::WAKEUP => kind = Some(Kind::Woken { task: woken(data, start)? }),
                event::WAKEUP_NEW => kind = Some(Kind::WokenNew { task: woken(data, start)? }),
                _ => {}
            }
        }
        Ok(kind.map(|kind| Event { t_ns, cpu, context, kind }))
    }

    fn switch(&self, data: &[u8], start: u64) -> Result<Kind, TraceError> {
        let (mut prev, mut next, mut state) = (TaskRef::named(0, b""), TaskRef::named(0, b""), 0);
        for field in fields(data, start) {
            let (number, value) = field?;
            match number {
                switch::PREV_COMM => prev.comm = TaskRef::named(0, value.bytes()).comm,
                switch::PREV_PID => prev.tid = value.number() as i32,
                switch::PREV_PRIO => prev.prio = i16::try_from(value.number()).ok(),
                switch::PREV_STATE => state = value.number(),
                switch::NEXT_COMM => next.comm = TaskRef::named(0, value.bytes()).comm,
                switch::NEXT_PID => next.tid = value.number() as i32,
                switch::NEXT_PRIO => next.prio = i16::try_from(value.number()).ok(),
                _ => {}
            }
        }
        Ok(Kind::Switch { prev, state: self.states.decode(state), next })
    }
}

/// They are bounded by being unpacked once.
fn is_compressed(packet: &[u8]) -> bool {
    Fields::of(packet).any(|field| matches!(field, Ok((packet::COMPRESSED | packet::ZSTD_COMPRESSED, _))))
}

fn woken(data: &[u8], start: u64) -> Result<TaskRef, TraceError> {
    let mut task = TaskRef::named(0, b"");
    for field in fields(data, start) {
        match field? {
            (wake::COMM, value) => task.comm = TaskRef::named(0, value.bytes()).comm,
            (wake::PID, value) => task.tid = value.number() as i32,
            (wake::PRIO, value) => task.prio = i16::try_from(value.number()).ok(),
            _ => {}
        }
    }
    Ok(task)
}
