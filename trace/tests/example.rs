//! The committed recording: read in both formats, and compared with the report of perf itself.

use divvy_trace::{Cause, Filter, Grade, ReadOptions, Recording, Step, WakePolicy, read, replayable, scrub};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

fn example(kind: &str) -> Recording {
    let path = path(&format!("compile-beside-interactive.perf.{kind}"));
    read(&path, &ReadOptions::default()).expect("the committed recording")
}

#[test]
fn both_formats_agree() {
    let (data, text) = (example("data"), example("txt"));
    assert_eq!(data.cpus, text.cpus);
    assert_eq!(data.span_ns, text.span_ns);
    // perf.data also names threads that only woke somebody; compare those that ran.
    let ran = |r: &Recording| r.threads.iter().filter(|t| t.run_ns > 0).cloned().collect::<Vec<_>>();
    let (data_threads, text_threads) = (ran(&data), ran(&text));
    assert_eq!(data_threads.len(), text_threads.len());
    for (a, b) in data_threads.iter().zip(&text_threads) {
        assert_eq!((a.tid, &a.name, a.process, a.run_ns), (b.tid, &b.name, b.process, b.run_ns));
        let times =
            |t: &divvy_trace::Thread| t.intervals.iter().map(|i| (i.start_ns, i.end_ns)).collect::<Vec<_>>();
        assert_eq!(times(a), times(b), "thread {}", a.tid);
    }
    assert_eq!(data.quality.switches, text.quality.switches);
    assert_eq!(data.quality.wakes, text.quality.wakes);
}

/// `perf sched timehist -s` (perf 6.1) on the same file: run time in ms, threads where no switch is missing.
/// For make it says 18.459 where the kernel's own account sums to 13.8: it gives make the idle time before each of its runs whose
/// switch out of idle is missing. Here that time is inferred.
#[test]
fn run_times_are_those_of_perf() {
    let recording = example("data");
    let run_us = |tid| recording.threads.iter().find(|t| t.tid == tid).expect("the thread").run_ns / 1000;
    for (tid, perf_us) in
        [(28262, 314_000u64), (28266, 54_761), (28267, 81_724), (28367, 60_815), (28379, 117_295)]
    {
        assert!(run_us(tid).abs_diff(perf_us) <= 1, "{tid}: {} against {perf_us}", run_us(tid));
    }
    assert!(run_us(28263).abs_diff(13_830) <= 100, "make: {}", run_us(28263));
    let total = recording.threads.iter().map(|t| t.run_ns).sum::<u64>() / 1000;
    assert!(total < 4_297_816, "perf's total has idle time in it");
    assert!(recording.quality.run_time_error().expect("the kernel's account").abs() < 0.001);
}

#[test]
fn it_is_good_enough_to_measure_by() {
    let quality = example("data").quality;
    assert_eq!(quality.grade(), Grade::A, "{:?}", quality.findings());
    assert_eq!((quality.lost_records, quality.malformed, quality.clock_backwards), (0, 0, 0));
    assert_eq!((quality.clock.as_str(), quality.kernel.as_str()), ("monotonic", "6.18.44"));
}

#[test]
fn its_program_is_what_it_was_made_of() {
    let recording = example("data");
    let replay = replayable(&recording, WakePolicy::Dependency);
    let count = |name: &str| replay.tasks.iter().filter(|t| t.name == name).count();
    assert_eq!(
        (count("gcc"), count("cc1"), count("as"), count("make"), count("interactive")),
        (40, 40, 40, 1, 1)
    );
    // A thread that wakes each 10 ms for 3 s, by an absolute timer: nearly all of its waits.
    let index = replay.tasks.iter().position(|t| t.name == "interactive").expect("the sleeper");
    let waits = replay.tasks[index]
        .steps
        .iter()
        .filter_map(|s| if let Step::Wait(cause) = s { Some(*cause) } else { None });
    let waits: Vec<Cause> = waits.collect();
    let periodic = waits.iter().filter(|c| matches!(c, Cause::Periodic { .. })).count();
    assert!(waits.len() >= 290 && periodic * 100 >= waits.len() * 95, "{periodic} of {}", waits.len());
    assert_eq!(replay.measured[index].service_ns / 1000, 314_000);
}

/// The file holds nobody else: scrubbing it again with the same threads changes nothing, and no other names are in it.
#[test]
fn it_names_nobody_else() {
    let recording = example("data");
    let root = Filter { names: vec!["compile-beside-".to_owned()], descendants: true, ..Filter::default() };
    let kept = recording.clone().keep(&root);
    assert_eq!(kept.removed_run_ns, 0);
    let tids: BTreeSet<i32> = kept.threads.iter().map(|t| t.tid).collect();
    let bytes = std::fs::read(path("compile-beside-interactive.perf.data")).expect("the file");
    let mut again = std::io::Cursor::new(Vec::new());
    let counts = scrub(std::io::Cursor::new(&bytes), &mut again, &tids).expect("a scrubbed file");
    assert_eq!(counts.samples, counts.kept);
    let names: BTreeSet<&str> =
        recording.threads.iter().flat_map(|t| [t.name.as_str(), t.first_name.as_str()]).collect();
    let expected = ["", "as", "cc1", "compile-beside-", "gcc", "interactive", "make", "perf-exec", "other"];
    assert!(names.iter().all(|n| expected.contains(n)), "{names:?}");
    assert!(
        bytes.len() as u64
            + std::fs::metadata(path("compile-beside-interactive.perf.txt")).expect("the text").len()
            < 2_000_000
    );
}
