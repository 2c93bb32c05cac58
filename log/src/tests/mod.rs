//! Logs of native machines are found right, and whatever is wrong with one is found.

mod shards;
mod storm;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use divvy_policy::{CpuMask, Event, spec};
use proptest::prelude::*;

use self::storm::{Random, all_records, shuffle, specs};
use super::format::Record;
use super::reader::Entry;
use super::verify::{Replay, verify_from};
use super::*;

/// A file that is gone at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(bytes: &[u8]) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("divvy-log-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let file = Scratch(std::env::temp_dir().join(name));
        std::fs::write(&file.0, bytes).unwrap();
        file
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The bytes of a log, through the writer.
fn log(header: &Header, records: &[Record], dropped: u64) -> Vec<u8> {
    let file = Scratch::new(&[]);
    let mut writer = LogWriter::create(&file.0, header).unwrap();
    for some in records.chunks(7) {
        let bytes: Vec<u8> =
            some.iter().flat_map(|record| record.encode(!header.shards.is_empty())).collect();
        writer.records(&bytes).unwrap();
    }
    writer.finish(records.len() as u64, dropped).unwrap();
    std::fs::read(&file.0).unwrap()
}

fn check_from(bytes: &[u8], first: u32) -> Result<Report, LogError> {
    let file = Scratch::new(bytes);
    verify_from(&file.0, first, &mut |_| Ok(()))
}

fn check(bytes: &[u8]) -> Result<Report, LogError> {
    check_from(bytes, 1)
}

/// A log in order.
fn sample(spec: &str, cpus: u32, events: usize) -> (Header, Vec<Record>) {
    let (header, told) = storm::storm(spec, cpus, 7, events);
    let records = all_records(&header, &told, 1);
    (header, records)
}

#[test]
fn every_policy_under_any_modifiers_decides_as_it_did() {
    for (index, spec) in specs().iter().enumerate() {
        let cpus = [1, 2, 4, 65, 256][index % 5];
        let (header, told) = storm::storm(spec, cpus, index as u64, 3000);
        let kinds: BTreeSet<&str> = told.iter().map(|(event, ..)| event.name()).collect();
        assert!(kinds.len() >= 12, "{spec}: only {kinds:?}");
        let mut records = all_records(&header, &told, 1);
        shuffle(&mut records, 100, &mut Random(1));
        let report = check(&log(&header, &records, 0)).unwrap();
        assert!(matches!(report.verdict, Verdict::Ok), "{spec} on {cpus}: {:?}", report.verdict);
        assert_eq!((report.events, report.records), (told.len() as u64, records.len() as u64));
        let dispatches = told.iter().filter(|(event, ..)| matches!(event, Event::Dispatch { .. })).count();
        assert_eq!(report.decisions, dispatches as u64);
    }
}

/// Every slice is there once, with its length, and no task is on two CPUs at a time.
/// `divvy load` puts the seed that it chose into the spec, which is in the header: with another, decisions are others.
#[test]
fn random_decisions_are_those_of_the_seed_in_the_header() {
    let seeded = |seed| spec::parse("lottery", divvy_policy::all()).unwrap().seeded(seed).to_string();
    let (header, records) = sample(&seeded(41), 2, 2000);
    assert_eq!(header.spec, "lottery:seed=42");
    assert!(matches!(check(&log(&header, &records, 0)).unwrap().verdict, Verdict::Ok));
    let other = Header { spec: seeded(42), ..header };
    assert!(!matches!(check(&log(&other, &records, 0)).unwrap().verdict, Verdict::Ok));
}

