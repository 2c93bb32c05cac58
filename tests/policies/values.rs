//! The values that policies keep for each task, as traces show them: they are those of the papers' formulas, and looking
//! at them changes nothing.

use divvy_policy::spec;
use divvy_results::report::{Report, Run};
use divvy_results::schedule::{Counter, Schedule, Window, with_service_errors};
use divvy_sim::run::{Options, simulate};
use divvy_workload::Workload;

const MS: u64 = 1_000_000;

fn report(text: &str, specs: &[&str], schedule: Option<Window>) -> Report {
    let workload = Workload::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let specs: Vec<_> = specs
        .iter()
        .map(|text| spec::parse(text, divvy_policy::all()).unwrap_or_else(|e| panic!("{e}")))
        .collect();
    let options = Options { seed: 7, schedule, ..Options::default() };
    simulate(&workload, &specs, &options, &()).unwrap_or_else(|error| panic!("{error}"))
}

fn run(text: &str, spec: &str) -> Run {
    report(text, &[spec], Some(Window::WHOLE)).runs.remove(0)
}

fn schedule(run: &Run) -> &Schedule {
    run.schedule.as_ref().expect("asked for")
}

/// The counters of a value: one for each task that has it.
fn counters<'a>(schedule: &'a Schedule, value: &str) -> impl Iterator<Item = &'a Counter> {
    schedule.counters.iter().filter(move |counter| counter.number == value)
}

/// How a value of a task changed: time and number.
fn changes(run: &Run, value: &str, task: usize) -> Vec<(u64, i64)> {
    let mut of_task = counters(schedule(run), value).filter(|counter| *counter.task == *run.tasks[task].name);
    of_task.next().unwrap_or_else(|| panic!("{value}")).points.clone()
}

/// Service that a task received until a time, from the slices. Tasks have names of their own.
fn received_ns(schedule: &Schedule, task: &str, at_ns: u64) -> u64 {
    let task = schedule.tasks.iter().position(|t| *t.name == *task).expect("a task of this name") as u32;
    let parts = schedule.cpus.iter().flatten().filter(|slice| slice.task == task && slice.from_ns < at_ns);
    parts.map(|slice| slice.to_ns.min(at_ns) - slice.from_ns).sum()
}

const THREE_TO_ONE: &str = r#"
    quantum = "3ms"
    duration = "60ms"
    task = [
      { name = "A", weight = 3072, program = [ { run = "forever" } ] },
      { name = "B", weight = 1024, program = [ { run = "forever" } ] },
    ]
"#;

