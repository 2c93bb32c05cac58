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
    assert_eq!(outcome(&a_run_on(255), None), Ok(256));
    let error = outcome(&a_run_on(256), None).expect_err("refused");
    assert_eq!(error, "t.txt: the recording names CPU 256, and 256 can be simulated; give --cpus");
    assert_eq!(outcome(&a_run_on(4000), Some(4)), Ok(4));
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
