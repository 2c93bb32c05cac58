//! How fast recordings are read: events a second of each format, and beside it how long it takes to look at each byte once. The
//! numbers of one run are comparable with each other.
//!
//! `cargo bench -p divvy-trace --bench reading [-- FILE..]` reads those files as well. More events: `DIVVY_EVENTS=10000000`.

use divvy_trace::{ReadOptions, WakePolicy, read_bytes, replayable, write_perf_script, write_perfetto};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// The best of so many runs.
const RUNS: usize = 3;

/// Text of `perf script`: two CPUs on which threads wake each other, run for 5 us and sleep.
fn text(events: usize, threads: usize) -> String {
    let mut text = String::new();
    for turn in 0..events / 3 {
        let (tid, next, cpu) = (100 + turn % threads, 100 + (turn + 1) % threads, turn % 2);
        let t_us = 1_000_000 + turn as u64 * 10;
        let (seconds, us) = (t_us / 1_000_000, t_us % 1_000_000);
        let mut line = |who: usize, ns: u64, what: std::fmt::Arguments| {
            writeln!(text, " t{who} {who} [{cpu:03}] {seconds}.{us:06}{ns:03}: sched:{what}")
                .expect("written");
        };
        line(
            0,
            0,
            format_args!(
                "sched_switch: prev_comm=swapper/{cpu} prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=t{tid} next_pid={tid} next_prio=120"
            ),
        );
        line(tid, 300, format_args!("sched_waking: comm=t{next} pid={next} prio=120 target_cpu=000"));
        line(
            tid,
            900,
            format_args!(
                "sched_switch: prev_comm=t{tid} prev_pid={tid} prev_prio=120 prev_state=S ==> next_comm=swapper/{cpu} next_pid=0 next_prio=120"
            ),
        );
    }
    text
}

fn best(mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..RUNS).map(time).min().unwrap_or_default()
}

/// Looks at each byte: what no reader can do without.
fn looked_at(bytes: &[u8]) -> Duration {
    best(|| {
        let sum = bytes.iter().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        std::hint::black_box(sum);
    })
}

fn row(format: &str, bytes: &[u8], options: &ReadOptions) {
    let events = read_bytes(bytes, format, options).expect("readable").quality.events;
    let took = best(|| drop(std::hint::black_box(read_bytes(bytes, format, options))));
    let bare = looked_at(bytes);
    println!(
        "| {format} | {} | {:.2} | {:.1} |",
        bytes.len() as u64 / events.max(1),
        events as f64 / took.as_secs_f64() / 1e6,
        took.as_secs_f64() / bare.as_secs_f64()
    );
}

fn main() {
    let events = std::env::var("DIVVY_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let totals = ReadOptions { intervals: false, ..ReadOptions::default() };
    let text_of_perf = text(events, 1000);
    let recording = read_bytes(text_of_perf.as_bytes(), "text", &ReadOptions::default()).expect("readable");
    let (mut perfetto, mut script) = (Vec::new(), Vec::new());
    write_perfetto(&recording.schedule(), &mut perfetto).expect("written");
    write_perf_script(&recording.schedule(), &mut script).expect("written");
    println!(
        "| format | bytes an event | million events a second | times looking at each byte |\n|---|---|---|---|"
    );
    row("text of perf script", text_of_perf.as_bytes(), &totals);
    row("the same, intervals kept", text_of_perf.as_bytes(), &ReadOptions::default());
    row("text, as divvy writes it", &script, &totals);
    row("Perfetto, as divvy writes it", &perfetto, &totals);
    for name in std::env::args().skip(1).filter(|name| !name.starts_with('-')) {
        row(&name, &std::fs::read(&name).expect("a recording"), &totals);
    }
    println!("\n| threads | ns an event, read and made replayable |\n|---|---|");
    for threads in [400, 4_000, 40_000] {
        let text = text(events, threads);
        let took = best(|| {
            let recording = read_bytes(text.as_bytes(), "text", &ReadOptions::default()).expect("readable");
            let replay = replayable(&recording, WakePolicy::Dependency);
            std::hint::black_box(replay.workload("text"));
        });
        println!("| {threads} | {:.0} |", took.as_secs_f64() * 1e9 / events as f64);
    }
}
