//! Text that is not a trace, or only partly one.

use divvy_trace::{ErrorKind, Grade, Place, ReadOptions, TraceError, read, read_bytes};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const GOOD: &str = " swapper 0 [000] 1.000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
 a     7 [000] 1.000300: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

fn import(bytes: &[u8]) -> Result<divvy_trace::Recording, TraceError> {
    read_bytes(bytes, "x.txt", &ReadOptions::default())
}

fn refused(bytes: &[u8], kind: ErrorKind, says: &str) {
    let error = import(bytes).expect_err("refused");
    assert_eq!(error.kind, kind, "{error}");
    let text = error.to_string();
    assert!(text.starts_with("x.txt: ") && text.contains(says), "{text}");
    assert!(text.lines().count() <= 2, "{text}");
}

#[test]
fn what_is_no_trace_is_refused_with_advice() {
    refused(b"", ErrorKind::Empty, "the file is empty");
    refused(b"hello\nworld\n", ErrorKind::Foreign, "perf script --ns");
    refused(b"\x7fELF\x02\x01\x01\0\0\0\0", ErrorKind::Foreign, "binary file");
    refused(
        b"\x1f\x8b\x08\0",
        ErrorKind::Malformed,
        "the gzip data is damaged or cut after 0 unpacked bytes",
    );
    refused(
        b"\x28\xb5\x2f\xfd",
        ErrorKind::Malformed,
        "the zstd data is damaged or cut after 0 unpacked bytes",
    );
    refused(b"\x17\x08\x44tracing6\0", ErrorKind::Truncated, "byte 12");
    refused(b"\x17\x08\x44tracing9\0\0\x08\0\x10\0\0", ErrorKind::Unsupported, "trace-cmd report");
    refused(b"PERFILE2", ErrorKind::Truncated, "byte 8");
    refused(&vec![b'x'; 3 << 20], ErrorKind::Foreign, "line 1: no scheduler events");
    let others = " a 7 [000] 1.0: irq:irq_handler_entry: irq=1\n".repeat(50);
    refused(others.as_bytes(), ErrorKind::Foreign, "no scheduler events in 50 lines");
    let no_switch = " a 7 [000] 1.000000: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000\n";
    refused(no_switch.as_bytes(), ErrorKind::Empty, "perf sched record");
    let error = read("/nonexistent/trace".as_ref(), &ReadOptions::default()).expect_err("refused");
    assert_eq!((error.kind, error.file.as_str()), (ErrorKind::Io, "/nonexistent/trace"));
    let error = read("/".as_ref(), &ReadOptions::default()).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Io);
}

#[test]
fn damaged_lines_are_counted_and_placed() {
    let mut text = format!("# {}\n{GOOD}", "-".repeat(600)).into_bytes();
    text.extend(b" a 7 [000] 1.000400: sched:sched_waking: comm=b\0 pid=8 prio=120 target_cpu=000\n"); // line 4
    text.extend(b" a 7 [000] 1.000500: sched:sched_waking: comm=b pid=eight\n"); // line 5
    text.extend(b" a 7 [000] 1.000600: sched:sched_waking: ");
    text.extend(vec![b'y'; 1 << 20]); // line 6: no name is that long
    text.extend(b"\n");
    text.extend(GOOD.replace("1.000", "2.000").as_bytes());
    let recording = import(&text).expect("readable");
    let quality = &recording.quality;
    assert_eq!((quality.malformed, quality.first_malformed_line, quality.switches), (3, 4, 4));
    assert_eq!(quality.grade(), Grade::D);
    assert!(quality.findings()[0].text.contains("line 4"));
}

#[test]
fn too_many_threads_is_an_error_with_its_line() {
    let mut text = GOOD.to_owned();
    for tid in 100..120 {
        text += &format!(
            " a 7 [000] 1.0004{tid}: sched:sched_waking: comm=b pid={tid} prio=120 target_cpu=000\n"
        );
    }
    let options = ReadOptions { max_threads: 10, ..ReadOptions::default() };
    let error = read_bytes(text.as_bytes(), "x.txt", &options).expect_err("refused");
    assert_eq!((error.kind, error.place), (ErrorKind::TooLarge, Some(Place::Line(12)))); // 7, then 100..=108 fill up
    let options = ReadOptions { max_intervals: 3, ..ReadOptions::default() };
    let error = read_bytes(text.as_bytes(), "x.txt", &options).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::TooLarge);
}

