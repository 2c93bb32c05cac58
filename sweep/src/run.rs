//! Runs rows on all cores, and gives them back in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use divvy_sim::run::{Rows, row_names, simulate_rep};

use super::SweepError;
use super::measure::{Measured, Numbers, Row, differences, estimates};
use super::plan::{Plan, Planned, Simulated};
use super::table;
use divvy_results::progress::Progress;

/// A repetition, by its place among those that are run.
type Done = (usize, Result<Measured, SweepError>);

/// As [`run`], with the rows' lines added to a text. Those before an error are in it.
///
/// # Errors
/// The first row's that has no result.
pub fn run_into(
    plan: &Plan,
    rows: &[usize],
    progress: &dyn Progress,
    lines: &mut String,
) -> Result<(), SweepError> {
    run(plan, rows, progress, |row| {
        lines.push_str(&table::line(plan, &row));
        Ok(())
    })
}

/// Runs what rows of the plan need, by index, and gives each row to `take` as soon as it and those before it are done.
///
/// # Errors
/// The first row's, in their order, that has no result; or what `take` fails with.
pub fn run<E: From<SweepError>>(
    plan: &Plan,
    rows: &[usize],
    progress: &dyn Progress,
    mut take: impl FnMut(Row) -> Result<(), E>,
) -> Result<(), E> {
    let reps = plan.reps() as usize;
    let sims = needed(plan, rows);
    let steps = Steps::new(plan, &sims, progress);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel::<Done>();
    std::thread::scope(|scope| {
        // These are extra threads, as many as the pool has: this thread waits, and may belong to the pool.
        for _ in 0..rayon::current_num_threads() {
            let (sender, next, stop, steps, sims) = (sender.clone(), &next, &stop, &steps, &sims);
            scope.spawn(move || {
                // Claimed in order, so that few rows wait for one before them.
                while !stop.load(Ordering::Relaxed) {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&sim) = sims.get(job / reps) else { break };
                    let result = repetition(plan, &plan.sims[sim], job % reps, steps, stop);
                    if sender.send((job, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut found =
            Found { receiver, reps, places: places(&sims), waiting: BTreeMap::new(), done: BTreeMap::new() };
        let collected = collect(plan, rows, &mut found, &mut take);
        stop.store(true, Ordering::Relaxed);
        collected
    })
}

/// The simulations to run, in the order in which rows need them.
fn needed(plan: &Plan, rows: &[usize]) -> Vec<usize> {
    let mut known = BTreeSet::new();
    let sims = rows.iter().flat_map(|&row| [Some(plan.rows[row].sim), plan.rows[row].baseline]);
    sims.flatten().filter(|sim| known.insert(*sim)).collect()
}

fn places(sims: &[usize]) -> BTreeMap<usize, usize> {
    sims.iter().enumerate().map(|(place, &sim)| (sim, place)).collect()
}

/// Results so far.
struct Found {
    receiver: mpsc::Receiver<Done>,
    reps: usize,
    /// The place of each simulation among those that are run.
    places: BTreeMap<usize, usize>,
    /// Repetitions that came before one that is needed first.
    waiting: BTreeMap<usize, Result<Measured, SweepError>>,
    /// All repetitions of each simulation, by its index.
    done: BTreeMap<usize, Vec<Measured>>,
}

impl Found {
    /// Waits for the result; `None` if everything was stopped before.
    fn wait_for(&mut self, sim: usize) -> Option<Result<(), SweepError>> {
        if self.done.contains_key(&sim) {
            return Some(Ok(()));
        }
        let first = self.places.get(&sim)? * self.reps;
        let mut reps = Vec::with_capacity(self.reps);
        for job in first..first + self.reps {
            while !self.waiting.contains_key(&job) {
                let (job, done) = self.receiver.recv().ok()?;
                self.waiting.insert(job, done);
            }
            match self.waiting.remove(&job)? {
                Ok(measured) => reps.push(measured),
                Err(error) => return Some(Err(error)),
            }
        }
        self.done.insert(sim, reps);
        Some(Ok(()))
    }

    /// Forgets what no later row needs.
    fn keep(&mut self, needed: impl Fn(usize) -> bool) {
        self.done.retain(|&sim, _| needed(sim));
    }
}

fn collect<E: From<SweepError>>(
    plan: &Plan,
    rows: &[usize],
    found: &mut Found,
    take: &mut impl FnMut(Row) -> Result<(), E>,
) -> Result<(), E> {
    let mut last_need = BTreeMap::new();
    for (at, &row) in rows.iter().enumerate() {
        let Planned { sim, baseline, .. } = plan.rows[row];
        last_need.extend([Some(sim), baseline].into_iter().flatten().map(|sim| (sim, at)));
    }
    let mut names = Names::default();
    for (at, &index) in rows.iter().enumerate() {
        let Planned { sim, baseline, .. } = plan.rows[index];
        for sim in [Some(sim), baseline].into_iter().flatten() {
            // The other end has not claimed this repetition only if everything stops.
            let Some(there) = found.wait_for(sim) else { return Ok(()) };
            there?;
        }
        take(row(plan, index, &found.done, &mut names))?;
        found.keep(|sim| last_need.get(&sim).is_some_and(|&last| last > at));
    }
    Ok(())
}

/// Names of one workload's tasks; its rows come one after another.
#[derive(Default)]
struct Names {
    workload: Option<usize>,
    names: Vec<String>,
}

impl Names {
    fn of(&mut self, plan: &Plan, workload: usize, task: usize) -> String {
        if self.workload != Some(workload) {
            *self = Names { workload: Some(workload), names: row_names(&plan.workloads[workload]) };
        }
        self.names[task].clone()
    }
}

fn row(plan: &Plan, index: usize, done: &BTreeMap<usize, Vec<Measured>>, names: &mut Names) -> Row {
    let planned = &plan.rows[index];
    let sim = &plan.sims[planned.sim];
    let workload = &plan.workloads[sim.workload];
    let reps = &done[&planned.sim];
    let numbers = |sim: usize| -> Vec<&Numbers> {
        done[&sim].iter().map(|rep| planned.task.map_or(&rep.all, |task| &rep.tasks[task])).collect()
    };
    let own = numbers(planned.sim);
    let counted: u128 = reps.iter().map(|rep| u128::from(rep.counted_ns)).sum();
    Row {
        point: planned.point,
        policy: sim.policy.clone(),
        task: planned.task.map(|task| names.of(plan, sim.workload, task)),
        baseline: planned.baseline.map(|base| plan.sims[base].policy.clone()),
        values: plan.values(planned),
        cpus: workload.cpus,
        warm_up_ns: workload.warmup_ns,
        counted_ns: (counted / reps.len().max(1) as u128) as u64,
        jobs: planned.baseline.is_none().then(|| own.iter().map(|rep| rep.jobs).sum()),
        estimates: planned.baseline.map_or_else(|| estimates(&own), |base| differences(&own, &numbers(base))),
    }
}

fn repetition(
    plan: &Plan,
    sim: &Simulated,
    rep: usize,
    steps: &Steps,
    stop: &AtomicBool,
) -> Result<Measured, SweepError> {
    let workload = &plan.workloads[sim.workload];
    let counter = Counter { steps, stop, of_run: steps.of(plan, sim), told: AtomicUsize::new(0) };
    let run = simulate_rep(workload, &sim.spec, rep as u32, &plan.options, &Rows::EachInstance, &counter);
    counter.finish();
    let run = run.map_err(|error| SweepError::Run { at: plan.at(sim), error })?;
    Ok(Measured::of(&run, plan.per_task))
}

/// Progress in microseconds of simulated time, or in runs where a run's length is not known before.
struct Steps<'a> {
    progress: &'a dyn Progress,
    timed: bool,
}

impl<'a> Steps<'a> {
    fn new(plan: &Plan, sims: &[usize], progress: &'a dyn Progress) -> Self {
        let timed = plan.workloads.iter().all(|workload| workload.duration_ns.is_some());
        let steps = Self { progress, timed };
        let reps = u64::from(plan.options.reps.max(1));
        let all = sims.iter().map(|&sim| steps.of(plan, &plan.sims[sim]));
        progress.begin(Some(all.fold(0, u64::saturating_add).saturating_mul(reps)));
        steps
    }

    /// Simulated time of one repetition, in ns.
    fn of(&self, plan: &Plan, sim: &Simulated) -> u64 {
        match plan.workloads[sim.workload].duration_ns {
            Some(ns) if self.timed => (ns / 1000).max(1),
            _ => 1,
        }
    }
}

/// Counts the steps of a run; the run does not report its last ones.
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

impl Progress for Counter<'_> {
    /// The steps of all runs are counted before.
    fn begin(&self, _: Option<u64>) {}

    fn advance(&self, simulated_ns: u64) -> bool {
        let steps = if self.steps.timed { simulated_ns / 1000 } else { 0 };
        self.told.fetch_add(steps as usize, Ordering::Relaxed);
        self.steps.progress.advance(steps) && !self.stop.load(Ordering::Relaxed)
    }
}
