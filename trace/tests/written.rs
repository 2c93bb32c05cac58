//! Recordings of the recorder's writer are read again, whole, cut or damaged.

mod common;

use common::{Event, Kind, Name, Random, Schedule, schedule};
use divvy_trace::{
    ErrorKind, Machine, Named, PerfWriter, ReadOptions, Recording, Stamp, TraceError, read_bytes,
};
use std::collections::BTreeSet;
use std::io::{Cursor, Write};

fn import(bytes: &[u8]) -> Result<Recording, TraceError> {
    read_bytes(bytes, "test", &ReadOptions::default())
}

fn machine() -> Machine {
    Machine {
        release: "6.12.1-hostname".to_owned(),
        architecture: "x86_64".to_owned(),
        online: 2,
        cpus: 2,
        knows_interrupts: true,
    }
}

fn names() -> Vec<Vec<u8>> {
    [&b"make"[..], b"a b", b"\xff\xfe", b"x ==> y"].map(<[u8]>::to_vec).to_vec()
}

fn named(name: &Name) -> Named {
    let mut comm = [0; 16];
    let length = name.comm.len().min(15);
    comm[..length].copy_from_slice(&name.comm[..length]);
    Named { tid: name.tid, prio: 120, comm }
}

fn stamp(event: &Event) -> Stamp {
    Stamp {
        t_ns: 5_000_000_000 + event.t_ns,
        cpu: event.cpu,
        process: event.current.tid / 2 * 2,
        tid: event.current.tid,
        flags: if event.interrupt { 0x08 } else { 0 },
    }
}

fn put<W: Write>(out: &mut PerfWriter<W>, events: &[Event]) {
    for event in events {
        let stamp = stamp(event);
        match &event.kind {
            Kind::Switch { prev, state, next } => {
                let states = [("R", 0), ("R+", 0x100), ("S", 1), ("D", 2), ("X", 0x10)];
                let (_, state) = states.into_iter().find(|(letter, _)| letter == state).expect("a state");
                let cgroup = u64::from(prev.tid as u32 % 3) + 1;
                out.switch(&stamp, &named(prev), state, &named(next), cgroup);
            }
            Kind::Waking { task } => out.waking(&stamp, &named(task), 0),
            Kind::WokenNew { task } => out.woken_new(&stamp, &named(task), 0),
            Kind::Fork { child } => {
                out.fork(&stamp, child.tid / 2 * 2, child.tid);
                out.comm(&stamp, child.tid / 2 * 2, child.tid, &named(child).comm, false);
            }
        }
    }
    (1..=3).for_each(|id| out.cgroup(id, format!("/group{id}").as_bytes()));
}

fn file(events: &[Event]) -> Vec<u8> {
    let mut out = PerfWriter::file(Cursor::new(Vec::new()), &machine()).expect("written");
    put(&mut out, events);
    out.finish().expect("written").into_inner()
}

fn stream(events: &[Event]) -> Vec<u8> {
    let mut out = PerfWriter::stream(Vec::new(), &machine()).expect("written");
    put(&mut out, events);
    out.end().expect("written")
}

fn assert_same(expected: &Schedule, got: &Recording) {
    let quality = &got.quality;
    let defects = [
        quality.malformed,
        quality.mismatches,
        quality.missing_wakes,
        quality.spurious_wakes,
        quality.lost_events,
    ];
    assert_eq!(defects, [0; 5]);
    assert_eq!((got.span_ns, got.threads.len()), (expected.span_ns, expected.threads.len()));
    for (thread, (name, intervals)) in got.threads.iter().zip(&expected.threads) {
        assert_eq!((thread.tid, &thread.intervals), (name.tid, intervals));
    }
}

#[test]
fn any_legal_schedule_comes_back_with_wakers_processes_and_cgroups() {
    for seed in 0..40 {
        let expected = schedule(seed, 300, 1 + seed as usize % 4, 1, &names());
        for bytes in [file(&expected.events), stream(&expected.events)] {
            let got = import(&bytes).expect("readable");
            assert_same(&expected, &got);
            assert_eq!((got.quality.clock.as_str(), got.quality.cut_at), ("monotonic", None));
            for thread in &got.threads {
                let path = thread.cgroup.map(|id| got.cgroups[&id].clone());
                let expected = format!("/group{}", thread.tid % 3 + 1);
                assert!(path.is_none_or(|path| path == expected), "{thread:?}");
            }
            let known = got.threads.iter().filter(|t| t.process == Some(t.tid / 2 * 2) && t.cgroup.is_some());
            assert!(known.count() * 2 > got.threads.len(), "those that ran");
        }
    }
}

