//! `perf.data`: losses, order, refusals with places, and damage of every kind.

mod common;

use common::perf_file::{self, Shape, Writer};
use common::{Event, Kind, Name, schedule};
use divvy_trace::{ErrorKind, Grade, Place, ReadOptions, TraceError, read_bytes, scrub};
use std::collections::BTreeSet;

fn import(bytes: &[u8]) -> Result<divvy_trace::Recording, TraceError> {
    read_bytes(bytes, "test.data", &ReadOptions::default())
}

fn names() -> Vec<Vec<u8>> {
    vec![b"alpha".to_vec(), b"beta".to_vec()]
}

fn small(shape: Shape) -> Vec<u8> {
    perf_file::write(&schedule(7, 8, 2, 1, &names()).events, shape)
}

fn switch(t_ns: u64, prev: i32, state: &'static str, next: i32) -> Event {
    let name = |tid: i32| Name {
        tid,
        comm: if tid == 0 { b"swapper/0".to_vec() } else { format!("t{tid}").into_bytes() },
    };
    let kind = Kind::Switch { prev: name(prev), state, next: name(next) };
    Event { t_ns, cpu: 0, current: name(prev), interrupt: false, kind }
}

#[test]
fn losses_are_seen_and_names_from_before_are_known() {
    let mut writer = Writer::new(Shape::default());
    writer.comm(0, 40, &Name { tid: 41, comm: b"worker".to_vec() });
    writer.event(&switch(1000, 0, "R", 41));
    writer.lost(5_000_002_000, 0, 12);
    writer.event(&switch(3000, 0, "R", 42));
    let recording = import(&writer.finish()).expect("readable");
    assert_eq!((recording.quality.lost_records, recording.quality.lost_events), (1, 12));
    let thread = recording.threads.iter().find(|t| t.tid == 41).expect("thread 41");
    assert_eq!((thread.first_name.as_str(), thread.process), ("t41", Some(40)));
    assert_eq!(thread.run_ns, 0, "it was last seen when it came on the CPU");
}

/// perf was killed: what it had written is used, and the looks of its events are guessed.
#[test]
fn a_recording_that_was_never_closed() {
    let whole = small(Shape::default());
    let mut bytes = whole.clone();
    bytes[48..56].fill(0);
    let (before, killed) = (import(&whole).expect("readable"), import(&bytes).expect("readable"));
    assert_eq!((killed.quality.cut_at, killed.quality.guessed), (Some(bytes.len() as u64), true));
    assert_eq!(killed.quality.switches, before.quality.switches);
    assert!(
        killed
            .quality
            .findings()
            .iter()
            .any(|f| f.grade == Grade::C && f.text.contains("lost the descriptions"))
    );
    let data_at = 104 + 8 + 96 + 16;
    let mut empty = whole[..data_at].to_vec();
    empty[48..56].fill(0);
    let error = import(&empty).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Truncated);
    assert!(error.to_string().contains("never closed"), "{error}");
}

#[test]
fn a_file_form_recording_does_not_stream() {
    let error = divvy_trace::read_from(&small(Shape::default())[..], "-", &ReadOptions::default())
        .expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.to_string().starts_with("-: "), "{error}");
}

/// Cut anywhere: what came before is used, with the byte at which the file ends; if nothing can be, that is the error.
#[test]
fn cut_at_every_byte() {
    let whole = small(Shape::default());
    let complete = import(&whole).expect("readable").quality;
    let mut used = 0;
    for length in 0..whole.len() {
        match import(&whole[..length]) {
            Ok(recording) => {
                used += 1;
                let quality = recording.quality;
                assert_eq!(quality.cut_at, Some(length as u64));
                assert!(quality.events <= complete.events && quality.grade() >= Grade::B);
                assert!(quality.findings().iter().any(|f| f.text.contains(&format!("cut at byte {length}"))));
            }
            Err(error) => match error.kind {
                ErrorKind::Truncated => {
                    assert_eq!(error.place, Some(Place::Offset(length as u64)), "{error}");
                }
                ErrorKind::Empty => assert_eq!(length, 0),
                kind => assert!(length < 8, "{kind:?} at {length}: {error}"),
            },
        }
    }
    assert!(used > whole.len() / 10, "{used} of {}", whole.len());
    let piped = small(Shape { pipe: true, ..Shape::default() });
    let complete = import(&piped).expect("readable").quality.events;
    for length in 0..piped.len() {
        match import(&piped[..length]) {
            Ok(recording) => assert!(recording.quality.events < complete),
            Err(error) => assert_ne!(error.kind, ErrorKind::Malformed, "{error}"),
        }
    }
}

