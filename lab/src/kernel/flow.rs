//! The knowledge-based scheduler in a kernel: figure 1, two programs of which one needs little more than two timeslices; section 4.1, its overhead; and figure 6, a program that works
//! and sleeps again and again, beside one that loops. Each execution is a process of its own that executes a program; so the second one is predicted.

use divvy_results::report::Run;
use divvy_workload::Workload;

use crate::error::LabError;
use crate::kernel::case::{Case, Values, faster};
use crate::run::{MS, S, workload};

/// Figure 6 and section 4.1 are so many times as fast as the paper's: timeslices are 20 ms, not 100 ms.
const TIMES: u64 = 5;
/// Figure 1 is so many times as fast as the paper's: timeslices are 100 ms, not 1 s.
const TIMES_1: u64 = 10;
/// A and B of figure 1, in s of the paper. They are executed once to be logged. Later they are started again, which takes CPU time; then A begins,
/// and B while A has its first timeslice. Both sleep afterwards, so that the last switch counts as well.
const FIGURE_1: &str = r#"
quantum = "1s"
warmup = "13500ms"
duration = "24s"
task = [
  { name = "A log", executable = "A", program = [ { until = "3s" }, { run = "3400ms" } ] },
  { name = "B log", executable = "B", program = [ { until = "3s" }, { run = "2100ms" } ] },
  { name = "A", executable = "A", start = "10s", program = [ { until = "14s" }, { run = "3400ms" }, { sleep = "60s" } ] },
  { name = "B", executable = "B", start = "10s", program = [ { until = "14500ms" }, { run = "2100ms" }, { sleep = "60s" } ] },
]
"#;
const SPECS_1: [&str; 2] = [CONVENTIONAL, "rr+flow:Tm=20ms"];

/// The small version is the same.
pub fn cases_1(_small: bool) -> Result<Vec<Case>, LabError> {
    let case = |spec| Ok(Case::new(spec, 1, faster(&workload("flow-1", FIGURE_1)?, TIMES_1)?));
    SPECS_1.into_iter().map(case).collect()
}

pub fn values_1(cases: &[Case], runs: &[Run]) -> Values {
    let value = |(case, run): (&Case, &Run)| {
        let policy = case.spec.split(':').next().unwrap_or(case.spec);
        // In a run that is simulated the first switch is that to A, in a kernel the last is that from A.
        let switches = run.switches as f64 - 1.0;
        let processing =
            ["A", "B"].map(|program| (format!("{policy}: {program} (s)"), processing_s(run, program)));
        processing.into_iter().chain([(format!("{policy}: switches"), switches)])
    };
    let mut values: Values = cases.iter().zip(runs).flat_map(value).collect();
    if let [without, with] = runs {
        values.push((
            "switches that the delay saves".to_owned(),
            without.switches as f64 - with.switches as f64,
        ));
    }
    values
}

/// From a program's first turn to its end, in s of the paper.
fn processing_s(run: &Run, program: &str) -> f64 {
    processing_ns(run, program) * TIMES_1 as f64 / S as f64
}

/// From a program's first turn to its end.
pub fn processing_ns(run: &Run, program: &str) -> f64 {
    let task = run.tasks.iter().find(|task| task.name == program);
    let times = task.and_then(|task| Some((task.response_ns.mean?, task.wake_delay_ns.mean?)));
    times.map_or(f64::NAN, |(response_ns, delay_ns)| response_ns - delay_ns)
}

/// Section 4.1: how long the sleep of the test program is, in s, and how often it works and sleeps.
const PAUSE_S: u64 = 1;
const ROUNDS: u64 = 20;
const SPECS_OF_OVERHEAD: [&str; 2] = [CONVENTIONAL, "rr+flow:Tm=0"];

/// The test program is executed twice. The small version is the same.
pub fn cases_of_overhead(_small: bool) -> Result<Vec<Case>, LabError> {
    let execution = |name: &str, start_s: u64| {
        format!(
            "[[task]]\nname = \"{name}\"\nexecutable = \"test\"\nstart = \"{start_s}s\"\nprogram = [ {{ until = \"{}s\" }}, \
             {{ loop = {ROUNDS}, do = [ {{ run = \"{}ms\" }}, {{ sleep = \"{PAUSE_S}s\" }} ] }} ]\n",
            start_s + 2,
            WORK_MS[0]
        )
    };
    let text = format!(
        "quantum = \"100ms\"\nduration = \"60s\"\n{}{}",
        execution("logged", 0),
        execution("scheduled", 30)
    );
    let case = |spec| Ok(Case::new(spec, 1, faster(&workload("flow-overhead", &text)?, TIMES)?));
    SPECS_OF_OVERHEAD.into_iter().map(case).collect()
}

