//! Tiny traces with intervals worked out by hand.

use divvy_trace::{Activity, Grade, Interval, Queued, ReadOptions, Recording, State, Wake, read_bytes};

fn recording(text: &str) -> Recording {
    read_bytes(text.as_bytes(), "test", &ReadOptions::default()).expect("a readable trace")
}

/// A thread's intervals as text: `R0 100-200` run on CPU 0, `W` woken and waiting, `P` preempted, `N` new, `B` blocked with
/// who ended it, `?` unknown; `~` censored, `!` inferred. Times are in microseconds.
fn life(recording: &Recording, tid: i32) -> Vec<String> {
    let thread = recording.threads.iter().find(|t| t.tid == tid).expect("the thread");
    thread.intervals.iter().map(show).collect()
}

fn show(interval: &Interval) -> String {
    let what = match interval.activity {
        Activity::Run { cpu } => format!("R{cpu}"),
        Activity::Wait { why: Queued::Woken } => "W".to_owned(),
        Activity::Wait { why: Queued::Preempted } => "P".to_owned(),
        Activity::Wait { why: Queued::New } => "N".to_owned(),
        Activity::Blocked { state, wake } => {
            let state = if state == State::Disk { "D" } else { "" };
            match wake {
                Wake::By(by) => format!("B{state}<{by}"),
                Wake::Interrupt => format!("B{state}<irq"),
                Wake::Never => format!("B{state}"),
                other => format!("B{state}<{other:?}"),
            }
        }
        Activity::Unknown => "?".to_owned(),
    };
    let marks = [(interval.censored, "~"), (interval.inferred, "!")];
    let marks: String = marks.iter().filter(|(on, _)| *on).map(|(_, mark)| *mark).collect();
    format!("{what}{marks} {}-{}", interval.start_ns / 1000, interval.end_ns / 1000)
}

#[test]
fn two_threads_share_a_cpu() {
    let recording = recording(
        "
 swapper     0 [000]    10.000000: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=000
 swapper     0 [000]    10.000010: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
       a     7 [000]    10.000100: sched:sched_waking: comm=b pid=8 prio=110 target_cpu=000
       a     7 [000]    10.000150: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=b next_pid=8 next_prio=110
       b     8 [000]    10.000250: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=110 prev_state=D ==> next_comm=a next_pid=7 next_prio=120
 swapper     0 [000]    10.000300: sched:sched_waking: comm=b pid=8 prio=110 target_cpu=000
       a     7 [000]    10.000400: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=110
       b     8 [000]    10.000500: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=110 prev_state=X ==> next_comm=swapper/0 next_pid=0 next_prio=120
",
    );
    assert_eq!(
        life(&recording, 7),
        ["B<irq~ 0-0", "W 0-10", "R0 10-150", "P 150-250", "R0 250-400", "B~ 400-500"]
    );
    assert_eq!(
        life(&recording, 8),
        ["B<0~ 0-100", "W 100-150", "R0 150-250", "BD<irq 250-300", "W 300-400", "R0 400-500"]
    );
    let (a, b) = (&recording.threads[0], &recording.threads[1]);
    assert_eq!((a.run_ns, b.run_ns, recording.span_ns, recording.cpus), (290_000, 200_000, 500_000, 1));
    assert!(b.exited && !a.exited);
    assert_eq!((a.prio, b.prio), (Some(120), Some(110)));
    assert_eq!(
        (recording.quality.switches, recording.quality.wakes, recording.quality.mismatches),
        (5, 3, 0)
    );
    assert_eq!(recording.quality.grade(), Grade::B, "text does not tell interrupts");
}

#[test]
fn a_number_used_again_is_another_thread() {
    let recording = recording(
        "
 p     5 [000] 1.000000: sched:sched_process_fork: comm=p pid=5 child_comm=p child_pid=9
 p     5 [000] 1.000010: sched:sched_wakeup_new: comm=p pid=9 prio=120 target_cpu=001
 swapper 0 [001] 1.000020: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=9 next_prio=120
 c     9 [001] 1.000050: sched:sched_switch: prev_comm=c prev_pid=9 prev_prio=120 prev_state=Z ==> next_comm=swapper/1 next_pid=0 next_prio=120
 p     5 [000] 1.000060: sched:sched_process_fork: comm=p pid=5 child_comm=p child_pid=9
 p     5 [000] 1.000070: sched:sched_wakeup_new: comm=p pid=9 prio=120 target_cpu=001
 swapper 0 [001] 1.000075: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=d next_pid=9 next_prio=120
 d     9 [001] 1.000080: sched:sched_switch: prev_comm=d prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
",
    );
    let nines: Vec<_> = recording.threads.iter().filter(|t| t.tid == 9).collect();
    assert_eq!(nines.len(), 2);
    assert_eq!(nines[0].name, "c");
    assert_eq!(nines[1].name, "d");
    // The first fork opens the trace: before the first other event it only tells who is who, so time starts at 10 us.
    assert_eq!(nines[0].intervals.iter().map(show).collect::<Vec<_>>(), ["N 0-10", "R1 10-40"]);
    assert_eq!(nines[1].intervals.iter().map(show).collect::<Vec<_>>(), ["N 60-65", "R1 65-70", "B~ 70-70"]);
    let parent = nines[1].parent.expect("a parent");
    assert_eq!(recording.threads[parent].tid, 5);
}

