//! Recordings that cannot be replayed, and their error messages; and replays of a part of a recording.
use divvy_policy::spec;
use divvy_sim::replay::{ReplayOptions, replay};
use divvy_sim::run::Options;
use divvy_trace::{ReadOptions, read_bytes};

fn outcome(text: &str, cpus: Option<u32>) -> Result<u32, String> {
    let recording = read_bytes(text.as_bytes(), "t.txt", &ReadOptions::default()).expect("readable");
    let specs = spec::parse_list(&["rr".to_owned()], divvy_policy::all()).expect("a policy");
    let options = ReplayOptions { run: Options { cpus, ..Options::default() }, ..ReplayOptions::default() };
    replay("t.txt", &recording, &specs, &options, &()).map(|r| r.cpus).map_err(|e| e.to_string())
}

fn a_run_on(cpu: u32) -> String {
    format!(
        " swapper 0 [{cpu:03}] 1.000000: sched:sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
 a     7 [{cpu:03}] 1.000300: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=120
"
    )
}

#[test]
fn a_recording_in_which_nobody_runs() {
    let text = a_run_on(0);
    let error = outcome(text.lines().next().expect("a line"), None).expect_err("refused");
    assert!(error.starts_with("t.txt: no thread is seen to run"), "{error}");
}

#[test]
fn more_cpus_than_can_be_simulated_need_a_choice() {
    assert_eq!(outcome(&a_run_on(4095), None), Ok(4096));
    let error = outcome(&a_run_on(4096), None).expect_err("refused");
    assert_eq!(error, "t.txt: the recording names CPU 4096, and 4096 can be simulated; give --cpus");
    assert_eq!(outcome(&a_run_on(5000), Some(4)), Ok(4));
}

/// The error is that of the model against the whole recording, however short a part is replayed.
#[test]
fn a_short_replay_has_the_error_of_the_whole() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/compile-beside-interactive.perf.txt");
    let recording = divvy_trace::read(path.as_ref(), &ReadOptions::default()).expect("readable");
    let specs = spec::parse_list(&["rr".to_owned()], divvy_policy::all()).expect("a policy");
    let error = |duration_ns| {
        let options =
            ReplayOptions { run: Options { duration_ns, ..Options::default() }, ..Default::default() };
        let report = replay("t", &recording, &specs, &options, &()).expect("replayed");
        report.trace.and_then(|trace| trace.self_replay_error).expect("known")
    };
    assert_eq!(error(Some(500_000_000)), error(None));
}

/// A CPU for two hogs, which begin before the recording, and a server that answers within microseconds. One hog sleeps at the end: as
/// a job, it would be as long as the recording, but its start is not in there.
fn hogs_and_server() -> String {
    let mut text = String::new();
    let mut switch = |us: u64, prev: (&str, u32), state: &str, next: (&str, u32)| {
        text += &format!(
            " {} {} [000] 1.{us:06}: sched:sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={state} ==> next_comm={} next_pid={} next_prio=120\n",
            prev.0, prev.1, prev.0, prev.1, next.0, next.1
        );
        text.len()
    };
    let (hog, batch, server) = (("hog", 7), ("batch", 8), ("server", 9));
    let mut wakes = Vec::new();
    switch(0, hog, "R", batch);
    for turn in 0..60 {
        let us = 1000 + turn * 6000;
        switch(us, batch, "R", hog);
        wakes.push((switch(us + 3000, hog, "R", batch), us + 4000));
        switch(us + 4005, batch, "R", server);
        switch(us + 4105, server, "S", batch);
    }
    switch(362_000, batch, "S", hog);
    for (at, us) in wakes.into_iter().rev() {
        text.insert_str(
            at,
            &format!(
                " swapper 0 [001] 1.{us:06}: sched:sched_waking: comm=server pid=9 prio=120 target_cpu=000\n"
            ),
        );
    }
    text
}

