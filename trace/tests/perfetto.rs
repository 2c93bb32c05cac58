//! Perfetto traces: written data are read back, and damage is told apart from content.

mod common;

use common::text::{self, Style};
use common::{Random, schedule};
use divvy_trace::{
    Activity, ErrorKind, Interval, Place, ReadOptions, Recording, TraceError, read_bytes, write_chrome,
    write_perf_script, write_perfetto,
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
    write_perfetto(&recording.schedule(), &mut bytes).expect("memory takes it");
    bytes
}

fn perf_script(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_perf_script(&recording.schedule(), &mut bytes).expect("memory takes it");
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
    // A run that begins with the last event has no length, so the interval before it has no known end.
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

/// Perfetto's messages, as bytes.
mod bytes {
    use super::common::{Event, Kind};

    pub fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    pub fn number(field: u64, value: u64) -> Vec<u8> {
        [varint(field << 3), varint(value)].concat()
    }

    pub fn message(field: u64, content: &[u8]) -> Vec<u8> {
        [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
    }

    /// As Linux 6.12 numbers them.
    fn state(letter: &str) -> u64 {
        match letter {
            "S" => 1,
            "D" => 2,
            "X" => 0x10,
            "R+" => 0x100,
            _ => 0,
        }
    }

    /// One event in full; `None` if it is not written.
    fn full(event: &Event) -> Option<Vec<u8>> {
        let inner = match &event.kind {
            Kind::Switch { prev, state: left, next } => {
                let [prev_tid, next_tid] = [prev, next].map(|name| name.tid as u64);
                let names = [message(1, &prev.comm), message(5, &next.comm)].concat();
                let numbers = [number(2, prev_tid), number(4, state(left)), number(6, next_tid)].concat();
                message(4, &[names, numbers].concat())
            }
            Kind::Waking { task } => {
                message(20, &[message(1, &task.comm), number(2, task.tid as u64)].concat())
            }
            Kind::WokenNew { task } => {
                message(114, &[message(1, &task.comm), number(2, task.tid as u64)].concat())
            }
            Kind::Fork { .. } => return None,
        };
        let flags = if event.interrupt { 8 } else { 0 };
        let head = [number(1, event.t_ns), number(2, event.current.tid as u64), number(5, flags)].concat();
        Some(message(2, &[head, inner].concat()))
    }

    /// Switches and wakings in columns.
    fn compact(events: &[&Event]) -> Vec<u8> {
        let mut names: Vec<&[u8]> = Vec::new();
        let mut columns: Vec<Vec<u64>> = vec![Vec::new(); 13];
        let mut last = [0, 0];
        for event in events {
            let (first, values) = match &event.kind {
                Kind::Switch { state: left, next, .. } => (1, (next, state(left))),
                Kind::Waking { task } => (7, (task, if event.interrupt { 8 } else { 0 })),
                _ => continue,
            };
            let (task, extra) = values;
            let name = names.iter().position(|name| *name == task.comm).unwrap_or_else(|| {
                names.push(&task.comm);
                names.len() - 1
            });
            let past = std::mem::replace(&mut last[first / 7], event.t_ns);
            columns[first].push(event.t_ns - past);
            if first == 1 {
                let _ = [(2, extra), (3, task.tid as u64), (4, 120), (6, name as u64)]
                    .map(|(at, v)| columns[at].push(v));
            } else {
                let _ = [(8, task.tid as u64), (10, 120), (11, name as u64), (12, extra)]
                    .map(|(at, v)| columns[at].push(v));
            }
        }
        let packed =
            |at: usize| message(at as u64, &columns[at].iter().flat_map(|v| varint(*v)).collect::<Vec<u8>>());
        let names: Vec<u8> = names.iter().flat_map(|name| message(5, name)).collect();
        let columns: Vec<u8> = [1, 2, 3, 4, 6, 7, 8, 10, 11, 12].into_iter().flat_map(packed).collect();
        message(4, &[names, columns].concat())
    }

    /// A trace of bundles of 7 events of a CPU; compact ones, if asked for.
    pub fn trace(events: &[Event], is_compact: bool) -> Vec<u8> {
        let utsname = message(3, b"6.12.0");
        let mut trace = message(1, &message(45, &message(1, &utsname)));
        for cpu in 0..8 {
            let of_cpu: Vec<&Event> = events.iter().filter(|event| event.cpu == cpu).collect();
            for bundle in of_cpu.chunks(7) {
                let mut content = number(1, cpu.into());
                if is_compact {
                    content.extend(compact(bundle));
                }
                for event in bundle {
                    if !is_compact || matches!(event.kind, Kind::WokenNew { .. }) {
                        content.extend(full(event).unwrap_or_default());
                    }
                }
                trace.extend(message(1, &message(1, &content)));
            }
        }
        trace
    }

    /// The same packets in packets of so many bytes at most, each compressed.
    pub fn compressed(trace: &[u8]) -> Vec<u8> {
        use std::io::Write as _;
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(trace).expect("memory takes it");
        message(1, &message(50, &encoder.finish().expect("memory takes it")))
    }

    pub fn compressed_with_zstd(trace: &[u8]) -> Vec<u8> {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        message(1, &message(133, &ruzstd::encoding::compress_to_vec(trace, level)))
    }
}

/// A thread: number, name, CPU time, and its intervals with their places.
type Life = (i32, String, u64, Vec<(u64, u64, String)>);

fn lives(recording: &Recording) -> Vec<Life> {
    let life = |thread: &divvy_trace::Thread| {
        let interval = |i: &Interval| match i.activity {
            Activity::Blocked { state, .. } => (i.start_ns, i.end_ns, format!("{state:?}")),
            activity => (i.start_ns, i.end_ns, format!("{activity:?}")),
        };
        (thread.tid, thread.name.clone(), thread.run_ns, thread.intervals.iter().map(interval).collect())
    };
    let mut lives: Vec<_> = recording.threads.iter().map(life).collect();
    lives.sort();
    lives
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(2), ..ProptestConfig::default() })]

    /// Compact events say what full ones say, compressed or not.
    #[test]
    fn compact_and_compressed_events_are_the_same_events(seed in any::<u64>(), cpus in 1usize..5) {
        let names: Vec<Vec<u8>> = [&b"make"[..], b"cc1", "日本語".as_bytes()].map(<[u8]>::to_vec).into();
        let events = schedule(seed, 60, cpus, 100, &names).events;
        let (full, compact) = (bytes::trace(&events, false), bytes::trace(&events, true));
        let known = lives(&import(&full).expect("readable"));
        prop_assert!(known.iter().any(|thread| thread.2 > 0));
        prop_assert_eq!(&lives(&import(&compact).expect("readable")), &known);
        prop_assert_eq!(&lives(&import(&bytes::compressed(&compact)).expect("readable")), &known);
        prop_assert_eq!(&lives(&import(&bytes::compressed_with_zstd(&compact)).expect("readable")), &known);
    }

    /// Never a panic, whatever the columns hold.
    #[test]
    fn damaged_columns(seed in any::<u64>(), damage in 1usize..6, pack in any::<bool>()) {
        let mut random = Random(seed);
        let mut trace = bytes::trace(&schedule(seed, 30, 2, 100, &[b"a".to_vec()]).events, true);
        if pack {
            trace = bytes::compressed(&trace);
        }
        for _ in 0..damage {
            let at = random.below(trace.len());
            trace[at] = random.below(256) as u8;
        }
        if let Err(error) = import(&trace) {
            let places = matches!(error.place, Some(Place::Offset(at)) if at <= trace.len() as u64);
            prop_assert!(places || matches!(error.kind, ErrorKind::Foreign | ErrorKind::Empty), "{error}");
        }
    }
}