/// Where the recorder does not know about interrupts, nobody takes its zeros for knowledge.
#[test]
fn what_is_not_known_about_interrupts_is_not_told() {
    let events = schedule(1, 300, 2, 1, &names()).events;
    for knows_interrupts in [true, false] {
        let mut out =
            PerfWriter::stream(Vec::new(), &Machine { knows_interrupts, ..machine() }).expect("written");
        put(&mut out, &events);
        let quality = import(&out.end().expect("written")).expect("readable").quality;
        assert_eq!(quality.interrupts_known, knows_interrupts);
    }
}

/// Losses and the kernel's account arrive.
#[test]
fn losses_and_cpu_time_arrive() {
    let task = named(&Name { tid: 7, comm: b"worker".to_vec() });
    let idle = named(&Name { tid: 0, comm: b"swapper/1".to_vec() });
    let mut out = PerfWriter::file(Cursor::new(Vec::new()), &machine()).expect("written");
    let at = |t_ns, tid| Stamp { t_ns, cpu: 1, process: tid, tid, flags: 0 };
    out.comm(&Stamp::default(), 7, 7, &task.comm, false);
    out.switch(&at(1000, 0), &idle, 0, &task, 1);
    out.runtime(&at(5000, 7), &task, 4000);
    out.switch(&at(5000, 7), &task, 1, &idle, 1);
    out.lost(&at(6000, 0), 34);
    out.switch(&at(7000, 0), &idle, 0, &task, 1);
    out.exit(&at(8000, 7), 7, 7);
    out.switch(&at(9000, 7), &task, 0x20, &idle, 1);
    let got = import(&out.finish().expect("written").into_inner()).expect("readable");
    assert_eq!((got.quality.lost_events, got.quality.kernel_run_ns), (34, 4000));
    let loss = got.losses[0];
    assert_eq!((got.losses.len(), loss.cpu.get(), loss.events), (1, 1, 34));
    let thread = got.threads.iter().find(|thread| thread.tid == 7).expect("the thread");
    assert_eq!((thread.name.as_str(), thread.process, thread.exited), ("worker", Some(7), true));
}

/// A file whose recorder was killed: all that was written is used, with names, births and the kernel's account; and wherever
/// it ends, it is an error or a recording.
#[test]
fn a_file_without_its_end_is_used_up_to_there() {
    let expected = schedule(5, 60, 2, 1, &names());
    let whole = file(&expected.events);
    let mut killed = PerfWriter::file(Cursor::new(Vec::new()), &machine()).expect("written");
    put(&mut killed, &expected.events);
    let killed = killed.end().expect("written").into_inner();
    let got = import(&killed).expect("readable");
    assert_same(&expected, &got);
    assert!(got.quality.cut_at.is_some() && !got.quality.guessed);
    let mut readable = 0;
    for length in 0..whole.len() {
        match import(&whole[..length]) {
            Ok(recording) => {
                assert!(
                    recording.quality.cut_at.is_some()
                        && recording.threads.len() <= expected.threads.len() + 1
                );
                readable += 1;
            }
            Err(error) => assert!(!error.message.is_empty()),
        }
    }
    assert!(readable > whole.len() / 4, "{readable} of {}", whole.len());
}

/// Damage anywhere is an error or a recording.
#[test]
fn ten_thousand_mutations() {
    let events = schedule(9, 60, 2, 1, &names()).events;
    let wholes = [file(&events), stream(&events)];
    let mut random = Random(17);
    for round in 0..10_000 {
        let mut damaged = wholes[round % 2].clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(damaged.len());
            damaged[at] = match random.below(3) {
                0 => damaged[at] ^ 1 << random.below(8),
                1 => 0xff,
                _ => random.below(256) as u8,
            };
        }
        if random.below(8) == 0 {
            damaged.truncate(random.below(damaged.len()));
        }
        match import(&damaged) {
            Ok(recording) => assert!(recording.threads.len() < 1000),
            Err(error) => assert_ne!(error.kind, ErrorKind::Io, "{error}"),
        }
    }
}

/// The release stands before the records, and is not carried over when a recording is made fit to be shown.
#[test]
fn a_scrubbed_copy_has_no_local_release() {
    let expected = schedule(5, 200, 2, 1, &names());
    let keep: BTreeSet<i32> = expected.threads.iter().map(|(name, _)| name.tid).collect();
    let mut out = Cursor::new(Vec::new());
    let bytes = file(&expected.events);
    assert!(bytes.windows(8).any(|text| text == b"hostname"));
    divvy_trace::scrub(Cursor::new(&bytes), &mut out, &keep).expect("scrubbed");
    let scrubbed = out.into_inner();
    assert!(!scrubbed.windows(8).any(|text| text == b"hostname"));
    assert_eq!(import(&scrubbed).expect("readable").quality.mismatches, 0);
}
