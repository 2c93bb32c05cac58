//! CTF: traces written here from the format's description, without the reader's code, come back as they were.
//!
//! babeltrace2 understands what is written here (`make test-traces`), and the published traces of `public/traces.tsv` are compared with
//! what it prints of them.

mod common;

use common::archive::archive;
use common::ctf_file::{SHAPES, Shape};
use common::text::{self, Style};
use common::{Event, Random, schedule};
use divvy_trace::{ErrorKind, Grade, Place, ReadOptions, Recording, TraceError, read, read_bytes, read_from};
use std::io::Write;
use std::path::Path;

fn import(bytes: &[u8]) -> Result<Recording, TraceError> {
    read_bytes(bytes, "test.tar", &ReadOptions::default())
}

fn names() -> Vec<Vec<u8>> {
    vec![b"alpha".to_vec(), b"be ta".to_vec(), b"kworker/0:1".to_vec()]
}

/// The files of a trace.
fn files(shape: Shape, events: &[Event], lose: bool) -> Vec<(String, Vec<u8>)> {
    let cpus = events.iter().map(|event| event.cpu).max().unwrap_or(0) + 1;
    let mut files =
        vec![("metadata".to_owned(), shape.metadata()), ("index/channel0_0.idx".to_owned(), vec![0xff; 64])];
    for cpu in 0..cpus {
        let of_cpu: Vec<&Event> = events.iter().filter(|event| event.cpu == cpu).collect();
        files.push((format!("channel0_{cpu}"), shape.stream(cpu, &of_cpu, lose && cpu == 0)));
    }
    files
}

fn write(directory: &Path, files: &[(String, Vec<u8>)]) {
    for (name, content) in files {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, content).expect("written");
    }
}

fn times(thread: &divvy_trace::Thread) -> Vec<(u64, u64)> {
    thread.intervals.iter().map(|interval| (interval.start_ns, interval.end_ns)).collect()
}

/// The same events as text, read by the other reader.
#[test]
fn every_shape_comes_back() {
    for seed in 0..20 {
        let mut events = schedule(seed, 200, 1 + seed as usize % 3, 1, &names()).events;
        for (index, event) in events.iter_mut().enumerate() {
            event.t_ns = event.t_ns * 1000 + (index as u64 / 40) * 5_000_000_000; // longer than 27 and 32 bits
        }
        let expected =
            read_bytes(&text::print(&events, Style::Kernel, 9, false), "text", &ReadOptions::default())
                .expect("readable");
        for shape in SHAPES {
            let bytes = archive(&files(shape, &events, false));
            let got = import(&bytes).expect("readable");
            let quality = &got.quality;
            assert_eq!((quality.malformed, quality.lost_records, quality.cut_at), (0, 0, None), "{shape:?}");
            assert_eq!(
                (quality.format.as_str(), quality.kernel.as_str(), quality.clock.as_str()),
                ("CTF", "6.12.1-test", "mono")
            );
            assert!(!quality.interrupts_known);
            assert_eq!(
                (quality.switches, quality.wakes),
                (expected.quality.switches, expected.quality.wakes),
                "{shape:?}"
            );
            assert_eq!(
                (got.span_ns, got.origin_ns, got.threads.len()),
                (expected.span_ns, expected.origin_ns, expected.threads.len())
            );
            for (got, expected) in got.threads.iter().zip(&expected.threads) {
                assert_eq!(
                    (got.tid, &got.name, got.run_ns, got.prio),
                    (expected.tid, &expected.name, expected.run_ns, expected.prio)
                );
                assert_eq!(times(got), times(expected));
                assert!(got.process.is_none_or(|process| process == 4321));
            }
            assert_eq!(read_from(&bytes[..], "-", &ReadOptions::default()).expect("a stream"), got);
        }
    }
}

/// The traces that are written here are CTF: a script makes the same account of what babeltrace2 prints of them as of the text.
#[test]
#[ignore = "needs babeltrace2: make test-traces"]
fn babeltrace_reads_them_alike() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/public/account.py");
    let python = std::env::var("DIVVY_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let account = |bytes: &[u8]| {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("written");
        let output =
            std::process::Command::new(&python).arg(&script).arg(file.path()).output().expect("python3");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    for seed in 0..3 {
        let events = schedule(seed, 200, 2, 1000, &names()).events;
        let expected = account(&text::print(&events, Style::Kernel, 9, false));
        assert!(expected.lines().count() > 3, "{expected}");
        for shape in SHAPES {
            assert_eq!(account(&archive(&files(shape, &events, false))), expected, "{shape:?}");
        }
    }
}

