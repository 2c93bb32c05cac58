//! The engine where several things meet: at one instant, at the ends of runs, and where task ids are used again.
mod deadlock;
mod figures;
mod rtapp;

use divvy_policy::spec;
use divvy_results::report::Run;
use divvy_sim::run::{Options, RunError, simulate};
use divvy_workload::Workload;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn try_run(toml: &str, spec: &str) -> Result<Run, RunError> {
    let workload = Workload::parse(toml, "test.toml").unwrap_or_else(|e| panic!("{e}"));
    let spec = spec::parse(spec, divvy_policy::all()).unwrap_or_else(|e| panic!("{e}"));
    simulate(&workload, &[spec], &Options::default(), &()).map(|mut report| report.runs.remove(0))
}

fn run(toml: &str, spec: &str) -> Run {
    try_run(toml, spec).unwrap_or_else(|e| panic!("{e}"))
}

/// A task with the id of one that is gone is another task: the CPU switches to it, and that costs.
#[test]
fn each_short_task_is_switched_to() {
    let run = run(
        r#"
        cpus = 1
        switch_cost = "1ms"
        [[task]]
        name = "short"
        arrivals = { open = "10ms", limit = 5 }
        program = [ { run = "2ms" } ]
        "#,
        "rr",
    );
    assert_eq!(run.switches, 4, "the first found a CPU where nobody had run");
    assert_eq!(run.tasks[0].response_ns.max, Some(3.0 * MS as f64));
}

#[test]
fn a_run_ends_with_its_last_task_whatever_was_to_come() {
    let run = run(
        r#"
        cpus = 1
        [[task]]
        name = "short"
        stop = "30s"
        program = [ { run = "1s" } ]
        [[task]]
        name = "sleeper"
        stop = "500ms"
        program = [ { sleep = "100s" }, { run = "1s" } ]
        "#,
        "rr",
    );
    assert_eq!((run.duration_ns, run.utilization), (S, 1.0));
}

/// A lull is not the end.
#[test]
fn a_run_goes_on_while_tasks_are_to_come() {
    let run = run(
        r#"
        cpus = 1
        duration = "15ms"
        [[task]]
        name = "short"
        arrivals = { open = "10ms" }
        program = [ { run = "3ms" } ]
        "#,
        "rr",
    );
    assert_eq!((run.duration_ns, run.utilization), (15 * MS, 0.2));
}

#[test]
fn a_job_that_begins_with_the_statistics_counts() {
    let run = run(
        r#"
        cpus = 1
        warmup = "1s"
        duration = "2s"
        [[task]]
        name = "T"
        start = "1s"
        program = [ { run = "10ms" } ]
        "#,
        "rr",
    );
    assert_eq!(run.tasks[0].jobs, 1);
}

#[test]
fn who_is_ended_from_outside_has_not_finished() {
    let run = run(
        r#"
        cpus = 1
        [[task]]
        name = "T"
        stop = "1s"
        program = [ { run = "forever" } ]
        "#,
        "rr",
    );
    assert_eq!((run.tasks[0].jobs, run.tasks[0].finished_ns), (0, None));
}

/// Three years of 256 CPUs are more ns than 64 bits hold.
#[test]
fn more_cpu_time_than_can_be_counted_is_an_error() {
    let toml = r#"
        cpus = 256
        duration = "26300h"
        [[task]]
        name = "hog"
        count = 256
        program = [ { run = "forever" } ]
        "#;
    let error = try_run(toml, "fcfs").unwrap_err().to_string();
    assert!(error.contains("72057594 s"), "{error}");
}

/// Least attained service, two CPUs with a hog each: two newcomers at one instant take both.
#[test]
fn tasks_that_wake_together_preempt_a_cpu_each() {
    let run = run(
        r#"
        cpus = 2
        quantum = "1s"
        duration = "3s"
        [[task]]
        name = "hog"
        count = 2
        program = [ { run = "forever" } ]
        [[task]]
        name = "new"
        count = 2
        start = "500ms"
        program = [ { run = "10ms" } ]
        "#,
        "pbs:alpha=inf",
    );
    let responses = run.tasks[2..].iter().map(|t| t.response_ns.max);
    assert_eq!(responses.collect::<Vec<_>>(), [Some(10.0 * MS as f64); 2]);
}

/// Switches that are preempted, in progress as statistics begin, cut short by a stop and by the end of the run: the
/// engine's own balance of service, idle time and switches must hold.
#[test]
fn a_switch_may_end_anyhow() {
    let toml = |warmup: &str, duration: &str| {
        format!(
            r#"
            cpus = 2
            warmup = "{warmup}"
            duration = "{duration}"
            switch_cost = "3ms"
            migration_cost = "1ms"
            [[task]]
            name = "hog"
            count = 3
            stop = "95ms"
            program = [ {{ run = "forever" }} ]
            [[task]]
            name = "guest"
            count = 2
            program = [ {{ loop = 40, do = [ {{ sleep = "5ms" }}, {{ run = "1ms" }} ] }} ]
            "#
        )
    };
    for warmup_ms in 1..12 {
        let toml = toml(&format!("{warmup_ms}ms"), &format!("{}ms", 90 + warmup_ms));
        for spec in ["rr", "pbs:alpha=inf", "eevdf"] {
            let run = run(&toml, spec);
            assert!(run.utilization < 0.9, "{spec}: switches take their part");
        }
    }
}

/// Costs without bounds are a workload like any other.
#[test]
fn a_switch_may_last_longer_than_the_run() {
    let run = run(
        r#"
        cpus = 16
        duration = "1s"
        switch_cost = "300000h"
        [[task]]
        name = "hog"
        count = 32
        program = [ { run = "forever" } ]
        "#,
        "rr",
    );
    assert_eq!((run.switches, run.utilization), (16, 0.004));
}
