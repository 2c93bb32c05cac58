//! `trace.dat`: files written here from the format's description, without the reader's code, come back as they were.
//!
//! Real files were compared with `trace-cmd report` (3.1.6): see the page on trace formats.

mod common;

use common::text::{self, Style};
use common::trace_dat_file::{PAGE, SHAPES};
use common::{Random, schedule};
use divvy_trace::{ErrorKind, Grade, ReadOptions, Recording, TraceError, read_bytes, read_from};

fn import(bytes: &[u8]) -> Result<Recording, TraceError> {
    read_bytes(bytes, "test.dat", &ReadOptions::default())
}

fn names() -> Vec<Vec<u8>> {
    vec![b"alpha".to_vec(), b"be ta".to_vec(), b"kworker/0:1".to_vec()]
}

/// The same events as text, read by the other reader.
#[test]
fn every_version_comes_back() {
    for seed in 0..20 {
        let mut events = schedule(seed, 200, 1 + seed as usize % 3, 1, &names()).events;
        for (index, event) in events.iter_mut().enumerate() {
            event.t_ns = event.t_ns * 1000 + (index as u64 / 40) * 1_000_000_000; // longer than a head's 27 bits
        }
        let expected = import(&text::print(&events, Style::Kernel, 9, false)).expect("readable");
        for shape in SHAPES {
            let bytes = shape.write(&events, false);
            let got = import(&bytes).expect("readable");
            assert_eq!((got.quality.malformed, got.quality.lost_records), (0, 0));
            assert_eq!((got.quality.kernel.as_str(), got.quality.clock.as_str()), ("6.12.1-test", "local"));
            assert!(got.quality.interrupts_known);
            assert_eq!(got.quality.switches, expected.quality.switches);
            assert_eq!(
                (got.span_ns, got.origin_ns, got.threads.len()),
                (expected.span_ns, expected.origin_ns, expected.threads.len())
            );
            for (got, expected) in got.threads.iter().zip(&expected.threads) {
                let times = |thread: &divvy_trace::Thread| -> Vec<(u64, u64)> {
                    thread.intervals.iter().map(|i| (i.start_ns, i.end_ns)).collect()
                };
                assert_eq!((got.tid, &got.name, got.run_ns), (expected.tid, &expected.name, expected.run_ns));
                assert_eq!(times(got), times(expected));
            }
            assert_eq!(read_from(&bytes[..], "-", &ReadOptions::default()).expect("a stream"), got);
        }
    }
}

#[test]
fn losses_are_counted() {
    let events = schedule(3, 400, 1, 1000, &names()).events;
    for shape in SHAPES {
        let quality = import(&shape.write(&events, true)).expect("readable").quality;
        assert_eq!((quality.lost_records, quality.lost_events, quality.malformed), (1, 7, 0));
        assert!(quality.grade() > Grade::B);
    }
}

/// A file that is cut within the pages: what came before is used. Version 7 has its descriptions behind them.
#[test]
fn a_cut_file_is_used() {
    let events = schedule(3, 400, 1, 1000, &names()).events;
    let bytes = SHAPES[0].write(&events, false);
    let whole = import(&bytes).expect("readable").quality;
    let cut = import(&bytes[..bytes.len() - PAGE - 100]).expect("readable").quality;
    assert!(cut.cut_at.is_some() && cut.events < whole.events && cut.grade() >= Grade::B);
    let packed = SHAPES[4].write(&events, false);
    let error = import(&packed[..packed.len() - 100]).expect_err("refused");
    assert!(
        matches!(error.kind, ErrorKind::Truncated | ErrorKind::Malformed) && error.place.is_some(),
        "{error}"
    );
}

/// Ten thousand damaged files of each version: an error with its place, or a recording, never a panic.
#[test]
fn ten_thousand_damaged_files_of_each_version() {
    let events = schedule(3, 60, 2, 1000, &names()).events;
    let mut random = Random(7);
    for shape in [SHAPES[0], SHAPES[4]] {
        let whole = shape.write(&events, true);
        let mut read = 0;
        for _ in 0..10_000 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.below(4) {
                if bytes.is_empty() {
                    break;
                }
                let at = random.below(bytes.len());
                random.damage(&mut bytes, at, 8);
            }
            match import(&bytes) {
                Ok(recording) => {
                    read += 1;
                    assert!(recording.threads.len() <= 2000);
                }
                Err(error) => assert!(error.to_string().lines().count() <= 2, "{error}"),
            }
        }
        assert!(read > 100, "{read}");
    }
}