/// As a directory, as a session of LTTng beside the trace of programs, and compressed.
#[test]
fn directories_sessions_and_packed_archives() {
    let events = schedule(3, 200, 2, 1000, &names()).events;
    let all = files(SHAPES[0], &events, false);
    let expected = import(&archive(&all)).expect("readable");
    let directory = tempfile::tempdir().expect("a directory");
    write(&directory.path().join("plain"), &all);
    write(&directory.path().join("session/kernel"), &all);
    write(
        &directory.path().join("session/ust/uid/0/64-bit"),
        &[("metadata".to_owned(), b"/* CTF 1.8 */".to_vec())],
    );
    for name in ["plain", "session"] {
        let got = read(&directory.path().join(name), &ReadOptions::default()).expect("readable");
        assert_eq!(got, expected, "{name}");
    }
    let below = all.iter().map(|(name, content)| (format!("./session/kernel/{name}"), content.clone()));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&archive(&below.collect::<Vec<_>>())).expect("packed");
    assert_eq!(import(&packed.finish().expect("packed")).expect("readable"), expected);
}

#[test]
fn losses_are_counted() {
    let events = schedule(3, 400, 1, 1000, &names()).events;
    for shape in SHAPES {
        let quality = import(&archive(&files(shape, &events, true))).expect("readable").quality;
        assert_eq!((quality.lost_records, quality.lost_events, quality.malformed), (1, 7, 0));
        assert!(quality.grade() > Grade::B);
    }
}

/// A stream that is cut: what came before is used, and the grade says so.
#[test]
fn a_cut_stream_is_used() {
    let events = schedule(3, 400, 1, 1000, &names()).events;
    let mut all = files(SHAPES[0], &events, false);
    let whole = import(&archive(&all)).expect("readable").quality;
    let length = all[2].1.len();
    for cut in [10, 500, 5000] {
        all[2].1.truncate(length - cut);
        let quality = import(&archive(&all)).expect("readable").quality;
        assert_eq!(quality.cut_at, Some((length - cut) as u64));
        assert!(quality.events < whole.events || cut < 24, "{cut}");
        assert!(quality.grade() >= Grade::B);
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let events = schedule(3, 60, 1, 1000, &names()).events;
    let good = files(SHAPES[1], &events, false);
    let with = |change: &dyn Fn(&str) -> String| {
        let mut all = good.clone();
        all[0].1 = change(&String::from_utf8(all[0].1.clone()).expect("text")).into_bytes();
        import(&archive(&all)).expect_err("refused")
    };
    let error = with(&|text| text.replace("uint32_t magic", "uint33_t magic"));
    assert_eq!((error.kind, error.place), (ErrorKind::Malformed, Some(Place::Line(10))), "{error}");
    assert!(error.to_string().contains("there is no type \"uint33_t\""), "{error}");
    let error = with(&|text| text.replace("sched_switch", "sched_other"));
    assert_eq!(error.kind, ErrorKind::Empty);
    assert!(error.to_string().contains("lttng enable-event --kernel"), "{error}");
    let error = with(&|_| "\u{1e}{\"type\": \"preamble\", \"version\": 2}".to_owned());
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.to_string().contains("CTF 2"), "{error}");
    let error = import(&archive(&good[2..])).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Unsupported);
    let error = with(&|text| text.replace("freq = 1000000000", "freq = 0"));
    assert_eq!(error.kind, ErrorKind::Malformed);
}