/// perf drains one CPU after the other. Of a round that is cut, one CPU's events may be there and the other's not: none count.
#[test]
fn a_round_that_is_cut_counts_for_no_cpu() {
    let events = schedule(3, 200, 2, 1, &names()).events;
    let shape = Shape { rounds: true, pipe: true, ..Shape::default() };
    let whole = import(&perf_file::write(&events, shape)).expect("readable").quality;
    let mut bytes = perf_file::write(&events, shape);
    bytes.truncate(bytes.len() - 150);
    let cut = import(&bytes).expect("readable").quality;
    assert!(cut.cut_at.is_some() && cut.events < whole.events && cut.mismatches == 0, "{cut:?}");
}

/// Damage anywhere: an error or a recording, never a panic, and never more than the file can hold.
#[test]
fn flipped_bits() {
    for shape in [Shape::default(), Shape { big_endian: true, pipe: true, ..Shape::default() }] {
        let whole = small(shape);
        let all: BTreeSet<i32> = (100..105).collect();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            if let Ok(recording) = import(&damaged) {
                assert!(recording.threads.len() <= 100);
                divvy_trace::replayable(&recording, divvy_trace::WakePolicy::Dependency);
            }
            if at % 4 == 0 {
                let _ = scrub(std::io::Cursor::new(&damaged), std::io::Cursor::new(Vec::new()), &all);
            }
        }
    }
}

/// Threads 100.. are kept or not by parity; what is left of the kept ones is what it was.
#[test]
fn scrubbing_keeps_the_chosen_threads_and_no_other_name() {
    for big_endian in [false, true] {
        let mut names = names();
        names.push(b"secret".to_vec());
        let events = schedule(11, 400, 2, 1, &names).events;
        let bytes = perf_file::write(&events, Shape { big_endian, ..Shape::default() });
        let before = import(&bytes).expect("readable");
        let keep: BTreeSet<i32> =
            before.threads.iter().filter(|t| t.name != "secret").map(|t| t.tid).collect();
        assert!(keep.len() < before.threads.len() && !keep.is_empty());
        let mut out = std::io::Cursor::new(Vec::new());
        let counts = scrub(std::io::Cursor::new(&bytes), &mut out, &keep).expect("scrubbed");
        assert!(counts.kept < counts.samples);
        let scrubbed = out.into_inner();
        assert!(!scrubbed.windows(6).any(|w| w == b"secret"), "the name is gone");
        assert!(!scrubbed.windows(4).any(|w| w == b"test"), "and the kernel's local release");
        let after = import(&scrubbed).expect("readable");
        assert_eq!(after.quality.mismatches, 0, "every switch still follows from the one before");
        let runs = |r: &divvy_trace::Recording, origin: u64| -> Vec<(i32, u64, u64)> {
            let chosen = r.threads.iter().filter(|t| keep.contains(&t.tid));
            let spans = chosen.flat_map(|t| t.intervals.iter().map(|i| (t.tid, *i)));
            let runs = spans.filter(|(_, i)| matches!(i.activity, divvy_trace::Activity::Run { .. }));
            runs.map(|(tid, i)| (tid, i.start_ns + origin, i.end_ns - i.start_ns)).collect()
        };
        // Times count from the first event, which may have been another thread's.
        let first = |r: &[(i32, u64, u64)]| r.iter().map(|(_, start, _)| *start).min().unwrap_or(0);
        let (mut old, mut new) = (runs(&before, 0), runs(&after, 0));
        let shift = first(&old) - first(&new);
        new.iter_mut().for_each(|run| run.1 += shift);
        old.sort_unstable();
        new.sort_unstable();
        // The last run of each CPU ends with the recording, which may end earlier now.
        let differing = old.iter().zip(&new).filter(|(a, b)| a != b).count();
        assert_eq!(old.len(), new.len());
        assert!(differing <= 2, "{differing} of {}", old.len());
    }
}
