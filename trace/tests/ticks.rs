//! Preemptions tell the tick at which slices end, and that a timer was set before one.

use divvy_trace::{Cause, ReadOptions, Recording, Step, WakePolicy, read_bytes, replayable};

mod common;
use common::Random;

fn recording(text: &str) -> Recording {
    read_bytes(text.as_bytes(), "test", &ReadOptions::default()).expect("a recording")
}

/// A recording of one CPU, line by line
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, t_us: u64, who: &str, event: &str) {
        self.0 += &format!(" {who} [000] {}.{:06}: sched:{event}\n", 5 + t_us / 1_000_000, t_us % 1_000_000);
    }

    fn switch(&mut self, t_us: u64, (prev, pid): (&str, u32), state: &str, (next, next_pid): (&str, u32)) {
        let event = format!(
            "sched_switch: prev_comm={prev} prev_pid={pid} prev_prio=120 prev_state={state} ==> \
             next_comm={next} next_pid={next_pid} next_prio=120"
        );
        self.add(t_us, &format!("{prev} {pid}"), &event);
    }

    /// By an interrupt
    fn waking(&mut self, t_us: u64, (name, pid): (&str, u32)) {
        let event = format!("sched_waking: comm={name} pid={pid} prio=120 target_cpu=000");
        self.add(t_us, "swapper 0", &event);
    }
}

const HOGS: [(&str, u32); 2] = [("one", 7), ("two", 8)];
const IDLE: (&str, u32) = ("swapper/0", 0);

/// Two hogs take turns; `length_us` says how long each lasts.
fn turns(count: usize, mut length_us: impl FnMut(usize) -> u64) -> Recording {
    let mut lines = Lines::default();
    let mut t_us = 300;
    lines.switch(t_us, IDLE, "R", HOGS[0]);
    for turn in 0..count {
        t_us += length_us(turn);
        lines.switch(t_us, HOGS[turn % 2], "R", HOGS[(turn + 1) % 2]);
    }
    recording(&lines.0)
}

fn tick_ns(recording: &Recording) -> Option<u64> {
    replayable(recording, WakePolicy::Dependency).tick_ns
}

/// Slices of some ticks, each a few microseconds late: the period is found, and not a part of it.
#[test]
fn preemptions_show_the_tick() {
    for period_us in [1000, 4000, 10_000] {
        let mut random = Random(period_us);
        let (mut at_us, mut late_us) = (0, 0);
        let recording = turns(60, |_| {
            let next_us = at_us + period_us * (1 + random.below(3) as u64);
            let late = random.below(20) as u64;
            let length_us = next_us + late - at_us - late_us;
            (at_us, late_us) = (next_us, late);
            length_us
        });
        assert_eq!(tick_ns(&recording), Some(period_us * 1000));
    }
}

#[test]
fn preemptions_at_any_time_show_none() {
    let mut random = Random(1);
    assert_eq!(tick_ns(&turns(200, |_| 500 + random.below(9000) as u64)), None);
    assert_eq!(tick_ns(&turns(29, |_| 4000)), None, "so few say nothing");
}

/// A sleeper that takes the CPU by its wake-up says nothing of ticks, however often it comes. A slice ends every ten milliseconds.
#[test]
fn wake_ups_are_not_ticks() {
    let mut lines = Lines::default();
    lines.switch(0, IDLE, "R", HOGS[0]);
    let (mut random, mut running) = (Random(9), 0);
    for ms in 1..400 {
        let wake_us = ms * 1000 + 100 + random.below(700) as u64;
        lines.waking(wake_us, ("editor", 9));
        lines.switch(wake_us + 5, HOGS[running], "R", ("editor", 9));
        lines.switch(wake_us + 50, ("editor", 9), "S", HOGS[running]);
        if ms % 10 == 9 {
            lines.switch((ms + 1) * 1000, HOGS[running], "R", HOGS[1 - running]);
            running = 1 - running;
        }
    }
    assert_eq!(tick_ns(&recording(&lines.0)), Some(10_000_000));
}

/// A client asks for its next wake-up 7 ms after its work, wakes a server, and is taken off its CPU before it sleeps: the sleep is
/// shorter by the time that it waits for the CPU. Every second one is so, and the timer is found.
#[test]
fn a_timer_set_before_a_preemption_is_a_timer() {
    let (client, server) = (("client", 9), ("server", 10));
    let mut lines = Lines::default();
    let mut t_us = 100;
    lines.switch(t_us - 90, IDLE, "R", HOGS[0]);
    let mut random = Random(4);
    for job in 0..60 {
        lines.waking(t_us, client);
        let waits_us = 200 + random.below(2000) as u64;
        lines.switch(t_us + waits_us, HOGS[0], "R", client);
        let asked_us = t_us + waits_us + 500;
        if job % 2 == 0 {
            lines.switch(asked_us, client, "S", HOGS[0]);
        } else {
            lines.add(asked_us - 2, "client 9", "sched_waking: comm=server pid=10 prio=120 target_cpu=000");
            lines.switch(asked_us, client, "R", server);
            lines.switch(asked_us + 1500, server, "S", client);
            lines.switch(asked_us + 1503, client, "S", HOGS[0]);
        }
        t_us = asked_us + 7000;
    }
    lines.switch(t_us, HOGS[0], "R", HOGS[1]);
    let replay = replayable(&recording(&lines.0), WakePolicy::Dependency);
    let client = replay.tasks.iter().find(|task| task.name == "client").expect("the client");
    let waits: Vec<Cause> = client
        .steps
        .iter()
        .filter_map(|step| if let Step::Wait(cause) = step { Some(*cause) } else { None })
        .collect();
    assert!(waits.len() >= 58, "{waits:?}");
    // The last is the gap between the recording's end and its start.
    for cause in &waits[..58] {
        assert!(matches!(cause, Cause::Timer { ns } if ns.abs_diff(7_000_000) <= 5_000), "{cause:?}");
    }
}

/// Two threads wake each other for a moment, and are not heard of again for minutes: they do not go on for minutes.
#[test]
fn what_stopped_does_not_go_on() {
    let (ping, pong) = (("ping", 9), ("pong", 10));
    let mut lines = Lines::default();
    lines.switch(0, IDLE, "R", ping);
    for turn in 0..20 {
        let t_us = 10 + turn * 40;
        lines.add(t_us, "ping 9", "sched_waking: comm=pong pid=10 prio=120 target_cpu=000");
        lines.switch(t_us + 2, ping, "S", pong);
        lines.add(t_us + 20, "pong 10", "sched_waking: comm=ping pid=9 prio=120 target_cpu=000");
        lines.switch(t_us + 22, pong, "S", ping);
    }
    lines.switch(900, ping, "S", HOGS[0]);
    let minutes_us = 480_000_000;
    lines.switch(minutes_us, HOGS[0], "R", HOGS[1]);
    let replay = replayable(&recording(&lines.0), WakePolicy::Dependency);
    assert_eq!(replay.endless().count(), 1, "the hog");
    for name in ["ping", "pong"] {
        let task = replay.tasks.iter().find(|task| task.name == name).expect("it ran");
        let slept = task
            .steps
            .iter()
            .any(|step| matches!(step, Step::Wait(Cause::Unknown { ns }) if *ns > 470_000_000_000));
        assert!(task.steps.last() != Some(&Step::Repeat) || slept, "{name}: {:?}", task.steps.last());
    }
}