/// Exec by the second thread of a process: the kernel ends the first one, and gives its number to the second.
#[test]
fn exec_by_another_thread_than_the_first() {
    let recording = recording(
        "
 swapper   0/0   [001] 5.000000: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=101 next_prio=120
 app     100/101 [001] 5.000005: sched:sched_waking: comm=app pid=100 prio=120 target_cpu=000
 app     100/101 [001] 5.000010: sched:sched_switch: prev_comm=app prev_pid=101 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
 swapper   0/0   [000] 5.000015: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=100 next_prio=120
 app     100/100 [000] 5.000020: sched:sched_waking: comm=app pid=101 prio=120 target_cpu=001
 app     100/100 [000] 5.000025: sched:sched_switch: prev_comm=app prev_pid=100 prev_prio=120 prev_state=Z ==> next_comm=swapper/0 next_pid=0 next_prio=120
 swapper   0/0   [001] 5.000030: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=101 next_prio=120
 app     100/100 [001] 5.000050: task:task_rename: pid=100 oldcomm=app newcomm=cc1 oom_score_adj=0
 cc1     100/100 [001] 5.000100: sched:sched_switch: prev_comm=cc1 prev_pid=100 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
 swapper   0/0   [001] 5.000120: sched:sched_waking: comm=cc1 pid=100 prio=120 target_cpu=001
 swapper   0/0   [001] 5.000130: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cc1 next_pid=100 next_prio=120
 cc1     100/100 [001] 5.000140: sched:sched_switch: prev_comm=cc1 prev_pid=100 prev_prio=120 prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120
",
    );
    let quality = &recording.quality;
    assert_eq!((quality.mismatches, quality.inferred_runs, quality.overlaps), (0, 0, 0));
    let runs: Vec<_> =
        recording.threads.iter().map(|thread| (thread.tid, thread.name.as_str(), thread.run_ns)).collect();
    assert_eq!(runs, [(100, "cc1", 90_000), (100, "app", 10_000)]);
}

/// The first thread may have left its CPU for the last time only after the exchange. The kernel tells then that the second one's
/// number dies, and it makes no difference which CPU's event comes first.
#[test]
fn exec_while_the_first_thread_runs_its_last() {
    let begin = "
 swapper   0/0   [001] 5.000000: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=101 next_prio=120
 app     100/101 [001] 5.000005: sched:sched_waking: comm=app pid=100 prio=120 target_cpu=000
 swapper   0/0   [000] 5.000015: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=100 next_prio=120
 app     100/100 [000] 5.000020: sched:sched_process_exit: comm=app pid=100 prio=120
";
    let first = " app     100/101 [000] 5.000030: sched:sched_switch: prev_comm=app prev_pid=101 prev_prio=120 prev_state=X ==> next_comm=swapper/0 next_pid=0 next_prio=120\n";
    let second = " app     100/100 [001] 5.000030: task:task_rename: pid=100 oldcomm=app newcomm=cc1 oom_score_adj=0\n";
    let end = " cc1     100/100 [001] 5.000100: sched:sched_switch: prev_comm=cc1 prev_pid=100 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n";
    for middle in [[first, second], [second, first]] {
        let recording = recording(&format!("{begin}{}{end}", middle.concat()));
        let quality = &recording.quality;
        assert_eq!((quality.mismatches, quality.inferred_runs, quality.overlaps), (0, 0, 0));
        let runs: Vec<_> = recording
            .threads
            .iter()
            .map(|thread| (thread.tid, thread.name.as_str(), thread.run_ns))
            .collect();
        assert_eq!(runs, [(100, "cc1", 100_000), (101, "app", 15_000)]);
    }
}

