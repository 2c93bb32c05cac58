//! Runs a recorded workload under another policy.
//!
//! The recording says how much CPU each thread needs and what it waits for; the simulator decides when it runs.
//! The same replay under a model of the recorded scheduler says how far such an answer can be trusted.

use std::collections::BTreeMap;

use crate::run::{Options, Rows, RunError, simulate_rows};
use divvy_policy::spec;
use divvy_policy::spec::Spec;
use divvy_results::progress::Progress;
use divvy_results::report::{RecordedReport, RecordedTask, Report, TraceReport, WakeCounts};
use divvy_trace::{Grade, Measured, Recording, Replay, Spread};
use divvy_workload::{MAX_CPUS, Workload};

/// Stands for the scheduler of the recording: Linux from 6.6 on.
const MODEL: &str = "eevdf";

/// How to replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// As for any simulation; the number of CPUs is the recording's unless given.
    pub run: Options,
    /// How sleeps end.
    pub wakes: divvy_trace::WakePolicy,
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
    let replay = divvy_trace::replayable(recording, options.wakes);
    check(name, &replay, options)?;
    let workload = replay.workload(name);
    let names: Vec<String> = if options.per_thread {
        workload.tasks.iter().map(|t| t.name.clone()).collect()
    } else {
        replay.tasks.iter().map(|t| t.name.clone()).collect()
    };
    let recorded = recorded(&replay.measured, &names);
    let mut report = simulate_rows(&workload, specs, &options.run, &Rows::Named(names), progress)?;
    let model_ns = model_response_ns(&workload, options)?;
    report.trace = Some(trace_report(recording, &replay, recorded, model_ns));
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
    model_ns: Option<f64>,
) -> TraceReport {
    let error = |model: f64, seen: f64| (model - seen).abs() / seen;
    // Threads that were left out took CPU time in the recording and take none in the replay: that is no error of it.
    let comparable = model_ns.filter(|_| recording.removed_run_ns == 0).zip(recorded.response_mean_ns);
    TraceReport {
        grade: grade_letter(recording.quality.grade()),
        findings: recording.quality.findings().into_iter().map(|f| f.text).collect(),
        wakes: WakeCounts {
            dependency: replay.wakes.dependency,
            timer: replay.wakes.timer,
            external: replay.wakes.external + replay.wakes.device,
            unknown: replay.wakes.unknown,
        },
        self_replay_error: comparable.map(|(m, r)| error(m, r)),
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

/// Mean response under the model of the recorded scheduler, on as many CPUs as it had and to the
/// recording's end; `None` if those are too many.
fn model_response_ns(workload: &Workload, options: &ReplayOptions) -> Result<Option<f64>, RunError> {
    let Ok(model) = spec::parse(MODEL, divvy_policy::all()) else { return Ok(None) };
    if workload.cpus > MAX_CPUS {
        return Ok(None);
    }
    let run = Options {
        reps: 1,
        first_decisions: 0,
        figures: None,
        schedule: None,
        cpus: None,
        duration_ns: None,
        ..options.run.clone()
    };
    let report = simulate_rows(workload, &[model], &run, &Rows::EachInstance, &())?;
    Ok(report.runs.first().and_then(|run| run.response_ns.mean))
}
