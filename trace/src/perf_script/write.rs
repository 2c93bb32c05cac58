//! Writes a schedule as `perf script --ns --show-lost-events -F comm,pid,tid,cpu,time,event,trace` prints it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::event::{Comm, Context, Event, Kind, TaskRef};

use crate::state::letter;
use crate::switches::events;
use divvy_results::schedule::Schedule;

const NS_A_SECOND: u64 = 1_000_000_000;

/// Writes a schedule. The text cannot say which events happened in interrupts: their wake-ups are the idle task's, whom no
/// reader takes for a waker.
///
/// # Errors
/// Those of `out`.
pub fn write(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    let events = events(schedule);
    let names: BTreeMap<i32, Comm> =
        events.iter().flat_map(tasks).map(|task| (task.tid, task.comm)).collect();
    for event in &events {
        let by_interrupt = event.context.interrupt == Some(true);
        let context =
            if by_interrupt { Context { tid: 0, process: 0, ..event.context } } else { event.context };
        let name = names.get(&context.tid).filter(|_| context.tid > 0);
        let name = name.map_or("swapper".to_owned(), Comm::printable);
        let (seconds, ns) = (event.t_ns / NS_A_SECOND, event.t_ns % NS_A_SECOND);
        let tid = context.tid.max(0);
        let process = if context.process > 0 { context.process } else { tid };
        let thread = format!("{process}/{tid}");
        write!(out, "{name:>16} {thread:>11} [{:03}] {seconds:>5}.{ns:09}: ", event.cpu)?;
        match text(event) {
            Some((kind, payload)) => writeln!(out, "{:>24} {payload}", format!("sched:{kind}:"))?,
            None => writeln!(out, "PERF_RECORD_LOST lost {}", lost(event))?,
        }
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
                letter(*state).unwrap_or("N"), // a letter of older kernels that says nothing about why
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

/// The writer's events are switches, wake-ups and losses.
fn lost(event: &Event) -> u64 {
    if let Kind::Lost { events } = event.kind { events } else { 0 }
}