/// Numbers at the edge of what fits must neither panic nor allocate.
#[test]
fn absurd_numbers() {
    for line in [
        " a 7 [4294967295] 1.0: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000",
        " a 7 [000] 18446744073.999999999: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000",
        " a 7 [99999999999999999999999] 1.0: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000",
        " a 7 [000] 999999999999999999.0: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000",
        " a 2147483647 [000] 1.0: sched:sched_waking: comm=b pid=-2147483648 prio=-32768 target_cpu=000",
        " a 7 [000] 1.0: sched:sched_stat_runtime: comm=a pid=7 runtime=18446744073709551615 [ns]",
        " a 7 [000] 1.0: sched:sched_waking: comm=b pid=99999999999999999999 prio=120 target_cpu=000",
        " a 7 [000] 1.0: PERF_RECORD_LOST lost 18446744073709551615",
        "CPU:99999 [LOST 1 EVENTS]",
    ] {
        import(format!("{GOOD}{line}\n{line}\n{GOOD}").as_bytes()).expect(line);
    }
}

/// `perf script` prints an event's stack under it. However deep, the event is whole.
#[test]
fn stacks_do_not_damage_their_event() {
    let frame = format!("\t ffffffff8100 {} ([kernel.kallsyms])\n", "f".repeat(400));
    let (first, second) = GOOD.split_once('\n').expect("two lines");
    let recording = import(format!("{first}\n{}\n{second}", frame.repeat(127)).as_bytes()).expect("readable");
    assert_eq!((recording.quality.switches, recording.quality.malformed), (2, 0));
}

/// An event without its end, and lines after it that may all belong to its name: each is looked at a few times, not each
/// time that another follows. (Minutes, if that is lost.)
#[test]
fn imitated_headers_cost_no_more_than_their_length() {
    let open = " a 7 [000] 1.000400: sched:sched_switch: prev_comm=a\n";
    let text = format!("{GOOD}{}", format!("{open}{}", "1 [0] 1.0: x:\n".repeat(1100)).repeat(60));
    let recording = import(text.as_bytes()).expect("readable");
    assert_eq!((recording.quality.switches, recording.quality.malformed), (2, 60));
    let text = format!("{GOOD}{}", format!("x {}\n", "[1]".repeat(5000)).repeat(60));
    assert_eq!(import(text.as_bytes()).expect("readable").quality.switches, 2);
}

/// A time that is far ahead of all others is damaged: a replay would take that long.
#[test]
fn three_months_are_no_recording() {
    let late = GOOD.replace(" 1.000", " 8000000.000");
    let recording = import(format!("{GOOD}{late}").as_bytes()).expect("readable");
    assert_eq!((recording.span_ns, recording.quality.malformed), (300_000, 2));
}

#[test]
fn the_kernels_own_text() {
    let recording = import(
        b"# tracer: nop
#
#           TASK-PID    (  TGID) CPU#  |||||  TIMESTAMP  FUNCTION
          <idle>-0       (-----) [001] d.h4.    10.000000: sched_waking: comm=my app pid=7 prio=120 target_cpu=001
          <idle>-0       (-----) [001] d..2.    10.000010: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my app next_pid=7 next_prio=120
CPU:0 [LOST 34 EVENTS]
        kworker-8       (   6)   [000] d..2.    10.000020: sched_waking: comm=x pid=9 prio=120 target_cpu=001
          my app-7      (   6)   [001] d..2.    10.000030: sched_switch: prev_comm=my app prev_pid=7 prev_prio=120 prev_state=D|K ==> next_comm=x next_pid=9 next_prio=120
",
    )
    .expect("readable");
    assert_eq!((recording.cpus, recording.quality.lost_events), (2, 34));
    assert!(recording.quality.interrupts_known);
    let app = &recording.threads[0];
    assert_eq!((app.name.as_str(), app.process, app.run_ns), ("my app", Some(6), 20_000));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Lines cut, doubled, spliced and overwritten at random: never a panic, and intervals stay in order.
    #[test]
    fn damaged_text(cuts in prop::collection::vec((0usize..400, 0usize..400, any::<u8>()), 0..12)) {
        let mut text = GOOD.repeat(3).into_bytes();
        for (from, to, byte) in cuts {
            let (from, to) = (from.min(text.len() - 1), to.min(text.len() - 1));
            if from < to {
                let piece = text[from..to].to_vec();
                text.splice(to..to, piece);
            } else {
                text[to] = byte;
            }
        }
        if let Ok(recording) = import(&text) {
            for thread in &recording.threads {
                prop_assert!(thread.intervals.windows(2).all(|w| w[0].end_ns <= w[1].start_ns));
                prop_assert!(thread.intervals.iter().all(|i| i.start_ns <= i.end_ns && i.end_ns <= recording.span_ns));
            }
        }
    }

    /// Bytes of any kind.
    #[test]
    fn noise(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = import(&bytes);
    }
}
