//! The gaps of a recording stay visible: in its grade, and after it was written in another format.

mod common;

use common::text::{self, Style};
use common::{Random, schedule};
use divvy_results::schedule::{Schedule, State};
use divvy_trace::{
    Activity, Grade, Quality, ReadOptions, Recording, Wake, read_bytes, write_chrome, write_perf_script,
    write_perfetto,
};

fn import(bytes: &[u8]) -> Recording {
    read_bytes(bytes, "test", &ReadOptions::default()).expect("a readable trace")
}

/// Written as text and as Perfetto, and read again.
fn again(schedule: &Schedule) -> [Recording; 2] {
    let (mut text, mut perfetto) = (Vec::new(), Vec::new());
    write_perf_script(schedule, &mut text).expect("written");
    write_perfetto(schedule, &mut perfetto).expect("written");
    [import(&text), import(&perfetto)]
}

/// Inferred time is a part of all run time, also where few threads have the kernel's account, or none has.
#[test]
fn inferred_time_is_a_part_of_all_run_time() {
    let text = "
 swapper 0 [000] 10.000000: sched:sched_switch: prev_comm=s prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
       a 7 [000] 10.999800: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=s next_pid=0 next_prio=120
       b 8 [000] 11.000000: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=s next_pid=0 next_prio=120
";
    let quality = import(text.as_bytes()).quality;
    assert_eq!((quality.all_run_ns, quality.inferred_ns), (999_900_000, 100_000));
    let findings = quality.findings();
    let inferred = findings.iter().find(|f| f.text.contains("inferred")).expect("a finding");
    assert_eq!((inferred.grade, inferred.text.as_str()), (Grade::A, "0.0 % of the run time was inferred."));
    let accounted =
        Quality { run_ns: 60_000, all_run_ns: 2_765_000_000, inferred_ns: 60_000, ..Quality::default() };
    assert!(accounted.findings().iter().all(|f| !f.text.contains("inferred") || f.grade == Grade::A));
}

/// A switch names a thread that runs on another CPU; then the first CPU names a third one. Nobody runs there before.
#[test]
fn two_threads_never_run_on_one_cpu() {
    let text = "
    kworker/1:2   129/129   [001]  1653.031481465: sched:sched_switch: prev_comm=kworker/1:2 prev_pid=129 prev_prio=120 prev_state=I ==> next_comm=tokio next_pid=69 next_prio=120
        python3 28876/28876 [000]  1653.031602681: sched:sched_switch: prev_comm=python3 prev_pid=28876 prev_prio=120 prev_state=R ==> next_comm=tokio next_pid=69 next_prio=120
    coordinator 28162/28927 [001]  1653.031667182: sched:sched_switch: prev_comm=lto prev_pid=28927 prev_prio=120 prev_state=R ==> next_comm=kworker/1:2 next_pid=129 next_prio=120
";
    let schedule = import(text.as_bytes()).schedule();
    let times: Vec<(u64, u64)> = schedule.cpus[1].iter().map(|slice| (slice.from_ns, slice.to_ns)).collect();
    assert_eq!(times, [(0, 121_216), (153_466, 185_717)]); // lto's start: half of what is left
    no_overlap(&schedule);
}

fn no_overlap(schedule: &Schedule) {
    for slices in &schedule.cpus {
        assert!(slices.windows(2).all(|pair| pair[0].to_ns <= pair[1].from_ns), "{slices:?}");
    }
}

/// Whatever lines are missing.
#[test]
fn slices_of_a_cpu_never_overlap() {
    let names: Vec<Vec<u8>> = [&b"make"[..], b"cc1", b"x"].iter().map(|n| n.to_vec()).collect();
    for seed in 0..300 {
        let whole = schedule(seed, 200, 1 + seed as usize % 4, 1000, &names);
        let mut random = Random(seed);
        let one_in = 2 + random.below(10);
        let mut some = whole.events.clone();
        some.retain(|_| random.below(one_in) > 0);
        let bytes = text::print(&some, Style::Kernel, 9, true);
        if let Ok(recording) = read_bytes(&bytes, "test", &ReadOptions::default()) {
            no_overlap(&recording.schedule());
            again(&recording.schedule()).iter().for_each(|recording| no_overlap(&recording.schedule()));
        }
    }
}

