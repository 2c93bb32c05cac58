//! A recording of programs in closed loops, made under one policy, says what they do under another: the simulator runs the
//! same programs there, and knows.

use divvy_policy::spec;
use divvy_results::report::{Report, TaskResult};
use divvy_results::schedule::Window;
use divvy_sim::replay::{ReplayOptions, replay};
use divvy_sim::run::{Options, simulate};
use divvy_trace::{ReadOptions, Recording, read_bytes, write_perfetto};

/// Tasks that block, two that wake each other among them, beside two that never do and one that is nice
const PROGRAMS: &str = r#"
cpus = 1
tick = "1ms"
duration = "121s"
task = [
  { name = "hog", count = 2, program = [ { run = "forever" } ] },
  { name = "batch", nice = 5, program = [ { run = "forever" } ] },
  { name = "editor", program = [ { loop = "forever", do = [ { sleep = "13ms" }, { run = { exp = "2ms" } } ] } ] },
  { name = "client", program = [ { loop = "forever", do = [ { run = { exp = "500us" } }, { wake = "server" }, { sleep = "7ms" } ] } ] },
  { name = "server", program = [ { loop = "forever", do = [ { wait = true }, { run = { exp = "1ms" } } ] } ] },
  { name = "long", program = [ { loop = "forever", do = [ { sleep = "50ms" }, { run = { exp = "12ms" } } ] } ] },
]
"#;
const POLICIES: [&str; 4] = ["rr", "sfq", "gr3", "eevdf"];
/// As `PROGRAMS` has it
const TICK_NS: u64 = 1_000_000;
/// The recording begins here.
const FROM_NS: u64 = 1_000_000_000;
/// For mean response and the share of the CPU, in percent: a goal that was set before it was measured.
const WITHIN: f64 = 15.0;

fn really(policy: &str) -> Report {
    let workload = divvy_workload::Workload::parse(PROGRAMS, "programs.toml").expect("a workload");
    let spec = spec::parse(policy, divvy_policy::all()).expect("a policy");
    let options = Options { schedule: Some(Window::WHOLE), ..Options::default() };
    simulate(&workload, &[spec], &options, &()).expect("it runs")
}

/// Without the first second, so that all threads are there from the start, as where one records a machine that works.
fn recorded(report: &Report) -> Recording {
    let mut schedule = report.runs[0].schedule.clone().expect("asked for");
    schedule.cpus.iter_mut().for_each(|slices| slices.retain(|slice| slice.from_ns >= FROM_NS));
    schedule.wakes.retain(|wake| wake.at_ns >= FROM_NS);
    let mut bytes = Vec::new();
    write_perfetto(&schedule, &mut bytes).expect("written");
    read_bytes(&bytes, "recording", &ReadOptions::default()).expect("a recording")
}

fn of<'a>(report: &'a Report, run: usize, name: &str) -> Vec<&'a TaskResult> {
    report.runs[run].tasks.iter().filter(|task| task.name.split(['/', ':']).next() == Some(name)).collect()
}

fn share(tasks: &[&TaskResult]) -> f64 {
    tasks.iter().map(|task| task.share).sum()
}

/// Adds a line for a value that is too far off.
fn near(far: &mut String, what: &str, is: f64, should: f64) {
    let percent = (is / should - 1.0) * 100.0;
    if percent.abs() > WITHIN {
        *far += &format!("{what}: {is} for {should}, {percent:+.0} %\n");
    }
}

/// Without repetition each of them had the share that the recorded policy gave it, whatever the policy.
#[test]
fn closed_loops_go_on_under_another_policy() {
    let specs = POLICIES.map(|policy| spec::parse(policy, divvy_policy::all()).expect("a policy"));
    let real = POLICIES.map(really);
    let mut far = String::new();
    for (by, report) in POLICIES.iter().zip(&real) {
        let recording = recorded(report);
        // Its slices do not end at ticks, so a recording under it does not show them: one says what they are.
        let options =
            ReplayOptions { tick_ns: (*by == "eevdf").then_some(TICK_NS), ..ReplayOptions::default() };
        let predicted = replay("recording", &recording, &specs, &options, &()).expect("it runs");
        let trace = predicted.trace.as_ref().expect("a trace");
        assert_eq!(trace.grade, 'A', "{by}: {:?}", trace.findings);
        for (run, (policy, real)) in POLICIES.iter().zip(&real).enumerate() {
            for name in ["hog", "batch", "editor", "client", "server", "long"] {
                let (is, should) = (of(&predicted, run, name), of(real, 0, name));
                let what = format!("{name} under {policy}, recorded under {by}");
                near(&mut far, &format!("share of {what}"), share(&is), share(&should));
                if should[0].jobs > 0 {
                    let mean = |tasks: &[&TaskResult]| tasks[0].response_ns.mean.expect("jobs");
                    near(&mut far, &format!("mean response of {what}"), mean(&is), mean(&should));
                }
            }
        }
    }
    assert!(far.is_empty(), "{far}");
}