/// The first thread may have been preempted after its exit, and come on a CPU for the last time with the number of the second one, while
/// that runs.
#[test]
fn exec_while_the_first_thread_waits_to_leave_for_good() {
    let recording = recording(
        "
 swapper   0/0   [001] 5.000000: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=101 next_prio=120
 app     100/101 [001] 5.000005: sched:sched_waking: comm=app pid=100 prio=120 target_cpu=000
 swapper   0/0   [000] 5.000015: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=100 next_prio=120
 app     100/100 [000] 5.000020: sched:sched_process_exit: comm=app pid=100 prio=120
 app     100/100 [000] 5.000025: sched:sched_switch: prev_comm=app prev_pid=100 prev_prio=120 prev_state=R ==> next_comm=other next_pid=7 next_prio=120
 other     7/7   [000] 5.000030: sched:sched_switch: prev_comm=other prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=app next_pid=101 next_prio=120
 app     100/101 [000] 5.000035: sched:sched_switch: prev_comm=app prev_pid=101 prev_prio=120 prev_state=X ==> next_comm=swapper/0 next_pid=0 next_prio=120
 app     100/100 [001] 5.000100: sched:sched_switch: prev_comm=app prev_pid=100 prev_prio=120 prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=120
",
    );
    let quality = &recording.quality;
    assert_eq!((quality.mismatches, quality.inferred_runs, quality.overlaps), (0, 0, 0));
    let runs: Vec<_> = recording.threads.iter().map(|thread| (thread.tid, thread.run_ns)).collect();
    assert_eq!(runs, [(100, 100_000), (101, 15_000), (7, 5_000)]);
}

/// The switch from idle to thread 7 is missing. Its run is neither the whole gap nor nothing.
#[test]
fn a_missing_switch_out_of_idle() {
    let lines = |runtime: &str| {
        format!(
            "
 a     7 [000] 1.000000: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
{runtime}
 a     7 [000] 1.001000: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
"
        )
    };
    // The kernel's account says how long it ran.
    let accounted = recording(&lines(
        " a     7 [000] 1.000999: sched:sched_stat_runtime: comm=a pid=7 runtime=200000 [ns]",
    ));
    assert_eq!(life(&accounted, 7), ["B<Missing 0-800", "R0! 800-1000", "B~ 1000-1000"]);
    // Another event shows it there.
    let shown = recording(&lines(
        " a     7 [000] 1.000900: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000",
    ));
    assert_eq!(life(&shown, 7), ["B<Missing 0-900", "R0! 900-1000", "B~ 1000-1000"]);
    // Both: the account says more, and it can be right.
    let both = " a     7 [000] 1.000900: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000
 a     7 [000] 1.000999: sched:sched_stat_runtime: comm=a pid=7 runtime=300000 [ns]";
    assert_eq!(life(&recording(&lines(both)), 7), ["B<Missing 0-700", "R0! 700-1000", "B~ 1000-1000"]);
    // Nothing: half of it.
    let nothing = recording(&lines(""));
    assert_eq!(life(&nothing, 7), ["B<Missing 0-500", "R0! 500-1000", "B~ 1000-1000"]);
    let quality = &nothing.quality;
    assert_eq!(
        (quality.mismatches, quality.idle_exits_missing, quality.missing_wakes, quality.inferred_runs),
        (1, 1, 1, 2)
    );
    assert_eq!(quality.inferred_ns, 500_000);
}

/// On CPU 0 the switch from a to b is missing: a was last shown at 300, b leaves at 1000.
#[test]
fn a_missing_switch_between_threads() {
    let recording = recording(
        "
 swapper 0 [000] 1.000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
 a     7 [000] 1.000300: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000
 b     8 [000] 1.000700: sched:sched_waking: comm=c pid=9 prio=120 target_cpu=000
 b     8 [000] 1.001000: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a next_pid=7 next_prio=120
 a     7 [000] 1.001100: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
",
    );
    assert_eq!(life(&recording, 7), ["R0! 0-300", "?~ 300-1000", "R0 1000-1100", "B~ 1100-1100"]);
    assert_eq!(life(&recording, 8), ["B<0~ 0-300", "W 300-700", "R0! 700-1000", "B~ 1000-1100"]);
    assert_eq!((recording.quality.mismatches, recording.quality.idle_exits_missing), (1, 0));
}

#[test]
fn a_thread_is_never_on_two_cpus() {
    let recording = recording(
        "
 swapper 0 [000] 1.000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
 swapper 0 [001] 1.000400: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
 a     7 [001] 1.000500: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120
",
    );
    assert_eq!(life(&recording, 7), ["R0 0-400", "R1 400-500"]);
    assert_eq!((recording.quality.overlaps, recording.threads[0].migrations), (1, 1));
}

#[test]
fn spurious_wakes_change_nothing_and_are_counted() {
    let recording = recording(
        "
 swapper 0 [000] 1.000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
 swapper 0 [001] 1.000100: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=000
 a     7 [000] 1.001000: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=swapper/0 next_pid=0 next_prio=120
 swapper 0 [001] 1.001100: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=000
 swapper 0 [000] 1.001200: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
",
    );
    assert_eq!(life(&recording, 7), ["R0 0-1000", "P 1000-1200"]);
    assert_eq!(recording.quality.spurious_wakes, 2);
}