/// A wake-up in compact form has whoever is on the CPU as its waker, across bundles.
#[test]
fn compact_wakes_know_their_waker() {
    let column = |field, values: &[u64]| {
        bytes::message(field, &values.iter().flat_map(|v| bytes::varint(*v)).collect::<Vec<u8>>())
    };
    let names = [bytes::message(5, b"a"), bytes::message(5, b"b"), bytes::message(5, b"swapper/0")].concat();
    let bundle = |columns: &[Vec<u8>]| {
        let compact = bytes::message(4, &[names.clone(), columns.concat()].concat());
        bytes::message(1, &bytes::message(1, &[bytes::number(1, 0), compact].concat()))
    };
    // From idle to a at 1000, to b at 1500 (a sleeps); b wakes a at 1700, and gives way to it at 1900.
    let first = [
        column(1, &[1000, 500]),
        column(2, &[0, 1]),
        column(3, &[7, 8]),
        column(4, &[120, 120]),
        column(6, &[0, 1]),
    ];
    let second = [
        [column(1, &[1900, 300]), column(2, &[1, 1]), column(3, &[7, 0]), column(6, &[0, 2])].concat(),
        [column(7, &[1700]), column(8, &[7]), column(10, &[120]), column(11, &[0]), column(12, &[0])]
            .concat(),
    ];
    let trace = [bundle(&first), bundle(&second)].concat();
    let recording = import(&trace).expect("readable");
    let runs: Vec<(i32, u64)> = recording.threads.iter().map(|thread| (thread.tid, thread.run_ns)).collect();
    assert_eq!(runs, [(7, 500 + 300), (8, 400)]);
    let woken = recording.threads[0].intervals.iter().find_map(|interval| match interval.activity {
        Activity::Blocked { wake, .. } => Some(wake),
        _ => None,
    });
    assert_eq!(woken, Some(divvy_trace::Wake::By(1)));
    assert_eq!((recording.quality.mismatches, recording.quality.malformed), (0, 0));
}