pub fn values_of_overhead(_cases: &[Case], runs: &[Run]) -> Values {
    let [without, with] = runs else { return Values::new() };
    let mut values = Values::new();
    for (execution, title) in [("logged", "logged"), ("scheduled", "scheduled, Tm = 0")] {
        let [without_ns, with_ns] = [without, with].map(|run| response_ns(run, execution));
        let pause_ns = (PAUSE_S * S / TIMES) as f64;
        let name = format!("{title}: processing time (of rr's)");
        values.push((name, (with_ns + pause_ns) / (without_ns + pause_ns)));
        values.push((format!("{title}: added to a run (ns)"), with_ns - without_ns));
    }
    values
}

/// CPU time between two sleeps, in ms of the paper
const WORK_MS: [u64; 4] = [75, 125, 150, 200];
/// When the execution that is measured begins, in s of the paper: ten times 200 ms of work beside the loop take 4 s.
const BEGIN_S: u64 = 6;
/// Its sleep, in ms of the paper, whose sleeps are 1 s: so the program wakes in the middle of a timeslice of the other one, and not at its end,
/// where a moment decides.
const SLEEP_MS: u64 = 950;
/// The conventional scheduler
pub const CONVENTIONAL: &str = "rr";
/// Maximum dispatch delays, in ms of the paper, and as they are played
pub const DELAYS: [(u64, &str); 6] = [
    (0, "rr+flow:Tm=0"),
    (10, "rr+flow:Tm=2ms"),
    (20, "rr+flow:Tm=4ms"),
    (40, "rr+flow:Tm=8ms"),
    (70, "rr+flow:Tm=14ms"),
    (110, "rr+flow:Tm=22ms"),
];

/// The small version has the work and the delay of the paper's example, without and with the delay.
pub fn cases_6(small: bool) -> Result<Vec<Case>, LabError> {
    let works = if small { &WORK_MS[1..2] } else { &WORK_MS[..] };
    let is_played = |delay_ms: u64| !small || [0, 40].contains(&delay_ms);
    let mut cases = Vec::new();
    for &work_ms in works {
        let delays = DELAYS.iter().filter(|(delay_ms, _)| is_played(*delay_ms)).map(|(_, spec)| *spec);
        for spec in std::iter::once(CONVENTIONAL).chain(delays) {
            cases.push(Case::new(spec, work_ms, faster(&beside_a_loop(work_ms)?, TIMES)?));
        }
    }
    Ok(cases)
}

/// The program is executed once to be logged, without the sleeps that take time, and then as in the figure.
fn beside_a_loop(work_ms: u64) -> Result<Workload, LabError> {
    let execution = |name: &str, start_s: u64, sleep_ms: u64| {
        format!(
            "[[task]]\nname = \"{name}\"\nexecutable = \"work-{work_ms}\"\nstart = \"{start_s}s\"\n\
             program = [ {{ loop = 10, do = [ {{ run = \"{work_ms}ms\" }}, {{ sleep = \"{sleep_ms}ms\" }} ] }} ]\n"
        )
    };
    let text = format!(
        "quantum = \"100ms\"\nwarmup = \"{}s\"\nduration = \"21s\"\n[[task]]\nname = \"loop\"\nprogram = [ {{ run = \"forever\" }} ]\n{}{}",
        BEGIN_S + 1,
        execution("log", 0, 5),
        execution("test", BEGIN_S, SLEEP_MS)
    );
    workload("flow-6", &text)
}

pub fn values_6(cases: &[Case], runs: &[Run]) -> Values {
    let all = || cases.iter().zip(runs);
    let ratio = |(case, run): (&Case, &Run)| {
        let (delay_ms, _) = DELAYS.iter().find(|(_, spec)| *spec == case.spec)?;
        let same_work = |(other, _): &(&Case, &Run)| other.spec == CONVENTIONAL && other.point == case.point;
        let conventional = all().find(same_work).map_or(f64::NAN, |(_, run)| round_ns(run));
        let name = format!("work {} ms, Tm = {delay_ms} ms (of rr's time)", case.point);
        Some((name, round_ns(run) / conventional))
    };
    all().filter_map(ratio).collect()
}

/// How long a round of work and sleep lasts, in the mean. The first one is not among them, as the program's start is a part of it: in a kernel
/// that takes up to a timeslice of CPU time.
fn round_ns(run: &Run) -> f64 {
    response_ns(run, "test") + (SLEEP_MS * MS / TIMES) as f64
}

/// From when a program wakes until it sleeps again, in the mean.
fn response_ns(run: &Run, program: &str) -> f64 {
    let task = run.tasks.iter().find(|task| task.name == program);
    task.and_then(|task| task.response_ns.mean).unwrap_or(f64::NAN)
}