/// Start tags of weights 3 and 1, which are quanta over weight: 1, 2, 3.. and 3, 6.., in the order A B A A B A A A B of
/// the schedule. With equal tags the task that waited longer goes first.
#[test]
fn start_tags_of_the_example_are_counters() {
    let run = run(THREE_TO_ONE, "sfq");
    let quanta = |pairs: &[(u64, i64)]| {
        pairs.iter().map(|(at, tag)| (at * 3 * MS, tag * 1_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(changes(&run, "start tag", 0)[..5], quanta(&[(0, 0), (1, 1), (3, 2), (4, 3), (6, 4)]));
    assert_eq!(changes(&run, "start tag", 1)[..3], quanta(&[(0, 0), (2, 3), (5, 6)]));
    let counters = with_service_errors(&run).expect("there is a schedule").counters;
    let names: Vec<String> = counters.iter().map(Counter::name).collect();
    assert_eq!(names, ["start tag of A", "start tag of B"]);
    assert_eq!(counters[0].points, changes(&run, "start tag", 0));
}

/// Service over weight, in each policy that keeps it, under its name: for tasks that are always runnable, from the slices.
#[test]
fn virtual_times_are_service_over_weight() {
    for (spec, value) in
        [("sfq", "start tag"), ("wfq", "start tag"), ("wf2q", "start tag"), ("sfs", "start tag")]
    {
        let run = run(THREE_TO_ONE, spec);
        let mut checked = 0;
        for counter in counters(schedule(&run), value) {
            let weight = if &*counter.task == "A" { 3072 } else { 1024 };
            for &(at_ns, number) in &counter.points {
                // SFS moves a start tag when the task is off its CPU (sfs R2); the others with each charge.
                let received_ns = received_ns(schedule(&run), &counter.task, at_ns);
                assert_eq!(number, (received_ns * 1024 / weight) as i64, "{spec} at {at_ns}");
                checked += 1;
            }
        }
        assert!(checked > 10, "{spec}");
    }
}

#[test]
fn attained_service_is_what_was_received() {
    let run = run(THREE_TO_ONE, "las");
    let counters = &schedule(&run).counters;
    assert!(counters.iter().map(|counter| counter.points.len()).sum::<usize>() > 10);
    for counter in counters {
        for &(at_ns, number) in &counter.points {
            assert_eq!(number as u64, received_ns(schedule(&run), &counter.task, at_ns));
        }
    }
}

/// Two clients of one group, weights 12 and 8: D grows by 12/8 and by 1 in a turn and shrinks by 1 a quantum, and a turn
/// ends below 1 (gr3 R4). So A has 1.5 - 1, then B 1 - 1, then A 0.5 + 1.5 - 1 and 1 - 1, then B, and it starts anew.
#[test]
fn deficits_of_gr3_are_counters() {
    let text = r#"
        quantum = "1ms"
        duration = "20ms"
        task = [
          { name = "A", weight = 12, program = [ { run = "forever" } ] },
          { name = "B", weight = 8, program = [ { run = "forever" } ] },
        ]
    "#;
    let run = run(text, "gr3");
    let expected: Vec<(u64, i64)> =
        [(0, 500), (2, 1000), (3, 0), (5, 500), (7, 1000), (8, 0)].map(|(ms, d)| (ms * MS, d)).into();
    assert_eq!(changes(&run, "deficit", 0)[..6], expected);
    assert_eq!(changes(&run, "deficit", 1), [(0, 0)]);
}

/// A job that always runs sinks a level whenever it used its allotment up: one quantum, then two, then four.
#[test]
fn levels_of_mlfq_are_counters() {
    let text = r#"
        quantum = "1ms"
        duration = "6ms"
        task = [ { name = "A", program = [ { run = "forever" } ] } ]
    "#;
    assert_eq!(changes(&run(text, "mlfq"), "level", 0), [(0, 0), (MS, 1), (3 * MS, 2)]);
}

const BUSY: &str = r#"
    cpus = 2
    duration = "700ms"
    warmup = "100ms"
    switch_cost = "20us"
    task = [
      { name = "hog", count = 3, program = [ { run = "forever" } ] },
      { name = "light", weight = 100, program = [ { run = "forever" } ] },
      { name = "sleeper", program = [ { loop = "forever", do = [ { sleep = { exp = "30ms" } }, { run = { exp = "7ms" } } ] } ] },
      { name = "short", arrivals = { open = { exp = "20ms" } }, program = [ { run = { exp = "3ms" } } ] },
    ]
"#;

/// No surplus is negative: v is the least start tag (sfs R5).
#[test]
fn surpluses_are_not_negative() {
    let run = run(BUSY, "sfs");
    let surpluses = || counters(schedule(&run), "surplus").flat_map(|counter| &counter.points);
    assert!(surpluses().all(|&(_, surplus)| surplus >= 0) && surpluses().any(|&(_, surplus)| surplus > 0));
}

/// Every policy that shows values decides the same when nothing reads them.
#[test]
fn to_look_changes_nothing() {
    let selections = divvy_policy::all().iter().filter(|p| p.kind == divvy_policy::Kind::Selection);
    let specs: Vec<&str> = selections.map(|policy| policy.name).collect();
    let seen = report(BUSY, &specs, Some(Window::WHOLE));
    let json = |report: &Report| serde_json::to_string(report).expect("JSON");
    assert_eq!(json(&seen), json(&report(BUSY, &specs, None)));
    let showing: Vec<&str> = seen
        .runs
        .iter()
        .filter(|run| !schedule(run).counters.is_empty())
        .map(|run| run.policy.as_str())
        .collect();
    for name in [
        "bvt", "cfs", "drr", "eevdf", "gr3", "las", "mlfq", "pbs", "sfq", "sfs", "stride", "wf2q",
        "wf2qplus", "wfq",
    ] {
        assert!(showing.contains(&name), "{name} is not among {showing:?}");
    }
}
