//! `trace.dat`, as trace-cmd writes it: versions 6 and 7, compressed or not. KernelShark and LISA use the same files.
//!
//! Source: `trace-cmd.dat(5)` of both versions, and the kernel's `include/linux/ring_buffer.h`. The pages of each CPU are read one at
//! a time, and the CPUs' events are merged by time.

mod metadata;
mod pages;

use crate::error::{ErrorKind, Place, TraceError};
use crate::event::{Context, Event, Kind};
use crate::import::Facts;
use crate::perf_data::tracepoints::Decoders;
use crate::perf_data::window::Sink;
pub(crate) use metadata::{MAGIC, Metadata, Part};
use pages::{Item, Pages};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Seek};

/// Reads a recording from something that can seek: each CPU has its own part of the file.
pub(crate) fn import<R: Read + Seek>(mut input: R, sink: &mut Sink) -> Result<Facts, TraceError> {
    let metadata = Metadata::read(&mut input)?;
    let facts = Facts {
        format: "trace.dat",
        clock: metadata.clock,
        kernel: metadata.release.clone(),
        ..Facts::default()
    };
    pages(&metadata, input, facts, sink)
}

/// Reads the pages of all CPUs.
pub(crate) fn pages<R: Read + Seek>(
    metadata: &Metadata,
    mut input: R,
    mut facts: Facts,
    sink: &mut Sink,
) -> Result<Facts, TraceError> {
    let decoders = Decoders::new(&metadata.formats, &metadata.release, metadata.endian);
    if !decoders.has_switch() {
        let what = "the recording does not describe sched:sched_switch events";
        return Err(
            TraceError::new(ErrorKind::Empty, what).advise("record with: trace-cmd record -e sched COMMAND")
        );
    }
    facts.ticks = metadata.has_ticks();
    let mut cpus: Vec<Pages> = metadata.parts.iter().map(|part| Pages::new(*part, metadata)).collect();
    let mut queue = BinaryHeap::new();
    for (index, cpu) in cpus.iter_mut().enumerate() {
        queue.extend(cpu.next_time(&mut input, &mut facts)?.map(|t| Reverse((t, index))));
    }
    while let Some(Reverse((_, index))) = queue.pop() {
        let pages = &mut cpus[index];
        let (cpu, offset) = (pages.cpu(), pages.offset());
        if let Some((t, item)) = pages.take() {
            let t_ns = metadata.nanoseconds(t);
            let event = match item {
                Item::Lost { events } => {
                    Some(Event { t_ns, cpu, context: Context::UNKNOWN, kind: Kind::Lost { events } })
                }
                Item::Record(raw) => match decoders.decode(raw) {
                    Some(decoded) => {
                        let tid = decoded.tid.unwrap_or(Context::UNKNOWN.tid);
                        let context = Context { tid, interrupt: decoded.interrupt, ..Context::UNKNOWN };
                        Some(Event { t_ns, cpu, context, kind: decoded.kind })
                    }
                    None => {
                        facts.malformed += u64::from(decoders.knows(raw));
                        None
                    }
                },
            };
            if let Some(event) = event {
                sink(&event).map_err(|e| e.at(Place::Offset(offset)))?;
            }
        }
        queue.extend(cpus[index].next_time(&mut input, &mut facts)?.map(|t| Reverse((t, index))));
    }
    Ok(facts)
}
