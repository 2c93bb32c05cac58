//! The knowledge-based scheduler in a kernel: figure 6, a program that works and sleeps again and again, beside one that loops. Each execution
//! is a process of its own that executes a program; so the second one is predicted.

use divvy_results::report::Run;
use divvy_workload::Workload;

use crate::error::LabError;
use crate::kernel::case::{Case, Values, faster};
use crate::run::{MS, workload};

/// The figure is so many times as fast as the paper's: its timeslices are 20 ms, not 100 ms.
const TIMES: u64 = 5;
/// CPU time between two sleeps, in ms of the paper
const WORK_MS: [u64; 4] = [75, 125, 150, 200];
/// When the execution that is measured begins, in s of the paper: ten times 200 ms of work beside the loop take 4 s.
const BEGIN_S: u64 = 6;
/// Its sleep, in ms of the paper, whose sleeps are 1 s: so the program wakes in the middle of a timeslice of the other one, and not at its end,
/// where a moment decides.
const SLEEP_MS: u64 = 950;
/// The conventional scheduler
const CONVENTIONAL: &str = "rr";
/// Maximum dispatch delays, in ms of the paper, and as they are played
const DELAYS: [(u64, &str); 6] = [
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
    let test = run.tasks.iter().find(|task| task.name == "test");
    test.and_then(|task| task.response_ns.mean).map_or(f64::NAN, |ns| ns + (SLEEP_MS * MS / TIMES) as f64)
}
