//! The knowledge-based scheduler's paper, Figures 1 and 6. Each program is executed once to be logged, and then as in
//! the figure.

use divvy_results::report::ProgramResult;

use divvy_tests::example::{Example, MS, S, run};

/// When the executions that are measured begin
const FIGURE_NS: u64 = 60 * S;

fn program<'a>(example: &'a Example, name: &str) -> &'a ProgramResult {
    let found = example.0.run.programs.iter().find(|p| p.name == name);
    found.unwrap_or_else(|| panic!("no program {name}"))
}

/// Figure 1: A needs 3.4 s and B 2.1 s, the timeslice is 1 s. A runs when B comes: that gives all numbers of the paper.
fn figure_1(spec: &str) -> Example {
    let toml = r#"
        quantum = "1s"
        task = [
            { name = "A log", executable = "A", program = [ { run = "3.4s" } ] },
            { name = "B log", executable = "B", start = "20s", program = [ { run = "2.1s" } ] },
            { name = "A", start = "60s", program = [ { run = "3.4s" } ] },
            { name = "B", start = "61s", program = [ { run = "2.1s" } ] },
        ]
    "#;
    run(toml, spec)
}

/// Processing times of A and of B in ms, and switches, from when the figure begins.
fn measured(example: &Example) -> [u64; 3] {
    let mut order: Vec<(usize, u64)> =
        example.0.slices.iter().filter(|s| s.from_ns >= FIGURE_NS).map(|s| (s.row, s.to_ns)).collect();
    order.dedup_by_key(|&mut (row, _)| row);
    let end = |process| example.end_of_process(process) / MS;
    [end("A") - 60_000, end("B") - 61_000, order.len() as u64 - 1]
}

#[test]
fn flow_r3_figure_1() {
    assert_eq!(measured(&figure_1("rr")), [5500, 4100, 6]);
    assert_eq!(measured(&figure_1("rr+flow:Tm=100ms")), [5500, 3100, 4]);
    assert_eq!(measured(&figure_1("rr+flow:Tm=99ms")), [5500, 4100, 6], "B needs 100 ms more");
}

/// Figure 6: 20 times work and 1 s of sleep, beside a program that loops; the timeslice is 100 ms. The processing time
/// in ms of the second execution.
fn figure_6(work_ms: u32, spec: &str) -> (u64, Example) {
    let program = format!("[ {{ loop = 20, do = [ {{ run = \"{work_ms}ms\" }}, {{ sleep = \"1s\" }} ] }} ]");
    let toml = format!(
        r#"
        quantum = "100ms"
        duration = "100s"
        task = [
            {{ name = "loop", program = [ {{ run = "forever" }} ] }},
            {{ name = "log", executable = "test", program = {program} }},
            {{ name = "test", start = "60s", program = {program} }},
        ]
        "#
    );
    let example = run(&toml, spec);
    // Its last job is its last work: the sleep after it belongs to the processing time.
    let ends = example.end_of_process("test") + S;
    ((ends - FIGURE_NS) / MS, example)
}

/// From the printed curves: gains begin where the delay reaches what the work exceeds the timeslice by.
#[test]
fn flow_r3_figure_6() {
    for (work_ms, without, with, from_ms) in [
        (75, 21_500, 21_500, 0),
        (125, 24_500, 22_500, 25),
        (150, 25_000, 23_000, 50),
        (200, 26_000, 24_000, 100),
    ] {
        assert_eq!(figure_6(work_ms, "rr").0, without, "{work_ms} ms");
        for tm_ms in [0, 10, 24, 25, 40, 49, 50, 70, 99, 100] {
            let expected = if tm_ms >= from_ms { with } else { without };
            let (ms, _) = figure_6(work_ms, &format!("rr+flow:Tm={tm_ms}ms"));
            assert_eq!(ms, expected, "{work_ms} ms, Tm = {tm_ms} ms");
        }
    }
}

/// Section 4.1: logging costs nothing that shows, nor does a controller with T_m = 0.
#[test]
fn flow_r1_r2_logging_and_a_delay_of_nothing_change_nothing() {
    for work_ms in [75, 125, 150, 200] {
        let (plain, without) = figure_6(work_ms, "rr");
        let (same, with) = figure_6(work_ms, "rr+flow:Tm=0");
        assert_eq!((plain, &without.0.slices), (same, &with.0.slices), "{work_ms} ms");
    }
}

/// The report of a loop that always does the same: 20 runs were logged, 20 predicted without error.
#[test]
fn flow_r1_r4_the_report_says_how_accurate_predictions_were() {
    let (_, example) = figure_6(125, "rr+flow:Tm=40ms");
    let test = program(&example, "test");
    assert_eq!(test.sequence_ns, vec![125 * MS; 20]);
    assert_eq!((test.executions, test.predictions.runs, test.predictions.error), (2, 20, Some(0.0)));
    assert_eq!((test.delays, test.delays_met), (20, 20));
    assert!(figure_6(125, "rr").1.0.run.programs.is_empty());
}

/// A closed workload: each job executes the program, and with each the predictions come closer.
#[test]
fn flow_r4_executions_in_one_run_improve_the_sequence() {
    let toml = r#"
        quantum = "100ms"
        duration = "20s"
        task = [
            { name = "once", executable = "job", program = [ { run = "80ms" }, { sleep = "10ms" }, { run = "30ms" } ] },
            { name = "jobs", executable = "job", start = "1s", arrivals = { closed = "100ms" },
              program = [ { run = "120ms" }, { sleep = "10ms" }, { run = "20ms" } ] },
        ]
    "#;
    let example = run(toml, "rr+flow");
    let job = program(&example, "job");
    let errors: Vec<u64> = job.by_execution.iter().map(|p| p.error_ns).collect();
    assert_eq!(errors[..5], [0, 50 * MS, 25 * MS, 12_500_000, 6_250_000]);
    assert!(job.executions > 20 && errors[10..].iter().all(|&e| e < 100_000), "{errors:?}");
}