/// Descriptions that would take for ever, or the whole stack.
#[test]
fn a_description_is_bounded() {
    let events = schedule(3, 60, 1, 1000, &names()).events;
    let mut all = files(SHAPES[1], &events, false);
    let good = String::from_utf8(all[0].1.clone()).expect("text");
    let deep = format!("{}uint8_t x; {}", "struct { ".repeat(100_000), "} y; ".repeat(100_000));
    let mut chain = "struct t0 { uint8_t x; };\n".to_owned();
    let mut empty = "struct t0 {};\n".to_owned();
    for index in 0..60 {
        chain += &format!("struct t{} {{ struct t{index} x; struct t{index} y; }};\n", index + 1);
        empty += &format!("struct t{} {{ struct t{index} x; struct t{index} y; }};\n", index + 1);
    }
    for index in 60..200 {
        chain += &format!("struct t{} {{ struct t{index} x; }};\n", index + 1);
    }
    let arrays = format!("struct deep {{ uint8_t x{}; }};\n", "[2]".repeat(100_000));
    for (text, is_refused) in [
        (good.replace("trace {", &format!("{deep}\ntrace {{")), true),
        (good.replace("trace {", &format!("{chain}\ntrace {{")), true),
        (good.replace("trace {", &format!("{arrays}\ntrace {{")), true),
        // A struct without bits, four billion times, or doubled sixty times.
        (
            good.replace(
                "uint8_t _some[ __some_length ];",
                "struct {} _none[4294967295]; uint8_t _some[ __some_length ];",
            ),
            false,
        ),
        (
            good.replace("trace {", &format!("{empty}\ntrace {{")).replace(
                "uint8_t _some[ __some_length ];",
                "struct t60 _none; uint8_t _some[ __some_length ];",
            ),
            false,
        ),
    ] {
        all[0].1 = text.into_bytes();
        match import(&archive(&all)) {
            Ok(recording) => assert!(!is_refused && recording.quality.malformed > 0),
            Err(error) => {
                assert!(is_refused && error.kind == ErrorKind::Malformed && error.place.is_some(), "{error}")
            }
        }
    }
}

/// Ten thousand damaged traces, of two shapes: an error with its place, or a recording, never a panic.
#[test]
fn ten_thousand_damaged_traces() {
    let events = schedule(3, 60, 2, 1000, &names()).events;
    let mut random = Random(7);
    for shape in [SHAPES[0], SHAPES[2]] {
        let whole = files(shape, &events, true);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..5_000 {
            let mut all = whole.clone();
            for _ in 0..1 + random.below(4) {
                let file = [0, 2, 3][random.below(3)];
                let bytes = &mut all[file].1;
                if bytes.is_empty() {
                    continue;
                }
                let at = random.below(bytes.len());
                random.damage(bytes, at, 8);
            }
            match import(&archive(&all)) {
                Ok(recording) => {
                    read += 1;
                    assert!(recording.threads.len() <= 2000);
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().lines().count() <= 2, "{error}");
                }
            }
        }
        assert!(read > 100 && refused > 100, "{read} {refused}");
    }
}

/// Names longer than a head of tar holds, as GNU tar writes them and as POSIX has them.
#[test]
fn long_names_in_archives() {
    let all = files(SHAPES[0], &schedule(3, 60, 1, 1000, &names()).events, false);
    let expected = import(&archive(&all)).expect("readable");
    let directory = "session-".repeat(20);
    for is_gnu in [true, false] {
        let mut bytes = Vec::new();
        for (name, content) in &all {
            let path = format!("{directory}/kernel/{name}");
            let (kind, long) = match is_gnu {
                true => (b'L', format!("{path}\0")),
                false => (b'x', format!("{} path={path}\n", path.len() + 10)),
            };
            let mut head = archive(&[("long".to_owned(), long.into_bytes())]);
            head.truncate(head.len() - 1024);
            head[156] = kind;
            let sum: u32 = head[..512]
                .iter()
                .enumerate()
                .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) })
                .sum();
            head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
            bytes.extend(head);
            let mut file = archive(&[("cut".to_owned(), content.clone())]);
            file.truncate(file.len() - 1024);
            bytes.extend(file);
        }
        bytes.resize(bytes.len() + 1024, 0);
        assert_eq!(import(&bytes).expect("readable"), expected, "{is_gnu}");
    }
}

/// The archive around a trace is an input as well.
#[test]
fn damaged_archives() {
    let events = schedule(3, 60, 1, 1000, &names()).events;
    let whole = archive(&files(SHAPES[0], &events, false));
    let heads: Vec<usize> =
        (0..whole.len()).step_by(512).filter(|at| whole[at + 257..].starts_with(b"ustar")).collect();
    let mut random = Random(11);
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(3) {
            let at = heads[random.below(heads.len())] + random.below(512);
            bytes[at] = random.below(256) as u8;
        }
        if random.below(4) == 0 {
            bytes.truncate(512 + random.below(whole.len() - 512));
        }
        if let Err(error) = import(&bytes) {
            assert!(error.to_string().lines().count() <= 2, "{error}");
        }
    }
}