const LOSSY: &str = "
 swapper 0 [000] 10.000000: sched:sched_switch: prev_comm=s prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
       a 7 [000] 10.000100: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120
       b 8 [000] 10.000300: sched:sched_waking: comm=c pid=9 prio=120 target_cpu=000
       b 8 [000] 10.000700: PERF_RECORD_LOST lost 12
       a 7 [000] 10.000900: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120
       b 8 [000] 10.001000: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=s next_pid=0 next_prio=120
";

/// 12 of 18 events lost: the grade stays, and sleeps before the gap do not become waiting.
#[test]
fn converting_hides_no_loss_and_invents_no_wait() {
    let recording = import(LOSSY.as_bytes());
    assert_eq!(recording.quality.grade(), Grade::D);
    let schedule = recording.schedule();
    assert_eq!(schedule.losses.len(), 1);
    assert_eq!((schedule.losses[0].at_ns, schedule.losses[0].events), (300_000, 12));
    let left: Vec<State> = schedule.cpus[0].iter().map(|slice| slice.left).collect();
    assert_eq!(left, [State::Unknown, State::Unknown, State::Sleep, State::Sleep]);
    for (index, converted) in again(&schedule).iter().enumerate() {
        assert_eq!((converted.quality.grade(), converted.quality.lost_events), (Grade::D, 12), "{index}");
        assert_eq!(converted.quality.lost_records, 1);
        for (thread, original) in converted.threads.iter().filter_map(|thread| {
            Some((thread, recording.threads.iter().find(|other| other.tid == thread.tid)?))
        }) {
            let waits = |thread: &divvy_trace::Thread| {
                thread.intervals.iter().filter(|i| matches!(i.activity, Activity::Wait { .. })).count()
            };
            assert_eq!(waits(thread), waits(original), "{index} {}", thread.name);
            assert_eq!(thread.run_ns, original.run_ns, "{index} {}", thread.name);
        }
    }
    let mut chrome = Vec::new();
    write_chrome(&schedule, &mut chrome).expect("written");
    let chrome = String::from_utf8(chrome).expect("text");
    assert!(chrome.contains(r#""name":"12 events lost","pid":1,"tid":0,"ts":300.000"#), "{chrome}");
}

/// An interrupt woke it, not the thread that computes on CPU 0.
#[test]
fn text_blames_nobody_for_interrupts() {
    let text = "
       a-7    (    5) [000] d..2. 10.000000: sched_switch: prev_comm=x prev_pid=3 prev_prio=120 prev_state=S ==> next_comm=a next_pid=7 next_prio=120
       b-8    (    8) [001] d..2. 10.000010: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=c next_pid=9 next_prio=120
       a-7    (    5) [000] d.h2. 10.000200: sched_waking: comm=b pid=8 prio=120 target_cpu=001
       c-9    (    9) [001] d..2. 10.000210: sched_switch: prev_comm=c prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120
       a-7    (    5) [000] d..2. 10.000400: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=x next_pid=3 next_prio=120
";
    let recording = import(text.as_bytes());
    let wakers = |recording: &Recording| -> Vec<Wake> {
        let b = recording.threads.iter().find(|thread| thread.tid == 8).expect("b");
        let ends = b.intervals.iter().filter_map(|interval| match interval.activity {
            Activity::Blocked { wake, .. } => Some(wake),
            _ => None,
        });
        ends.collect()
    };
    assert_eq!(wakers(&recording), [Wake::Interrupt]);
    for converted in again(&recording.schedule()) {
        assert_eq!(wakers(&converted), [Wake::Interrupt]);
        let a = converted.threads.iter().find(|thread| thread.tid == 7).expect("a");
        assert_eq!(a.process, Some(5)); // processes survive
    }
}

/// 38 hours between two of four lines: nobody knows that `a` ran all the time, and a replay would take it for CPU time.
#[test]
fn a_long_silence_is_a_gap() {
    let text = "
 swapper 0 [000]      1.000000: sched:sched_switch: prev_comm=s prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
       a 7 [000]      1.000300: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120
       b 8 [000] 136800.000000: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a next_pid=7 next_prio=120
       a 7 [000] 136800.000300: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=s next_pid=0 next_prio=120
";
    let recording = import(text.as_bytes());
    assert_eq!((recording.quality.silences, recording.quality.grade()), (1, Grade::D));
    let run_ns: u64 = recording.threads.iter().map(|thread| thread.run_ns).sum();
    assert!(run_ns < 1_000_000, "{run_ns}");
    let short = text.replace("136800.", "600.");
    assert_eq!(import(short.as_bytes()).quality.silences, 0);
}
