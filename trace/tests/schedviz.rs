//! SchedViz: archives written here, without the reader's code, come back as they were. The published ones of `public/traces.tsv` are
//! compared with an account by a script.

mod common;

use common::archive::archive;
use common::text::{self, Style};
use common::trace_dat_file::{Packed, Shape};
use common::{Event, Random, schedule};
use divvy_trace::{ErrorKind, Grade, ReadOptions, Recording, TraceError, read, read_bytes};

/// The kernel's pages.
const PAGE: usize = 4096;
const SHAPE: Shape = Shape { version: 6, big_endian: false, long: 8, packed: Packed::No };

fn import(bytes: &[u8]) -> Result<Recording, TraceError> {
    read_bytes(bytes, "test.tar", &ReadOptions::default())
}

fn names() -> Vec<Vec<u8>> {
    vec![b"alpha".to_vec(), b"be ta".to_vec(), b"kworker/0:1".to_vec()]
}

fn files(events: &[Event], lose: bool) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![
        ("metadata.textproto".to_owned(), b"trace_type: FTRACE".to_vec()),
        ("formats/header_page".to_owned(), SHAPE.header_page().into_bytes()),
    ];
    let formats =
        SHAPE.tracepoints().map(|(name, text)| (format!("formats/sched/{name}/format"), text.into_bytes()));
    files.extend(formats);
    for cpu in 0..events.iter().map(|event| event.cpu).max().unwrap_or(0) + 1 {
        let of_cpu: Vec<&Event> = events.iter().filter(|event| event.cpu == cpu).collect();
        files.push((format!("traces/cpu{cpu}"), SHAPE.pages_of(PAGE, &of_cpu, lose && cpu == 0)));
    }
    files
}

/// The same events as text, read by the other reader; as an archive and as a directory.
#[test]
fn archives_and_directories_come_back() {
    for seed in 0..20 {
        let events = schedule(seed, 400, 1 + seed as usize % 3, 1000, &names()).events;
        let text = text::print(&events, Style::Kernel, 9, false);
        let expected = read_bytes(&text, "text", &ReadOptions::default()).expect("readable");
        let all = files(&events, false);
        let got = import(&archive(&all)).expect("readable");
        assert_eq!((got.quality.malformed, got.quality.lost_records), (0, 0));
        assert!(got.quality.interrupts_known);
        assert_eq!((got.span_ns, got.origin_ns), (expected.span_ns, expected.origin_ns));
        let told = |recording: &Recording| -> Vec<(i32, String, u64, usize)> {
            let threads = recording.threads.iter();
            threads.map(|t| (t.tid, t.name.clone(), t.run_ns, t.intervals.len())).collect()
        };
        assert_eq!(told(&got), told(&expected));
        let directory = tempfile::tempdir().expect("a directory");
        for (name, content) in &all {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(path, content).expect("written");
        }
        assert_eq!(read(directory.path(), &ReadOptions::default()).expect("readable"), got);
    }
}

#[test]
fn losses_are_counted() {
    let mut events = Vec::new();
    for seed in 0..8 {
        let start = events.last().map_or(0, |event: &Event| event.t_ns + 1000);
        let more = schedule(seed, 400, 1, 1000, &names()).events.into_iter();
        events.extend(more.map(|event| Event { t_ns: start + event.t_ns, ..event }));
    }
    let quality = import(&archive(&files(&events, true))).expect("readable").quality;
    assert_eq!((quality.lost_records, quality.lost_events, quality.malformed), (1, 7, 0));
    assert!(quality.grade() > Grade::B);
}

#[test]
fn what_cannot_be_read_is_named() {
    let all = files(&schedule(3, 60, 1, 1000, &names()).events, false);
    let error = import(&archive(&all[..1])).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.to_string().contains("eBPF"), "{error}");
    let error = import(&archive(&all[..6])).expect_err("refused");
    assert!(error.kind == ErrorKind::Empty && error.to_string().contains("traces/cpu0"), "{error}");
}

/// Ten thousand damaged recordings: an error, or a recording, never a panic.
#[test]
fn ten_thousand_damaged_recordings() {
    let whole = files(&schedule(3, 60, 2, 1000, &names()).events, true);
    let mut random = Random(7);
    let mut read = 0;
    for _ in 0..10_000 {
        let mut all = whole.clone();
        for _ in 0..1 + random.below(4) {
            let file = 1 + random.below(all.len() - 1);
            let bytes = &mut all[file].1;
            if bytes.is_empty() {
                continue;
            }
            let at = random.below(bytes.len().min(1500));
            random.damage(bytes, at, 16);
        }
        match import(&archive(&all)) {
            Ok(recording) => {
                read += 1;
                assert!(recording.threads.len() <= 2000);
            }
            Err(error) => assert!(error.to_string().lines().count() <= 2, "{error}"),
        }
    }
    assert!(read > 100, "{read}");
}
