//! Writes a schedule as a Perfetto trace, packet by packet.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::field::*;
use super::wire::Message;
use super::{HARD_INTERRUPT, PHASE_END};
use crate::event::{Event, Kind, TaskRef};

use crate::switches::events;
use divvy_policy::CpuId;
use divvy_results::schedule::{Counter, NICE_0, Schedule, State};

/// Without a release, readers take states for those of Linux 4.4.
const RELEASE: &str = "6.12.0";
/// The sequence of all packets.
const SEQUENCE: u64 = 1;
/// `TrackEvent.Type` of a counter's value.
const TYPE_COUNTER: u64 = 4;
/// Most events in a bundle. A bundle is a packet with events of one CPU.
const MOST_IN_BUNDLE: usize = 512;

/// Writes a schedule. Events of one time keep their order, because a bundle ends where the next event is from another
/// CPU.
///
/// # Errors
/// Those of `out`.
pub fn write(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    packet(out, |packet| {
        packet.message(packet::SYSTEM_INFO, |system| {
            system.message(system::UTSNAME, |name| {
                name.bytes(utsname::SYSNAME, b"Linux");
                name.bytes(utsname::RELEASE, RELEASE.as_bytes());
            });
        });
    })?;
    packet(out, |packet| packet.message(packet::PROCESS_TREE, |tree| process_tree(tree, schedule)))?;
    let events = events(schedule);
    for same_cpu in events.chunk_by(|a, b| a.cpu == b.cpu) {
        // A bundle can say that events are missing in front of it.
        for unbroken in same_cpu.chunk_by(|_, next| !is_loss(next)) {
            for bundle in unbroken.chunks(MOST_IN_BUNDLE) {
                packet(out, |packet| packet.message(packet::FTRACE_EVENTS, |m| ftrace_bundle(m, bundle)))?;
            }
        }
    }
    if !schedule.losses.is_empty() {
        packet(out, |packet| packet.message(packet::FTRACE_STATS, |stats| lost_counts(stats, schedule)))?;
    }
    for (index, counter) in schedule.counters.iter().enumerate() {
        write_counter(out, index as u64 + 1, counter)?;
    }
    Ok(())
}

fn packet(out: &mut impl Write, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
    let mut trace = Message::default();
    trace.message(trace::PACKET, |packet| {
        fill(packet);
        packet.number(packet::SEQUENCE, SEQUENCE);
    });
    out.write_all(&trace.0)
}

fn process_tree(tree: &mut Message, schedule: &Schedule) {
    let mut known = BTreeSet::new();
    for thread in &schedule.tasks {
        if known.insert(thread.process) {
            tree.message(tree::PROCESS, |process| {
                process.signed(process::PID, thread.process.into());
                process.bytes(process::CMDLINE, thread.process_name.as_bytes());
            });
        }
    }
    for thread in &schedule.tasks {
        tree.message(tree::THREAD, |message| {
            message.signed(thread::TID, thread.tid.into());
            message.bytes(thread::NAME, thread.name.as_bytes());
            message.signed(thread::TGID, thread.process.into());
        });
    }
}

fn is_loss(event: &Event) -> bool {
    matches!(event.kind, Kind::Lost { .. })
}

fn ftrace_bundle(message: &mut Message, bundle: &[Event]) {
    message.number(bundle::CPU, bundle[0].cpu.get().into());
    if is_loss(&bundle[0]) {
        message.number(bundle::LOST, 1);
    }
    for event in bundle.iter().filter(|event| !is_loss(event)) {
        message.message(bundle::EVENT, |m| ftrace_event(m, event));
    }
}

/// How many events each CPU lost.
fn lost_counts(stats: &mut Message, schedule: &Schedule) {
    stats.number(stats::PHASE, PHASE_END);
    for cpu in (0..schedule.cpus.len()).map(CpuId::at) {
        let losses = schedule.losses.iter().filter(|loss| loss.cpu == cpu);
        let events = losses.fold(0, |sum: u64, loss| sum.saturating_add(loss.events));
        if events > 0 {
            stats.message(stats::CPU, |message| {
                message.number(cpu_stats::CPU, cpu.get().into());
                message.number(cpu_stats::OVERRUN, events);
            });
        }
    }
}

fn ftrace_event(message: &mut Message, event: &Event) {
    message.number(event::TIMESTAMP, event.t_ns);
    message.signed(event::PID, event.context.tid.max(0).into());
    match event.kind {
        Kind::Switch { prev, state, next } => message.message(event::SWITCH, |m| {
            m.bytes(switch::PREV_COMM, prev.comm.as_bytes());
            m.signed(switch::PREV_PID, prev.tid.into());
            m.signed(switch::PREV_PRIO, prio(&prev));
            m.signed(switch::PREV_STATE, raw(state));
            m.bytes(switch::NEXT_COMM, next.comm.as_bytes());
            m.signed(switch::NEXT_PID, next.tid.into());
            m.signed(switch::NEXT_PRIO, prio(&next));
        }),
        Kind::Waking { task } => message.message(event::WAKING, |m| wake(m, &task, event.cpu)),
        Kind::WokenNew { task } => message.message(event::WAKEUP_NEW, |m| wake(m, &task, event.cpu)),
        _ => {}
    }
    let interrupt = event.context.interrupt == Some(true);
    message.number(event::FLAGS, if interrupt { HARD_INTERRUPT } else { 0 });
}

fn wake(message: &mut Message, task: &TaskRef, cpu: CpuId) {
    message.bytes(wake::COMM, task.comm.as_bytes());
    message.signed(wake::PID, task.tid.into());
    message.signed(wake::PRIO, prio(task));
    message.signed(wake::TARGET_CPU, cpu.get().into());
}

fn prio(task: &TaskRef) -> i64 {
    task.prio.unwrap_or(NICE_0).into()
}

/// As [`RELEASE`] numbers them; 0x100 is `R+`.
fn raw(state: State) -> i64 {
    match state {
        State::Runnable => 0x100,
        State::Sleep => 0x1,
        State::Unknown => 0x8000, // no state of any kernel
        State::Disk => 0x2,
        State::Stopped => 0x4,
        State::Traced => 0x8,
        State::Dead => 0x10,
        State::Parked => 0x40,
        State::Idle => 0x80,
    }
}

fn write_counter(out: &mut impl Write, uuid: u64, counter: &Counter) -> io::Result<()> {
    packet(out, |packet| {
        packet.message(packet::TRACK_DESCRIPTOR, |track| {
            track.number(track::UUID, uuid);
            track.bytes(track::NAME, counter.name().as_bytes());
            track.message(track::COUNTER, |message| {
                message.bytes(counter::UNIT_NAME, counter.unit.as_bytes());
            });
        });
    })?;
    for &(t_ns, value) in &counter.points {
        packet(out, |packet| {
            packet.number(packet::TIMESTAMP, t_ns);
            packet.message(packet::TRACK_EVENT, |event| {
                event.number(track_event::TYPE, TYPE_COUNTER);
                event.number(track_event::TRACK, uuid);
                event.signed(track_event::VALUE, value);
            });
        })?;
    }
    Ok(())
}