/// A log that somebody sent does not choose what is compiled and run here.
#[test]
fn a_log_loads_no_policy_file() {
    let (header, records) = sample("rr", 1, 100);
    let folder = std::env::temp_dir().join(format!("divvy-log-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("evil.h").display().to_string();
    std::fs::write(&path, "#error\n").unwrap();
    let other = Header { spec: format!("{path}+feasible"), ..header };
    let said = check(&log(&other, &records, 0)).unwrap_err().to_string();
    std::fs::remove_dir_all(folder).unwrap();
    assert!(said.contains(&format!("if you trust it, add -p {path}")), "{said}");
}

#[test]
fn the_schedule_is_that_of_the_events() {
    for (spec, cpus) in [("rr", 1), ("gr3+procfair", 3), ("pbs+groups", 7)] {
        let (header, told) = storm::storm(spec, cpus, 3, 4000);
        let file = Scratch::new(&log(&header, &all_records(&header, &told, 1), 0));
        let Scheduled { schedule, report } = schedule(&file.0).unwrap();
        assert!(!schedule.is_cut && matches!(report.verdict, Verdict::Ok));
        let (mut since_ns, mut stopped_ns) = (BTreeMap::new(), 0);
        for (event, _, now_ns) in &told {
            match event {
                Event::Running { task } => drop(since_ns.insert(*task, *now_ns)),
                Event::Stopping { task, .. } => stopped_ns += now_ns - since_ns[task],
                _ => {}
            }
        }
        let mut runs: Vec<_> = schedule.cpus.iter().flatten().collect();
        let all_ns: u64 = runs.iter().map(|run| run.to_ns - run.from_ns).sum();
        let at_end = |run: &&&divvy_results::schedule::Slice| run.to_ns == report.last_ns;
        let open_ns: u64 = runs.iter().filter(at_end).map(|run| run.to_ns - run.from_ns).sum();
        assert!(runs.len() > 300, "{spec}: {}", runs.len());
        assert!(
            stopped_ns <= all_ns && all_ns <= stopped_ns + open_ns,
            "{spec}: {stopped_ns} {all_ns} {open_ns}"
        );
        runs.sort_by_key(|run| (run.task, run.from_ns));
        assert!(runs.windows(2).all(|two| two[0].task != two[1].task || two[0].to_ns <= two[1].from_ns));
        for cpu in &schedule.cpus {
            assert!(cpu.windows(2).all(|two| two[0].to_ns <= two[1].from_ns));
        }
    }
}

#[test]
fn any_answer_that_is_changed_is_a_mismatch_there() {
    let (header, records) = sample("sfs+procfair", 3, 1500);
    let header_size = header.encode().len() as u64;
    let answered = records.iter().enumerate().filter(|(_, record)| matches!(record.kind, 4 | 6 | 11));
    for (index, record) in answered.step_by(23) {
        for field in 0..3 {
            let mut changed = records.clone();
            let it = &mut changed[index];
            match (record.kind, field) {
                (6, 0) => (it.id, it.answer) = (it.id ^ 1, it.answer ^ 1),
                (6, 1) => it.value += 1,
                (11, _) => it.answer ^= 1,
                _ => it.cpu ^= 1,
            }
            let report = check(&log(&header, &changed, 0)).unwrap();
            let Verdict::Mismatch(mismatch) = report.verdict else {
                panic!("{record:?}: {:?}", report.verdict)
            };
            assert_eq!(mismatch.told.record, index as u64 + 1);
            assert_eq!(mismatch.told.offset, header_size + index as u64 * 32);
            assert_eq!(mismatch.told.now_ns, record.now);
            assert_ne!(mismatch.told.answer, mismatch.native);
            assert_eq!(mismatch.before.len(), index.min(10));
            assert!(mismatch.before.iter().all(|told| told.number < mismatch.told.number));
        }
    }
}

#[test]
fn service_that_was_changed_changes_decisions() {
    let (header, mut records) = sample("sfq", 2, 1500);
    let stopping = records
        .iter_mut()
        .filter(|record| record.kind == 8)
        .take(40)
        .max_by_key(|record| record.value)
        .unwrap();
    stopping.value *= 1000;
    assert!(matches!(check(&log(&header, &records, 0)).unwrap().verdict, Verdict::Mismatch(_)));
}

#[test]
fn what_found_no_room_makes_it_incomplete() {
    for cpus in [2, 65] {
        let (header, records) = sample("gr3", cpus, 800);
        for missing in (0..records.len()).step_by(37) {
            let mut rest = records.clone();
            let seq = u64::from(rest.remove(missing).seq);
            let report = check(&log(&header, &rest, 1)).unwrap();
            let Verdict::Incomplete(gap) = report.verdict else { panic!("{missing}: {:?}", report.verdict) };
            let at_end = missing + 1 == records.len();
            assert_eq!(gap, Gap { at: (!at_end).then_some(seq), missing: 1 });
            assert_eq!((report.events, report.dropped), (seq - 1, 1));
        }
    }
}

#[test]
fn a_gap_is_found_however_much_follows_it() {
    let (header, records) = sample("rr", 2, 100);
    let mut far = records[99];
    far.seq = 101 + reorder::WINDOW;
    for keep in [99, 100] {
        let mut all = records[..keep].to_vec();
        all.push(far);
        let Verdict::Incomplete(gap) = check(&log(&header, &all, 1 << 20)).unwrap().verdict else {
            panic!("a gap")
        };
        let at = keep as u64 + 1;
        assert_eq!(gap, Gap { at: Some(at), missing: u64::from(far.seq) - at });
    }
}

#[test]
fn the_last_record_of_all_may_be_missing() {
    let (header, records) = sample("rr", 2, 100);
    let report = check(&log(&header, &records, 3)).unwrap();
    assert!(matches!(report.verdict, Verdict::Incomplete(Gap { at: None, missing: 3 })));
    assert_eq!(report.events, 100);
}

#[test]
fn numbers_wrap_around() {
    let (header, told) = storm::storm("eevdf", 2, 5, 400);
    let first = u32::MAX - 200;
    let mut records = all_records(&header, &told, first);
    shuffle(&mut records, 50, &mut Random(2));
    assert!(records.iter().any(|record| record.seq == 0));
    let report = check_from(&log(&header, &records, 0), first).unwrap();
    assert!(matches!(report.verdict, Verdict::Ok), "{:?}", report.verdict);
    assert_eq!(report.events, 400);
}

#[test]
fn a_file_that_was_cut_off_anywhere_is_no_log() {
    let (header, records) = sample("rr", 2, 60);
    let bytes = log(&header, &records, 0);
    for size in 0..bytes.len() {
        let error = check(&bytes[..size]).expect_err("cut off");
        match error {
            LogError::Cut { at, .. } => assert_eq!(at, size as u64),
            LogError::Foreign { .. } => panic!("{size}: {error}"),
            error => panic!("{size}: {error}"),
        }
    }
    let middle = [&bytes[..bytes.len() - 64], &bytes[bytes.len() - 32..]].concat();
    let said = check(&middle).expect_err("one is missing").to_string();
    assert!(said.contains("wrote 60 records, and the file has 59"), "{said}");
}

#[test]
fn what_is_no_log_is_said_to_be_none() {
    let (header, records) = sample("rr", 2, 10);
    let good = log(&header, &records, 0);
    let said = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        check(&bytes).expect_err("damaged").to_string()
    };
    assert!(said(&|bytes| bytes[0] = b'D').contains("not a log of divvy"));
    assert!(said(&|bytes| bytes[8..12].reverse()).contains("the other byte order"));
    assert!(said(&|bytes| bytes[12] = 3).contains("version 3 of the format"));
    assert!(said(&|bytes| bytes[12] = 2).contains("sizes"));
    assert!(said(&|bytes| bytes[44] = 2).contains("several shards in version 1"));
    assert!(said(&|bytes| bytes[16] = 1).contains("sizes"));
    assert!(said(&|bytes| bytes[24..28].fill(0xff)).contains("CPUs"));
    assert!(said(&|bytes| bytes[28..32].fill(0xff)).contains("tasks"));
    assert!(said(&|bytes| bytes[32..40].fill(0)).contains("quantum"));
    assert!(said(&|bytes| bytes[48] = b'z').contains("there is no selection policy `zr`"));
    assert!(said(&|bytes| bytes[48] = 0xff).contains("its spec is not text"));
    assert!(said(&|bytes| bytes.push(0)).contains("more after the trailer"));
    let trailer = good.len() - 32;
    assert!(said(&|bytes| bytes[trailer + 16] = 0).contains("damaged trailer"));
}

/// Events that no kernel's host tells its machine.
#[test]
fn what_a_machine_may_not_be_told_is_said_with_its_place() {
    let now = 1000;
    let new = |id, process| Record { now, id, answer: process, value: 1 << 20, ..Record::default() };
    let of = |kind, id| Record { now, kind, id, ..Record::default() };
    let first = [new(1, 1), of(2, 1)];
    let cases: &[(Record, &str)] = &[
        (of(23, 1), "no event of kind 23"),
        (of(21, 2), "there is no task 2"),
        (of(22, 2), "there is no task 2"),
        (Record { answer: 1, ..of(18, 1) }, "task 1 was made by task 1"),
        (of(19, 2), "there is no task 2"),
        (Record { why: 2, ..of(20, 0) }, "no CPU 2"),
        (new(0, 0), "task id 0 is out of range"),
        (new(16_384, 16_384), "task id 16384 is out of range"),
        (new(1, 1), "its id is in use"),
        (new(2, 20_000), "process 20000, which is not a task id"),
        (of(13, 1), "process 0, which is not a task id"),
        (Record { value: 0, ..new(2, 2) }, "a weight of 0"),
        (Record { value: (1 << 40) + 1, ..new(2, 2) }, "a weight of 1099511627777"),
        (of(1, 1), "exits, but is runnable"),
        (of(1, 2), "there is no task 2"),
        (of(2, 1), "is runnable already"),
        (Record { why: 9, ..of(2, 1) }, "no such reason"),
        (Record { why: 0, ..of(3, 1) }, "no such reason"),
        (of(4, 99_999), "task id 99999 is out of range"),
        (Record { why: 2, ..of(6, 0) }, "no CPU 2"),
        (Record { answer: 1, ..of(6, 0) }, "two tasks"),
        (of(7, 2), "there is no task 2"),
        (Record { value: u64::MAX, ..of(8, 1) }, "not possible"),
        (Record { cpu: 0xffff, ..of(9, 0) }, "no CPU 65535"),
        (Record { cpu: 1, why: 0, ..of(11, 1) }, "CPUs from 64"),
        (Record { cpu: 0, why: 0, ..of(11, 1) }, "CPUs from 0"),
        (Record { cpu: 3, ..of(12, 0) }, "no parameter 3"),
        (Record { value: 2, ..of(12, 0) }, "out of its range"),
        (Record { answer: 4096, value: 1, ..of(14, 0) }, "no group 4096"),
        (Record { answer: 1, cpu: 4096, value: 1, ..of(14, 0) }, "no group 4096"),
        (Record { answer: 1, value: 0, ..of(14, 0) }, "a weight of 0"),
        (Record { answer: 0, value: 1, ..of(14, 0) }, "the root, group 0"),
        (Record { answer: 1, cpu: 1, value: 1, ..of(14, 0) }, "group 1 is put into group 1, which is in it"),
        (Record { answer: 4096, ..of(15, 1) }, "no group 4096"),
        (Record { answer: 1, ..of(15, 2) }, "there is no task 2"),
        (Record { now: now - 1, ..of(5, 1) }, "time goes back"),
        (Record { now: u64::MAX, ..of(5, 1) }, "the time 18446744073709551615 ns is out of range"),
    ];
    for (last, expected) in cases {
        let mut records = first.to_vec();
        records.push(*last);
        records.iter_mut().enumerate().for_each(|(index, record)| record.seq = index as u32 + 1);
        let header =
            Header { spec: "gr3".to_owned(), cpus: 2, pool: 16_383, quantum_ns: 1, shards: Vec::new() };
        let said = check(&log(&header, &records, 0)).expect_err(expected).to_string();
        assert!(said.contains("record 3 at byte 128: ") && said.contains(expected), "{said}");
    }
}

#[test]
fn the_same_event_twice_is_an_error() {
    let (header, records) = sample("rr", 65, 3000);
    let allowed = records.iter().position(|record| record.kind == 11).unwrap();
    for index in [0, 5, allowed, allowed + 2] {
        for at in [index + 1, records.len()] {
            let mut twice = records.clone();
            twice.insert(at, records[index]);
            let said = check(&log(&header, &twice, 0)).expect_err("twice").to_string();
            assert!(said.contains("is there twice"), "{said}");
        }
    }
}

/// A task without an id forks, or a task gets its id late. Under rr it does not matter whose child a task is.
#[test]
fn the_parent_of_a_fork_may_be_unknown() {
    let (header, mut records) = sample("rr", 2, 600);
    let fork = records.iter().position(|record| record.kind == 18).unwrap();
    records.iter_mut().filter(|record| record.kind == 18).for_each(|record| record.answer = 0);
    assert!(matches!(check(&log(&header, &records, 0)).unwrap().verdict, Verdict::Ok));
    records[fork].answer = header.pool + 1;
    let said = check(&log(&header, &records, 0)).expect_err("no such id").to_string();
    assert!(said.contains("out of range"), "{said}");
}

#[test]
fn events_are_told_in_words() {
    let (header, records) = sample("cfs", 2, 600);
    let file = Scratch::new(&log(&header, &records, 0));
    let mut lines = Vec::new();
    verify(&file.0, &mut |told| {
        lines.push(told.to_string());
        Ok(())
    })
    .unwrap();
    assert_eq!(lines.len(), 600);
    let has = |text: &str| assert!(lines.iter().any(|line| line.contains(text)), "{text}");
    for text in [
        "dispatch    CPU 1 -> task ",
        "-> nothing",
        "enqueue     task ",
        "for the first time",
        "asked",
        "CPUs 0-1",
    ] {
        has(text);
    }
}

/// Those that the command's tests verify, by a link in this crate. DIVVY_WRITE_SAMPLES=1 writes them.
#[cfg(target_endian = "little")]
#[test]
fn the_commands_samples_are_of_these_policies() {
    let dir = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/samples"));
    let (header, records) = sample("sfs+procfair", 2, 60);
    let ok = log(&header, &records, 0);
    let mut changed = records.clone();
    let dispatch = changed.iter_mut().filter(|record| record.kind == 6 && record.id > 0).nth(3).unwrap();
    (dispatch.id, dispatch.answer) = (9, 9);
    let mut dropped = records.clone();
    dropped.remove(40);
    let mut early = records.clone();
    early[30].now = 1;
    for (name, bytes) in [
        ("cut.log", ok[..1000].to_vec()),
        ("mismatch.log", log(&header, &changed, 0)),
        ("dropped.log", log(&header, &dropped, 1)),
        ("early.log", log(&header, &early, 0)),
        ("ok.log", ok),
    ] {
        if std::env::var_os("DIVVY_WRITE_SAMPLES").is_some() {
            std::fs::write(dir.join(name), &bytes).unwrap();
        }
        assert!(std::fs::read(dir.join(name)).unwrap() == bytes, "{name}: run with DIVVY_WRITE_SAMPLES=1");
    }
}

/// Records that are nearly right, of few tasks, so that they get far into the machine.
fn hostile() -> impl Strategy<Value = Record> {
    let number = prop_oneof![Just(0), 1..6u32, any::<u32>()];
    let value = prop_oneof![Just(0), Just(1 << 20), Just(1 << 40), 1..2000u64, any::<u64>()];
    (0..23u8, number.clone(), number, value, prop_oneof![0..3u16, any::<u16>()], 0..4u8).prop_map(
        |(kind, id, answer, value, cpu, why)| Record {
            kind,
            id,
            answer,
            value,
            cpu,
            why,
            ..Record::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The machine returns from every event that the validator lets through.
    #[test]
    fn hostile_records_do_no_harm(
        spec in prop::sample::select(specs()),
        mut records in prop::collection::vec(hostile(), 0..1000),
        step in 0..1u64 << 50,
        words in any::<[u64; 4]>(),
    ) {
        let header = Header { spec, cpus: 3, pool: 5, quantum_ns: 1000, shards: Vec::new() };
        let mut replay = Replay::new(&header, 64).unwrap();
        let mut mask = CpuMask::default();
        words.into_iter().enumerate().for_each(|(index, word)| mask.set_word(index, word));
        for (index, record) in records.iter_mut().enumerate() {
            record.now = index as u64 * step;
            if let Ok(told) = replay.read(&Entry { number: 1, record: *record }, mask.clone()) {
                replay.tell(told);
            }
        }
    }

    #[test]
    fn hostile_bytes_do_no_harm(mut damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        let (header, records) = sample("eevdf+procfair", 2, 200);
        let mut bytes = log(&header, &records, 0);
        for (index, byte) in damage.drain(..) {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = check(&bytes);
    }
}
