//! Writes a schedule as `perf script --ns -F comm,tid,cpu,time,event,trace` prints it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::event::{Comm, Event, Kind, TaskRef};

use crate::switches::events;
use divvy_results::schedule::{Schedule, State};

const NS_A_SECOND: u64 = 1_000_000_000;

/// Writes a schedule. The text has thread ids but no processes, and does not say which events happened in interrupts.
///
/// # Errors
/// Those of `out`.
pub fn write(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    let events = events(schedule);
    let names: BTreeMap<i32, Comm> =
        events.iter().flat_map(tasks).map(|task| (task.tid, task.comm)).collect();
    for event in &events {
        let name = names.get(&event.context.tid).filter(|_| event.context.tid > 0);
        let name = name.map_or("swapper".to_owned(), Comm::printable);
        let (seconds, ns) = (event.t_ns / NS_A_SECOND, event.t_ns % NS_A_SECOND);
        let Some((kind, payload)) = text(event) else { continue };
        let tid = event.context.tid.max(0);
        writeln!(
            out,
            "{name:>16} {tid:>5} [{:03}] {seconds:>5}.{ns:09}: {:>24} {payload}",
            event.cpu,
            format!("sched:{kind}:")
        )?;
    }
    Ok(())
}

fn tasks(event: &Event) -> Vec<TaskRef> {
    match event.kind {
        Kind::Switch { prev, next, .. } => vec![prev, next],
        Kind::Waking { task } | Kind::WokenNew { task } => vec![task],
        _ => Vec::new(),
    }
}

fn text(event: &Event) -> Option<(&'static str, String)> {
    let prio = |task: &TaskRef| task.prio.unwrap_or(120);
    let woken = |task: &TaskRef| {
        let (name, tid, prio) = (task.comm.printable(), task.tid, prio(task));
        format!("comm={name} pid={tid} prio={prio} target_cpu={:03}", event.cpu)
    };
    Some(match &event.kind {
        Kind::Switch { prev, state, next } => (
            "sched_switch",
            format!(
                "prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> next_comm={} next_pid={} next_prio={}",
                prev.comm.printable(),
                prev.tid,
                prio(prev),
                letter(*state),
                next.comm.printable(),
                next.tid,
                prio(next)
            ),
        ),
        Kind::Waking { task } => ("sched_waking", woken(task)),
        Kind::WokenNew { task } => ("sched_wakeup_new", woken(task)),
        _ => return None,
    })
}

fn letter(state: State) -> &'static str {
    match state {
        State::Runnable => "R",
        State::Sleep | State::Unknown => "S",
        State::Disk => "D",
        State::Stopped => "T",
        State::Traced => "t",
        State::Dead => "X",
        State::Parked => "P",
        State::Idle => "I",
    }
}
