//! Runs a recorded workload under another policy.
//!
//! The recording says how much CPU each thread needs and what it waits for; the simulator decides when it runs.
//! The same replay under a model of the recorded scheduler says how far such an answer can be trusted.

use std::collections::BTreeMap;

use crate::run::{LINUX, Options, Rows, RunError, simulate_rows};
use divvy_policy::spec;
use divvy_policy::spec::Spec;
use divvy_results::progress::Progress;
use divvy_results::report::{RecordedReport, RecordedTask, Report, TraceReport, WakeCounts};
use divvy_results::schedule::{Schedule, State, Window};
use divvy_trace::{Grade, Measured, Recording, Replay, Spread, WakePolicy};
use divvy_workload::{MAX_CPUS, Workload};

/// An error of the replay above which another assumption about sleeps is tried.
const LARGE_ERROR: f64 = 0.2;

/// How to replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// As for any simulation; the number of CPUs is the recording's unless given.
    pub run: Options,
    /// How sleeps end.
    pub wakes: divvy_trace::WakePolicy,
    /// Slices end at multiples of this, ns; by default as the recorded preemptions show.
    pub tick_ns: Option<u64>,
    /// One row a thread; otherwise one row for all threads of a name.
    pub per_thread: bool,
}

/// Replays `recording` under each of `specs`.
pub fn replay(
    name: &str,
    recording: &Recording,
    specs: &[Spec],
    options: &ReplayOptions,
    progress: &dyn Progress,
) -> Result<Report, RunError> {
    let replayable = |wakes| {
        let replay = divvy_trace::replayable(recording, wakes);
        Replay { tick_ns: options.tick_ns.or(replay.tick_ns), ..replay }
    };
    let replay = replayable(options.wakes);
    check(name, &replay, options)?;
    let workload = replay.workload(name);
    let names: Vec<String> = if options.per_thread {
        workload.tasks.iter().map(|t| t.name.clone()).collect()
    } else {
        replay.tasks.iter().map(|t| t.name.clone()).collect()
    };
    let recorded = recorded(&replay.measured, &names);
    let mut report = simulate_rows(&workload, specs, &options.run, &Rows::Named(names), progress)?;
    let error = self_replay_error(recording, &replay, &workload, options)?;
    let fixed_wakes_error = match error {
        Some(error) if error > LARGE_ERROR && options.wakes != WakePolicy::Fixed => {
            let fixed = replayable(WakePolicy::Fixed);
            let other = self_replay_error(recording, &fixed, &fixed.workload(name), options)?;
            other.filter(|other| *other < error / 2.0)
        }
        _ => None,
    };
    let mut endless: Vec<String> = replay.endless().map(|task| task.name.clone()).collect();
    endless.sort();
    endless.dedup();
    let trace = trace_report(recording, &replay, recorded, error);
    report.trace = Some(TraceReport { fixed_wakes_error, endless, ..trace });
    Ok(report)
}

/// Whether there is something to replay, and a machine to do it on.
fn check(name: &str, replay: &Replay, options: &ReplayOptions) -> Result<(), RunError> {
    if replay.tasks.is_empty() {
        let what = "no thread is seen to run in the recording: it begins too late, ends too early, or most of it is missing";
        return Err(RunError::Workload(format!("{name}: {what}")));
    }
    if replay.cpus > MAX_CPUS && options.run.cpus.is_none() {
        let what = format!("the recording names CPU {}", replay.cpus - 1);
        return Err(RunError::Workload(format!(
            "{name}: {what}, and {MAX_CPUS} can be simulated; give --cpus"
        )));
    }
    Ok(())
}

fn trace_report(
    recording: &Recording,
    replay: &Replay,
    recorded: RecordedReport,
    self_replay_error: Option<f64>,
) -> TraceReport {
    TraceReport {
        grade: grade_letter(recording.quality.grade()),
        findings: recording.quality.findings().into_iter().map(|f| f.text).collect(),
        wakes: WakeCounts {
            dependency: replay.wakes.dependency,
            timer: replay.wakes.timer,
            external: replay.wakes.external + replay.wakes.device,
            unknown: replay.wakes.unknown,
        },
        self_replay_error,
        least_difference: divvy_results::prediction::floor(self_replay_error),
        fixed_wakes_error: None,
        endless: Vec::new(),
        tick_ns: replay.tick_ns,
        recorded: Some(recorded),
    }
}

fn grade_letter(grade: Grade) -> char {
    match grade {
        Grade::A => 'A',
        Grade::B => 'B',
        Grade::C => 'C',
        Grade::D => 'D',
    }
}

