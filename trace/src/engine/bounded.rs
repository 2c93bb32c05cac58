//! Memory is bounded by threads and CPUs, not by events.

use super::Engine;
use crate::event::{Context, Event, Kind, TaskRef};
use crate::perf_data::window::Window;
use crate::perf_script;
use crate::recording::Intervals;
use divvy_policy::CpuId;
use divvy_results::schedule::State;
use std::io::{BufReader, Read};

const THREADS: u64 = 50;
const CPUS: u64 = 4;

/// Endless text of threads that wake, run and sleep, each time under another name, up to a number of events.
struct Endless {
    event: u64,
    events: u64,
    line: Vec<u8>,
    given: usize,
}

impl Endless {
    fn next_line(&mut self) -> String {
        let (turn, step) = (self.event / 3, self.event % 3);
        self.event += 1;
        let (cpu, tid) = (turn % CPUS, 100 + turn % THREADS);
        let name = format!("n{turn:x}");
        let time = format!("{}.{:06}", 1 + self.event / 1_000_000, self.event % 1_000_000);
        match step {
            0 => format!(
                " swapper 0/0 [{cpu:03}] {time}: sched:sched_waking: comm={name} pid={tid} prio=120 target_cpu=000\n"
            ),
            1 => format!(
                " swapper 0/0 [{cpu:03}] {time}: sched:sched_switch: prev_comm=s prev_pid=0 prev_prio=120 prev_state=R ==> next_comm={name} next_pid={tid} next_prio=120\n"
            ),
            _ => format!(
                " {name} {tid}/{tid} [{cpu:03}] {time}: sched:sched_switch: prev_comm={name} prev_pid={tid} prev_prio=120 prev_state=S ==> next_comm=s next_pid=0 next_prio=120\n"
            ),
        }
    }
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.given == self.line.len() {
            if self.event == self.events {
                return Ok(0);
            }
            self.line = self.next_line().into_bytes();
            self.given = 0;
        }
        let rest = &self.line[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

#[test]
fn three_hundred_thousand_events_of_text() {
    let events = 300_000;
    let mut engine = Engine::new(Intervals::new(0, false), 1 << 20);
    let input = BufReader::new(Endless { event: 0, events, line: Vec::new(), given: 0 });
    perf_script::import(input, &mut |event: &Event| {
        engine.event(event)?;
        assert!(engine.threads.len() <= THREADS as usize);
        assert!(engine.by_tid.len() <= THREADS as usize && engine.identities.len() <= THREADS as usize);
        Ok(())
    })
    .expect("readable");
    engine.finish().expect("finished");
    assert_eq!(engine.cpus.len(), CPUS as usize);
    assert_eq!((engine.quality.events, engine.quality.switches), (events, events / 3 * 2));
    assert_eq!(
        (engine.quality.wakes, engine.quality.mismatches, engine.quality.missing_wakes),
        (events / 3, 0, 0)
    );
}

/// The window holds two rounds, whatever the length.
#[test]
fn rounds_pass_through_the_window() {
    let mut window = Window::default();
    let (mut passed, mut last_ns, rounds, per_round) = (0u64, 0, 300, 1000);
    let mut sink = |event: &Event| {
        assert!(event.t_ns >= last_ns);
        last_ns = event.t_ns;
        passed += 1;
        Ok(())
    };
    let task = TaskRef::named(0, b"");
    for round in 0..rounds {
        for cpu in 0..2 {
            for event in 0..per_round / 2 {
                let t_ns = round * per_round + event * 2 + cpu;
                let kind = Kind::Switch { prev: task, state: State::Runnable, next: task };
                window
                    .push(
                        Event { t_ns, cpu: CpuId::at(cpu as usize), context: Context::UNKNOWN, kind },
                        &mut sink,
                    )
                    .expect("passed");
            }
        }
        window.end_round(&mut sink).expect("passed");
        assert!(window.held() <= 2 * per_round as usize);
    }
    window.finish(&mut sink).expect("passed");
    assert_eq!(passed, rounds * per_round);
}
