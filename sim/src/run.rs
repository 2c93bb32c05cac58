//! Runs a workload under several policies and reports what each task got.

use rayon::prelude::*;
use thiserror::Error;

pub use crate::engine::Rows;
use crate::engine::{Engine, Scheduler, Setup, Violation};
use crate::placement::Sharded;
use crate::sharing::Sharing;
use divvy_policy::spec::Spec;
use divvy_policy::{Failure, FailureKind};
use divvy_policy::{Machine, MachineError};
use divvy_results::determinism::mark_deterministic;
use divvy_results::figures;
use divvy_results::figures::{Limits, TimelineRecorder};
use divvy_results::metrics;
use divvy_results::observation::Observation;
use divvy_results::progress::Progress;
use divvy_results::report::{Report, Run, SCHEMA_VERSION};
use divvy_results::schedule::{Recorder, Window};
use divvy_workload::{Purpose, Workload, stream};

/// How to run a workload; `None` takes what the workload says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seed of all random streams.
    pub seed: u64,
    /// Repetitions, each with streams of its own; 0 counts as 1.
    pub reps: u32,
    /// Number of CPUs.
    pub cpus: Option<u32>,
    /// Length of the run.
    pub duration_ns: Option<u64>,
    /// Slice of the policies that have none of their own.
    pub quantum_ns: Option<u64>,
    /// Number of first decisions to list for each CPU.
    pub first_decisions: usize,
    /// Keep data for figures of the first repetition, within these limits.
    pub figures: Option<Limits>,
    /// The part of the first repetition's schedule to keep.
    pub schedule: Option<Window>,
}

/// Why a simulation has no result.
#[derive(Debug, Error)]
pub enum RunError {
    /// The machine cannot be made.
    #[error("policy {policy}: {error}")]
    Machine {
        /// As given.
        policy: String,
        /// Why not.
        error: MachineError,
    },
    /// The scheduler around the policy cannot be had.
    #[error("policy {policy}: {what}")]
    Scheduler {
        /// As given.
        policy: String,
        /// Why not.
        what: String,
        /// Its kind.
        kind: FailureKind,
    },
    /// The run broke off.
    #[error("policy {policy}, {violation}")]
    Violation {
        /// As given.
        policy: String,
        /// Why.
        violation: Violation,
    },
    /// The progress said so.
    #[error("policy {policy}: the run was interrupted")]
    Interrupted {
        /// As given.
        policy: String,
    },
    /// It would not end.
    #[error(
        "task {task} never ends, so the run needs a duration: give --duration, or `duration = \"30s\"` in the workload"
    )]
    Endless {
        /// The first such task.
        task: String,
    },
    /// The workload does not fit the options.
    #[error("{0}")]
    Workload(String),
}

