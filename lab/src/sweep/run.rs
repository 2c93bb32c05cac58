//! Runs rows on all cores, and gives them back in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use divvy_sim::report::Run;
use divvy_sim::run::{self as sim, Rows, simulate_rep};

use super::SweepError;
use super::measure::{Row, estimates};
use super::plan::{Plan, Planned};
use crate::reproduce::Progress;

/// A repetition of a row, by its place among the rows asked for.
type Done = (usize, usize, Result<Run, SweepError>);

/// Runs rows of the plan, by index, and gives each to `take` as soon as it and those before it are done.
///
/// # Errors
/// The first row's, in their order, that has no result; or what `take` fails with.
pub fn run<E: From<SweepError>>(
    plan: &Plan,
    rows: &[usize],
    progress: &dyn Progress,
    mut take: impl FnMut(Row) -> Result<(), E>,
) -> Result<(), E> {
    let reps = plan.options.reps.max(1) as usize;
    let steps = Steps::new(plan, rows, progress);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel::<Done>();
    std::thread::scope(|scope| {
        // Threads of its own, as many as the pool has: this one waits, and may be one of the pool's.
        for _ in 0..rayon::current_num_threads() {
            let (sender, next, stop, steps) = (sender.clone(), &next, &stop, &steps);
            scope.spawn(move || {
                // Claimed in order, so that few rows wait for one before them.
                while !stop.load(Ordering::Relaxed) {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&index) = rows.get(job / reps) else { break };
                    let result = repetition(plan, &plan.rows[index], job % reps, steps, stop);
                    if sender.send((job / reps, job % reps, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let collected = collect(plan, rows, reps, &receiver, &mut take);
        stop.store(true, Ordering::Relaxed);
        collected
    })
}

fn collect<E: From<SweepError>>(
    plan: &Plan,
    rows: &[usize],
    reps: usize,
    receiver: &mpsc::Receiver<Done>,
    take: &mut impl FnMut(Row) -> Result<(), E>,
) -> Result<(), E> {
    let mut waiting: BTreeMap<(usize, usize), Result<Run, SweepError>> = BTreeMap::new();
    let mut runs = Vec::with_capacity(reps);
    for (at, &index) in rows.iter().enumerate() {
        for rep in 0..reps {
            let done = loop {
                if let Some(done) = waiting.remove(&(at, rep)) {
                    break done;
                }
                // Who holds the other end has not claimed this repetition only if all is stopped.
                let Ok((row, rep, done)) = receiver.recv() else { return Ok(()) };
                waiting.insert((row, rep), done);
            };
            runs.push(done?);
        }
        take(row(plan, index, &runs))?;
        runs.clear();
    }
    Ok(())
}

fn row(plan: &Plan, index: usize, runs: &[Run]) -> Row {
    let planned = &plan.rows[index];
    let workload = &plan.workloads[planned.workload];
    let counted: u128 = runs.iter().map(|run| u128::from(run.duration_ns)).sum();
    Row {
        point: index + 1,
        policy: planned.policy.clone(),
        values: planned.values.clone(),
        cpus: workload.cpus,
        warm_up_ns: workload.warmup_ns,
        counted_ns: (counted / runs.len().max(1) as u128) as u64,
        jobs: runs.iter().map(|run| run.response_ns.count).sum(),
        estimates: estimates(runs),
    }
}

fn repetition(
    plan: &Plan,
    row: &Planned,
    rep: usize,
    steps: &Steps,
    stop: &AtomicBool,
) -> Result<Run, SweepError> {
    let workload = &plan.workloads[row.workload];
    let counter = Counter { steps, stop, of_run: steps.of(plan, row), told: AtomicUsize::new(0) };
    let run = simulate_rep(workload, &row.spec, rep as u32, &plan.options, &Rows::EachInstance, &counter);
    counter.finish();
    run.map_err(|error| SweepError::Run { at: plan.at(row), error })
}

/// Progress in microseconds of simulated time, or in runs where a run's length is not known before.
struct Steps<'a> {
    progress: &'a dyn Progress,
    timed: bool,
}

impl<'a> Steps<'a> {
    fn new(plan: &Plan, rows: &[usize], progress: &'a dyn Progress) -> Self {
        let timed = plan.workloads.iter().all(|workload| workload.duration_ns.is_some());
        let steps = Self { progress, timed };
        let reps = u64::from(plan.options.reps.max(1));
        let all = rows.iter().map(|&index| steps.of(plan, &plan.rows[index]));
        progress.begin(all.fold(0, u64::saturating_add).saturating_mul(reps));
        steps
    }

    /// Of one repetition.
    fn of(&self, plan: &Plan, row: &Planned) -> u64 {
        match plan.workloads[row.workload].duration_ns {
            Some(ns) if self.timed => (ns / 1000).max(1),
            _ => 1,
        }
    }
}

/// Counts the steps of a run; the run tells nobody of its last ones.
struct Counter<'a> {
    steps: &'a Steps<'a>,
    stop: &'a AtomicBool,
    of_run: u64,
    told: AtomicUsize,
}

impl Counter<'_> {
    fn finish(&self) {
        let told = self.told.load(Ordering::Relaxed) as u64;
        self.steps.progress.advance(self.of_run.saturating_sub(told));
    }
}

impl sim::Progress for Counter<'_> {
    fn advance(&self, simulated_ns: u64) -> bool {
        if self.steps.timed {
            let steps = simulated_ns / 1000;
            self.told.fetch_add(steps as usize, Ordering::Relaxed);
            self.steps.progress.advance(steps);
        }
        !self.stop.load(Ordering::Relaxed)
    }
}