#[test]
fn what_is_not_read_says_so() {
    let zstd = import(&bytes::message(1, &bytes::message(133, b"\x28\xb5\x2f\xfd"))).expect_err("refused");
    assert_eq!((zstd.kind, zstd.place.is_some()), (ErrorKind::Malformed, true));
    assert_eq!(import(b"\n# an empty line\n").expect_err("text").kind, ErrorKind::Foreign);
    let uneven = bytes::message(4, &[bytes::number(1, 5), bytes::number(1, 6), bytes::number(3, 7)].concat());
    let error =
        import(&bytes::message(1, &bytes::message(1, &uneven))).expect_err("two times and one thread");
    assert_eq!((error.kind, error.place), (ErrorKind::Malformed, Some(Place::Offset(6))));
}

/// A few bytes unpack to a bounded size, and so do bytes that were packed twice.
#[test]
fn unpacking_has_a_bound() {
    let bomb = bytes::compressed(&vec![0x0a; 70 << 20]);
    assert!(bomb.len() < 1 << 20);
    let error = import(&bomb).expect_err("too much");
    assert!(error.kind == ErrorKind::Malformed && error.message.contains("64 MiB"), "{error}");
    let bomb = bytes::compressed_with_zstd(&vec![0x0a; 70 << 20]);
    let error = import(&bomb).expect_err("too much");
    assert!(error.kind == ErrorKind::Malformed && error.message.contains("64 MiB"), "{error}");
    let twice = bytes::compressed(&bytes::compressed(b""));
    assert!(import(&twice).expect_err("nested").message.contains("in compressed packets"));
    assert!(import(&bytes::message(1, &bytes::message(50, b"\xff\xfenonsense"))).is_err());
}

#[test]
fn chromes_json_holds_each_run_exactly() {
    let recording = recording(3, 2);
    let mut bytes = Vec::new();
    write_chrome(&recording.schedule(), &mut bytes).expect("memory takes it");
    let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let slices = json["traceEvents"].as_array().expect("a list").iter().filter(|event| event["ph"] == "X");
    let sum: f64 = slices.map(|slice| slice["dur"].as_f64().expect("a number") * 1000.0).sum();
    let run_ns: u64 = recording.threads.iter().map(|thread| thread.run_ns).sum();
    assert_eq!(sum.round() as u64, run_ns);
}