/// Simulates `workload` under each of `specs`, on all cores; the result does not depend on how many there are. Progress is in
/// ns of simulated time, over all runs.
pub fn simulate(
    workload: &Workload,
    specs: &[Spec],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, RunError> {
    simulate_rows(workload, specs, options, &Rows::EachInstance, progress)
}

/// The names of the rows of a result with [`Rows::EachInstance`], in their order.
pub fn row_names(workload: &Workload) -> Vec<String> {
    workload.tasks.iter().flat_map(metrics::rows_of).map(|row| row.name).collect()
}

/// As [`simulate`], with a choice of what the result's rows stand for.
pub fn simulate_rows(
    workload: &Workload,
    specs: &[Spec],
    options: &Options,
    rows: &Rows,
    progress: &dyn Progress,
) -> Result<Report, RunError> {
    let run = |workload: &Workload, spec: &Spec, rep: u32, options: &Options| {
        simulate_rep(workload, spec, rep, options, rows, progress)
    };
    simulate_by(workload, specs, options, rows, &run, progress)
}

/// As [`simulate`], with machines that `make` has for some of the specs: for those that no registry knows.
pub fn simulate_with_machines(
    workload: &Workload,
    specs: &[Spec],
    options: &Options,
    make: Make<'_, Option<Machine>>,
    progress: &dyn Progress,
) -> Result<Report, RunError> {
    let rows = &Rows::EachInstance;
    let run = |workload: &Workload, spec: &Spec, rep: u32, options: &Options| match make(workload, spec, rep)?
    {
        Some(machine) => repetition(workload, spec, rep, machine, options, rows, progress),
        None => simulate_rep(workload, spec, rep, options, rows, progress),
    };
    simulate_by(workload, specs, options, rows, &run, progress)
}

/// Makes what schedules a repetition: for a workload as [`adapted`] left it, a spec, and the number of the repetition.
pub type Make<'a, S> = &'a (dyn Fn(&Workload, &Spec, u32) -> Result<S, RunError> + Sync);

/// As [`simulate_rows`], under another scheduler than the policy's machine.
pub fn simulate_under<S: Scheduler>(
    workload: &Workload,
    specs: &[Spec],
    options: &Options,
    rows: &Rows,
    make: Make<'_, S>,
    progress: &dyn Progress,
) -> Result<Report, RunError> {
    if let Some(spec) = specs.iter().find(|spec| spec.placement.is_some()) {
        let what =
            "only the simulator without --host has shards yet; leave out what comes after `@`".to_owned();
        return Err(RunError::Scheduler { policy: spec.to_string(), what, kind: FailureKind::Usage });
    }
    let run = |workload: &Workload, spec: &Spec, rep: u32, options: &Options| {
        let scheduler = make(workload, spec, rep)?;
        repetition(workload, spec, rep, scheduler, options, rows, progress)
    };
    simulate_by(workload, specs, options, rows, &run, progress)
}

/// Runs a repetition, by its number.
type RunRep<'a> = &'a (dyn Fn(&Workload, &Spec, u32, &Options) -> Result<Run, RunError> + Sync);

fn simulate_by(
    workload: &Workload,
    specs: &[Spec],
    options: &Options,
    rows: &Rows,
    run: RunRep<'_>,
    progress: &dyn Progress,
) -> Result<Report, RunError> {
    let workload = &adapted(workload, options)?;
    let reps = options.reps.max(1);
    let jobs: Vec<(&Spec, u32)> = specs.iter().flat_map(|s| (0..reps).map(move |r| (s, r))).collect();
    let tasks = || match rows {
        Rows::EachInstance => row_names(workload).len(),
        Rows::Named(names) => names.len(),
    };
    progress.begin(workload.duration_ns.map(|ns| ns.saturating_mul(jobs.len() as u64)));
    let limits = options.figures.map(|limits| limits.among(specs.len(), tasks()));
    let options = &Options { figures: limits, ..options.clone() };
    let mut runs = jobs
        .par_iter()
        .map(|&(spec, rep)| run(workload, spec, rep, options))
        .collect::<Result<Vec<Run>, RunError>>()?;
    figures::keep_worst(&mut runs);
    mark_deterministic(&mut runs);
    Ok(Report {
        schema_version: SCHEMA_VERSION,
        workload: workload.name.clone(),
        cpus: workload.cpus,
        seed: options.seed,
        host: None,
        version: None,
        command: None,
        trace: None,
        theory: Vec::new(),
        runs,
    })
}

/// The workload as the options have it; it comes to an end.
pub fn adapted(workload: &Workload, options: &Options) -> Result<Workload, RunError> {
    let mut workload = workload.clone();
    workload.cpus = options.cpus.unwrap_or(workload.cpus);
    workload.quantum_ns = options.quantum_ns.unwrap_or(workload.quantum_ns);
    workload.duration_ns = options.duration_ns.or(workload.duration_ns);
    workload.check().map_err(|problem| RunError::Workload(format!("{}: {problem}", workload.name)))?;
    match workload.endless_task() {
        Some(task) if workload.duration_ns.is_none() => Err(RunError::Endless { task: task.name.clone() }),
        _ => Ok(workload),
    }
}

/// The spec of a repetition: a policy that draws random numbers draws those of the seed and the repetition, unless the spec names a
/// seed.
pub fn seeded(spec: &Spec, seed: u64, rep: u32) -> Spec {
    spec.seeded(stream(seed, rep, 0, Purpose::Policy).next_u64())
}

/// The machine of a repetition, for the spec as [`seeded`] makes it.
///
/// # Errors
/// Those of [`Machine::from_spec`].
pub fn machine(spec: &Spec, workload: &Workload, seed: u64, rep: u32) -> Result<Machine, MachineError> {
    let spec = seeded(spec, seed, rep);
    Machine::from_spec(&spec, workload.cpus, workload.quantum_ns)
}

/// The model of Linux's own scheduler, from 6.6 on. That one looks at slices whenever its queue changes, and not at ticks only. So in
/// the model they end when they are used up, whatever the workload's tick is.
pub(crate) const LINUX: &str = "eevdf";

fn bare_machine(workload: &Workload, spec: &Spec, rep: u32, options: &Options) -> Result<Machine, RunError> {
    machine(spec, workload, options.seed, rep)
        .map_err(|error| RunError::Machine { policy: spec.to_string(), error })
}

/// One repetition, by its number, of a workload that is as [`adapted`] left it.
pub fn simulate_rep(
    workload: &Workload,
    spec: &Spec,
    rep: u32,
    options: &Options,
    rows: &Rows,
    progress: &dyn Progress,
) -> Result<Run, RunError> {
    let Some(placement) = spec.placement else {
        let machine = bare_machine(workload, spec, rep, options)?;
        return repetition(workload, spec, rep, machine, options, rows, progress);
    };
    let seeded = seeded(spec, options.seed, rep);
    let sharded = Sharded::new(&seeded, placement, workload).map_err(|problem| RunError::Scheduler {
        policy: spec.to_string(),
        what: problem.to_string(),
        kind: FailureKind::Usage,
    })?;
    repetition(workload, spec, rep, sharded, options, rows, progress)
}

/// The same under a new scheduler.
fn repetition<S: Scheduler>(
    workload: &Workload,
    spec: &Spec,
    rep: u32,
    scheduler: S,
    options: &Options,
    rows: &Rows,
    progress: &dyn Progress,
) -> Result<Run, RunError> {
    let exact;
    let workload = if spec.selection.name == LINUX && workload.tick_ns.is_some() {
        exact = Workload { tick_ns: None, ..workload.clone() };
        &exact
    } else {
        workload
    };
    let name = spec.to_string();
    if !progress.advance(0) {
        return Err(RunError::Interrupted { policy: name });
    }
    let setup = Setup {
        seed: options.seed,
        rep,
        until_ns: workload.duration_ns,
        schedule: options.first_decisions,
        rows: rows.clone(),
        sharing: Sharing::of(spec),
    };
    let told = std::cell::Cell::new(0);
    let tell = |now: u64| progress.advance(now - told.replace(now));
    let first = rep == 0;
    let mut drawing = options.figures.filter(|_| first).map(|limits| Drawing::new(workload, limits));
    let window = options.schedule.filter(|_| first);
    let mut recorder = window.map(|window| Recorder::new(workload.cpus, workload.warmup_ns, window));
    let shows = window.is_some_and(|window| window.values);
    let (draws, watches) = (drawing.is_some(), recorder.is_some());
    let mut keep = |observation: Observation| {
        drawing.iter_mut().for_each(|drawing| drawing.timeline.record(observation));
        recorder.iter_mut().for_each(|recorder| recorder.record(observation));
    };
    let mut engine = Engine::new(workload, scheduler, setup);
    if draws {
        engine.keep_series();
    }
    if draws || watches {
        engine.observe(&mut keep);
    }
    let shown = if shows { engine.tell_of_values() } else { Vec::new() };
    let mut run = engine
        .run(&name, &tell)
        .map_err(|violation| RunError::Violation { policy: name.clone(), violation })?;
    if let Some(drawing) = drawing {
        drawing.finish(&mut run);
    }
    let end_ns = workload.warmup_ns + run.duration_ns;
    run.schedule = recorder.map(|recorder| recorder.finish(end_ns, &shown, &run.tasks));
    Ok(run)
}

/// A timeline in the making.
struct Drawing {
    timeline: TimelineRecorder,
    from_ns: u64,
    limits: Limits,
}

impl Drawing {
    fn new(workload: &Workload, limits: Limits) -> Drawing {
        let from_ns = workload.warmup_ns;
        Drawing { timeline: TimelineRecorder::new(workload.cpus, from_ns, limits.slices), from_ns, limits }
    }

    fn finish(self, run: &mut Run) {
        let end_ns = self.from_ns + run.duration_ns;
        if let Some(figures) = &mut run.figures {
            figures.timeline = Some(self.timeline.finish(end_ns, self.limits.timeline_bytes));
        }
    }
}

impl Failure for RunError {
    fn kind(&self) -> FailureKind {
        match self {
            RunError::Machine { error, .. } => error.kind(),
            RunError::Scheduler { kind, .. } => *kind,
            RunError::Endless { .. } | RunError::Workload(_) => FailureKind::BadInput,
            RunError::Interrupted { .. } | RunError::Violation { .. } => FailureKind::Failed,
        }
    }
}
