//! Perfetto traces: what is written is read again, and damage is told apart from content.

mod common;

use common::text::{self, Style};
use common::{Random, schedule};
use divvy_trace::{
    Activity, ErrorKind, Interval, Outgoing, Place, ReadOptions, Recording, TraceError, read_bytes,
    write_chrome, write_perf_script, write_perfetto,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn import(bytes: &[u8]) -> Result<Recording, TraceError> {
    read_bytes(bytes, "test", &ReadOptions::default())
}

fn recording(seed: u64, cpus: usize) -> Recording {
    let names: Vec<Vec<u8>> = [&b"make"[..], b"cc1", b"a b", "日本語".as_bytes()].map(<[u8]>::to_vec).into();
    let schedule = schedule(seed, 60, cpus, 100, &names);
    import(&text::print(&schedule.events, Style::Kernel, 9, false)).expect("readable")
}

fn perfetto(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_perfetto(&Outgoing::of(recording), &mut bytes).expect("memory takes it");
    bytes
}

fn perf_script(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_perf_script(&Outgoing::of(recording), &mut bytes).expect("memory takes it");
    bytes
}

/// A thread's number, name, CPU time, and intervals: from, to, what it did.
type Known = (i32, String, u64, Vec<(u64, u64, String)>);

/// By thread number: name, CPU time, and where it was when. What the recording's ends cut is not known either way.
fn known(recording: &Recording, until_ns: u64) -> Vec<Known> {
    let activity = |interval: &Interval| match interval.activity {
        Activity::Blocked { state, .. } => format!("{state:?}"),
        activity => format!("{activity:?}"),
    };
    // A run that begins with the last event is no interval, and what it ended is not known to have ended.
    let is_known = |i: &&Interval| !i.censored && i.len_ns() > 0 && i.end_ns < until_ns;
    let mut threads: Vec<_> = recording
        .threads
        .iter()
        .map(|thread| {
            let known = thread.intervals.iter().filter(is_known);
            let known = known.map(|i| (i.start_ns, i.end_ns, activity(i))).collect();
            (thread.tid, thread.name.clone(), thread.run_ns, known)
        })
        .collect();
    threads.sort();
    threads
}

/// All of `first` is in `second`, which may know more: where a thread runs at the end, it is taken off there.
fn includes(second: &Recording, first: &Recording) -> Result<(), TestCaseError> {
    prop_assert_eq!(second.quality.malformed, 0);
    prop_assert_eq!(second.quality.mismatches, 0);
    // Starts and ends of threads are no events of their own there: with these the first may go on for a while.
    prop_assert!(second.span_ns <= first.span_ns, "{} {}", second.span_ns, first.span_ns);
    let (until_ns, first) = (second.span_ns, known(first, second.span_ns));
    let second = known(second, until_ns);
    for (tid, name, run_ns, intervals) in first {
        let Some(read) = second.iter().find(|thread| thread.0 == tid) else {
            prop_assert!(run_ns == 0 && intervals.is_empty(), "thread {tid} is missing");
            continue;
        };
        prop_assert_eq!((&read.1, read.2), (&name, run_ns));
        for interval in &intervals {
            prop_assert!(read.3.contains(interval), "thread {tid}: {interval:?} is not in {:?}", read.3);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(seed in any::<u64>(), cpus in 1usize..6) {
        let recording = recording(seed, cpus);
        includes(&import(&perfetto(&recording)).expect("readable"), &recording)?;
        includes(&import(&perf_script(&recording)).expect("readable"), &recording)?;
    }

    /// Bytes overwritten, cut out and doubled: never a panic, and an error says where.
    #[test]
    fn damaged_files(seed in any::<u64>(), damage in 1usize..6) {
        let mut random = Random(seed);
        let mut bytes = perfetto(&recording(seed, 2));
        for _ in 0..damage {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = random.below(256) as u8,
                1 => { bytes.remove(at); }
                _ => bytes.insert(at, bytes[at]),
            }
        }
        if let Err(error) = import(&bytes) {
            let places = matches!(error.place, Some(Place::Offset(at)) if at <= bytes.len() as u64);
            prop_assert!(places || matches!(error.kind, ErrorKind::Foreign | ErrorKind::Empty), "{error}");
        }
    }
}

#[test]
fn a_file_that_is_cut_off_says_where() {
    let bytes = perfetto(&recording(7, 2));
    let mut whole = 0;
    for end in 80..bytes.len() {
        match import(&bytes[..end]) {
            Ok(_) => whole += 1, // between two packets
            Err(error) if error.kind == ErrorKind::Empty => whole += 1,
            Err(error) => {
                assert_eq!(
                    (error.kind, error.place),
                    (ErrorKind::Truncated, Some(Place::Offset(end as u64)))
                );
            }
        }
    }
    assert!(whole < bytes.len() / 10, "{whole} of {}", bytes.len());
}

/// A size that the file only claims takes no memory.
#[test]
fn absurd_sizes() {
    for size in [&b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"[..], b"\xff\xff\xff\x7f"] {
        let error = import(&[b"\x0a", size, b"\x08\x01"].concat()).expect_err("refused");
        assert!(matches!(error.place, Some(Place::Offset(_))), "{error}");
    }
    let error = import(b"\x0a\x04\x0a\xff\x01\x00").expect_err("a field that is longer than its packet");
    assert_eq!((error.kind, error.place), (ErrorKind::Malformed, Some(Place::Offset(2))));
}

#[test]
fn what_is_not_read_says_so() {
    let compact = import(b"\x0a\x06\x0a\x04\x08\x00\x22\x00").expect_err("refused");
    assert_eq!(compact.kind, ErrorKind::Unsupported);
    assert!(compact.advice.contains("compact_sched"));
    assert_eq!(import(b"\n# an empty line\n").expect_err("text").kind, ErrorKind::Foreign);
}

#[test]
fn chromes_json_holds_each_run_exactly() {
    let recording = recording(3, 2);
    let mut bytes = Vec::new();
    write_chrome(&Outgoing::of(&recording), &mut bytes).expect("memory takes it");
    let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let slices = json["traceEvents"].as_array().expect("a list").iter().filter(|event| event["ph"] == "X");
    let sum: f64 = slices.map(|slice| slice["dur"].as_f64().expect("a number") * 1000.0).sum();
    let run_ns: u64 = recording.threads.iter().map(|thread| thread.run_ns).sum();
    assert_eq!(sum.round() as u64, run_ns);
}