/// Service of all threads, in sum and by name.
fn recorded(measured: &[Measured], names: &[String]) -> RecordedReport {
    let all: Vec<&Measured> = measured.iter().collect();
    let mut named: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
    for (name, thread) in names.iter().zip(measured) {
        named.entry(name).or_default().push(thread);
    }
    let task = |(name, threads): (&str, Vec<&Measured>)| RecordedTask {
        name: name.to_owned(),
        response_mean_ns: mean_ns(&threads, |o| o.response),
    };
    RecordedReport {
        service_ns: measured.iter().map(|o| o.service_ns).sum(),
        wait_ns: measured.iter().map(|o| o.wait_ns).sum(),
        wakes: measured.iter().map(|o| o.wakes).sum(),
        response_mean_ns: mean_ns(&all, |o| o.response),
        wake_delay_mean_ns: mean_ns(&all, |o| o.wake_delay),
        tasks: named.into_iter().map(task).collect(),
    }
}

/// The mean over threads, weighted by the number of their jobs.
fn mean_ns(threads: &[&Measured], part: fn(&Measured) -> Spread) -> Option<f64> {
    let parts = || threads.iter().map(|o| part(o));
    let count: u64 = parts().map(|p| p.count).sum();
    let sum: f64 = parts().map(|p| p.count as f64 * p.mean_ns as f64).sum();
    (count > 0).then(|| sum / count as f64)
}

/// The relative error of mean response, if the recording is replayed under the model of its scheduler, on as many CPUs as it
/// had and to its end. `None` if those are too many, or if threads were left out: they took CPU time in the recording and
/// take none in the replay, which is no error of it.
fn self_replay_error(
    recording: &Recording,
    replay: &Replay,
    workload: &Workload,
    options: &ReplayOptions,
) -> Result<Option<f64>, RunError> {
    let Ok(model) = spec::parse(LINUX, divvy_policy::all()) else { return Ok(None) };
    if workload.cpus > MAX_CPUS || recording.removed_run_ns > 0 {
        return Ok(None);
    }
    let run = Options {
        reps: 1,
        first_decisions: 0,
        figures: None,
        schedule: Some(Window { values: false, ..Window::WHOLE }),
        cpus: None,
        duration_ns: None,
        ..options.run.clone()
    };
    let report = simulate_rows(workload, &[model], &run, &Rows::EachInstance, &())?;
    let all: Vec<&Measured> = replay.measured.iter().collect();
    let Some((run, seen_ns)) = report.runs.first().zip(mean_ns(&all, |o| o.response)) else {
        return Ok(None);
    };
    let measured: BTreeMap<&str, &Measured> =
        workload.tasks.iter().map(|task| task.name.as_str()).zip(&replay.measured).collect();
    let Some(schedule) = run.schedule.as_ref().filter(|schedule| !schedule.is_cut) else {
        let mean_ns = run.response_ns.mean;
        return Ok(mean_ns.map(|mean_ns| (mean_ns - seen_ns).abs() / seen_ns));
    };
    let (mut count, mut sum_ns) = (0_u64, 0.0);
    for (task, responses) in schedule.tasks.iter().zip(responses_ns(schedule)) {
        let Some(measured) = run.tasks.get(task.row).and_then(|row| measured.get(row.name.as_str())) else {
            continue;
        };
        let first = usize::from(!measured.begins);
        let after = responses.len() - usize::from(!measured.ends && !responses.is_empty());
        for response_ns in responses.get(first..after).unwrap_or_default().iter().flatten() {
            count += 1;
            sum_ns += *response_ns as f64;
        }
    }
    Ok((count > 0).then(|| (sum_ns / count as f64 - seen_ns).abs() / seen_ns))
}

/// The response times of each task: from each wake-up to the end of the slice after which the task rests or is gone; `None` for
/// a wake-up after which it did not run, or not to its end. The first and the last job may be cut in the recording, and then have no
/// response there, though they have one in the replay, which may be as long as the recording.
fn responses_ns(schedule: &Schedule) -> Vec<Vec<Option<u64>>> {
    let mut ends: Vec<Vec<u64>> = vec![Vec::new(); schedule.tasks.len()];
    for slice in schedule.cpus.iter().flatten().filter(|slice| slice.left != State::Runnable) {
        ends[slice.task as usize].push(slice.to_ns);
    }
    ends.iter_mut().for_each(|ends| ends.sort_unstable());
    let mut wakes: Vec<Vec<u64>> = vec![Vec::new(); schedule.tasks.len()];
    for wake in &schedule.wakes {
        wakes[wake.task as usize].push(wake.at_ns);
    }
    let response = |wake: u64, next: u64, ends: &[u64]| {
        let end = ends.get(ends.partition_point(|end| *end <= wake)).filter(|end| **end <= next)?;
        Some(*end - wake)
    };
    let responses = |(wakes, ends): (Vec<u64>, Vec<u64>)| {
        let next = |at: usize| wakes.get(at + 1).copied().unwrap_or(u64::MAX);
        (0..wakes.len()).map(|at| response(wakes[at], next(at), &ends)).collect()
    };
    wakes.into_iter().zip(ends).map(responses).collect()
}