/// A waker on another CPU may be recorded just before the switch of the thread that goes to sleep.
#[test]
fn a_wake_that_races_with_the_sleep() {
    let recording = recording(
        "
 swapper 0 [001] 1.000000: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=w next_pid=5 next_prio=120
 swapper 0 [000] 1.000010: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
 w     5 [001] 1.000098: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=000
 a     7 [000] 1.000100: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
 swapper 0 [000] 1.000120: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
 a     7 [000] 1.000200: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
",
    );
    assert_eq!(
        life(&recording, 7),
        ["?~ 0-10", "R0 10-100", "B<0 100-100", "W 100-120", "R0 120-200", "B~ 200-200"]
    );
    assert_eq!(
        (recording.quality.spurious_wakes, recording.quality.missing_wakes, recording.quality.wakes),
        (0, 0, 1)
    );
}

/// Where both events are recorded, the wake is the decision; the later arrival on the queue adds nothing.
#[test]
fn waking_and_wakeup_of_one_wake() {
    let both = recording(
        "
 a 7 [000] 1.000000: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
 w 5 [001] 1.000100: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=000
 swapper 0 [000] 1.000110: sched:sched_wakeup: comm=a pid=7 prio=120 target_cpu=000
 swapper 0 [000] 1.000150: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
",
    );
    assert_eq!(life(&both, 7), ["B<1 0-100", "W 100-150"]);
    assert_eq!(both.quality.spurious_wakes, 0);
    let wakeup_only = recording(
        "
 a 7 [000] 1.000000: sched_switch: a:7 [120] S ==> swapper/0:0 [120]
 w 5 [001] 1.000100: sched_wakeup: a:7 [120] success=1 CPU:000
 swapper 0 [000] 1.000150: sched_switch: swapper/0:0 [120] R ==> a:7 [120]
",
    );
    assert_eq!(life(&wakeup_only, 7), ["B<1 0-100", "W 100-150"]);
}

#[test]
fn a_loss_ends_what_was_thought_to_go_on() {
    let recording = recording(
        "
 swapper 0 [000] 1.000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
 b     8 [000] 1.000050: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a next_pid=7 next_prio=120
 a     7 [000] 1.000100: sched:sched_stat_runtime: comm=a pid=7 runtime=50000 [ns]
 a     7 [000] 1.000500: PERF_RECORD_LOST lost 42
 a     7 [000] 1.000600: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000
 a     7 [000] 1.000700: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
 b     8 [000] 1.000900: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=X ==> next_comm=a next_pid=7 next_prio=120
",
    );
    assert_eq!(life(&recording, 7), ["?~ 0-50", "R0! 50-100", "?~ 100-600", "R0! 600-700", "P 700-900"]);
    assert_eq!(life(&recording, 8), ["R0 0-50", "B<1~ 50-600", "W 600-700", "R0 700-900"]);
    assert_eq!((recording.quality.lost_records, recording.quality.lost_events), (1, 42));
    assert_eq!(recording.quality.grade(), Grade::D, "42 of 49 events are gone");
}

#[test]
fn a_clock_that_runs_backwards_stands_still() {
    let recording = recording(
        "
 swapper 0 [000] 1.000100: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
 a     7 [000] 1.000300: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000
 a     7 [000] 1.000200: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120
 b     8 [000] 0.900000: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=000
 b     8 [000] 1.000400: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a next_pid=7 next_prio=120
",
    );
    assert_eq!(recording.span_ns, 300_000);
    assert_eq!(
        (recording.quality.clock_backwards, recording.quality.clock_backwards_max_ns),
        (2, 100_300_000)
    );
    assert_eq!(recording.quality.grade(), Grade::D);
    let ordered = |t: &divvy_trace::Thread| t.intervals.windows(2).all(|w| w[0].end_ns == w[1].start_ns);
    assert!(recording.threads.iter().all(ordered));
}

#[test]
fn totals_without_intervals() {
    let text = "
 swapper 0 [000] 1.000000: sched_switch: swapper/0:0 [120] R ==> a:7 [120]
 a 7 [000] 1.000150: sched_switch: a:7 [120] S ==> swapper/0:0 [120]
";
    let options = ReadOptions { intervals: false, ..ReadOptions::default() };
    let recording = read_bytes(text.as_bytes(), "test", &options).expect("readable");
    assert_eq!((recording.threads[0].run_ns, recording.threads[0].intervals.len()), (150_000, 0));
}