/// Only jobs that the recording has as well are compared.
#[test]
fn the_error_of_a_replay_compares_the_same_jobs() {
    let recording =
        read_bytes(hogs_and_server().as_bytes(), "t.txt", &ReadOptions::default()).expect("readable");
    let specs = spec::parse_list(&["eevdf".to_owned()], divvy_policy::all()).expect("a policy");
    let report = replay("t", &recording, &specs, &ReplayOptions::default(), &()).expect("replayed");
    let trace = report.trace.expect("a trace");
    assert_eq!(trace.endless, ["hog"]);
    let error = trace.self_replay_error.expect("known");
    assert!(error < 1.0, "{error}"); // with the 177 ms of `batch` as one more job it would be 28
    let service = |name: &str| {
        let task = report.runs[0].tasks.iter().find(|task| task.name == name).expect("a task");
        task.service_ns
    };
    assert!(service("hog") > 150_000_000, "{}", service("hog"));
}

/// Under another policy, what never sleeps receives its share of the machine, not what it received in the recording.
#[test]
fn what_never_sleeps_uses_what_it_gets() {
    // `nice` received a quarter; under round-robin it receives half.
    let mut text = String::new();
    for turn in 0..100 {
        let us = turn * 4000;
        text += &format!(
            " nice 8 [000] 1.{us:06}: sched:sched_switch: prev_comm=nice prev_pid=8 prev_prio=125 prev_state=R ==> next_comm=hog next_pid=7 next_prio=120\n"
        );
        text += &format!(
            " hog 7 [000] 1.{:06}: sched:sched_switch: prev_comm=hog prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=nice next_pid=8 next_prio=125\n",
            us + 3000
        );
    }
    let recording = read_bytes(text.as_bytes(), "t.txt", &ReadOptions::default()).expect("readable");
    let specs = spec::parse_list(&["rr".to_owned()], divvy_policy::all()).expect("a policy");
    let report = replay("t", &recording, &specs, &ReplayOptions::default(), &()).expect("replayed");
    let share = |name: &str| {
        let tasks = &report.runs[0].tasks;
        let all: u64 = tasks.iter().map(|task| task.service_ns).sum();
        tasks.iter().find(|task| task.name == name).expect("a task").service_ns as f64 / all as f64
    };
    assert!((share("nice") - 0.5).abs() < 0.01, "{}", share("nice"));
}

/// Another thread that ran at the time of an interrupt is taken for the waker, as text cannot tell. The thread is ten times as fast in
/// the replay, so the server gets its requests ten times as fast, and they wait. With sleeps as recorded nothing of that happens.
#[test]
fn wakes_that_do_not_explain_the_recording_are_said() {
    let mut text = String::new();
    let mut line = |who: &str, cpu: u32, us: u64, event: &str| {
        text += &format!(" {who} [{cpu:03}] 1.{us:06}: sched:{event}\n")
    };
    let switch = |prev: (&str, u32), state: &str, next: (&str, u32)| {
        format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={state} ==> next_comm={} next_pid={} next_prio=120",
            prev.0, prev.1, next.0, next.1
        )
    };
    let (idle, hog, slow, server) = (("swapper", 0), ("hog", 7), ("slow", 8), ("server", 9));
    let mut us = 0;
    for turn in 0..60 {
        us += 3000 + turn * 7 % 11 * 1000; // no timer's sleeps
        line("hog 7", 0, us, &switch(hog, "R", slow));
        line("slow 8", 0, us + 900, "sched_waking: comm=server pid=9 prio=120 target_cpu=001");
        line("swapper 0", 1, us + 910, &switch(idle, "R", server));
        line("slow 8", 0, us + 1000, &switch(slow, if turn == 59 { "S" } else { "R" }, hog));
        line("server 9", 1, us + 2910, &switch(server, "S", idle));
    }
    let recording = read_bytes(text.as_bytes(), "t.txt", &ReadOptions::default()).expect("readable");
    let specs = spec::parse_list(&["rr".to_owned()], divvy_policy::all()).expect("a policy");
    let trace = replay("t", &recording, &specs, &ReplayOptions::default(), &())
        .expect("replayed")
        .trace
        .expect("a trace");
    let (error, fixed) =
        (trace.self_replay_error.expect("known"), trace.fixed_wakes_error.expect("far better"));
    assert!(error > 3.0 && fixed < 0.2, "{error} and {fixed}");
}
