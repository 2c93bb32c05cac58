//! Plays a workload with real threads: the same file that the simulator reads, scheduled by the kernel's own scheduler or
//! by a policy that is loaded through sched_ext. The result is the same report as that of a simulation.
//!
//! # How a run works
//!
//! Each instance of a task is a thread. It belongs to the process that the task names, or is a process of its own.
//! [`play`] does these steps for each repetition:
//!
//! 1. `run_setup` collects all that is fixed: the programs, the CPUs, the processes.
//! 2. `supervisor` runs in the calling process. It makes the shared memory (`shared_state`), forks the other processes
//!    (`process`), waits until all threads are set up, and opens the gate at which they wait.
//! 3. `spawner` starts instances that arrive or are forked while the run goes on: in the supervisor for single processes,
//!    and in each named process for its own threads.
//! 4. `instance` sets up the thread of one instance, and `task_thread` executes its program. `burn` uses the CPU time that a step asks for; mutexes, barriers
//!    and tokens are in `shared_state`.
//!    A task with an `executable` first executes that: a program that the kernel knows when it runs again (`handover`, `program`).
//! 5. At its end each thread appends its observations to a file in memory (`record`).
//! 6. `measured` turns the observations into a report: rows, fluid model and statistics are those of a simulation.
//!
//! The supervisor asks for real-time priority. The results are right without it too, because each thread reads the clock
//! itself.
//!
//! # Weights
//!
//! The kernel knows weights as nice values. [`ByNice`] finds the nice values that fit best; [`ByScheduler`] gives exact
//! weights to a loaded divvy scheduler, which takes any weight. Both implement [`SetWeight`].
//!
//! # Differences from the simulation
//!
//! - A thread reads its clock every 200 us of work, so service errors are known with that precision.
//! - The steps of a program have real costs.
//! - A switch is counted when a thread leaves its CPU.
//!
//! # Example
//!
//! ```no_run
//! use divvy_play::{ByScheduler, Options, Scale, play};
//! # use divvy_play::PlayError;
//! # use divvy_results::progress::Progress;
//! # use divvy_workload::Workload;
//! # fn example(workload: &Workload, progress: &dyn Progress) -> Result<(), PlayError> {
//! let options = Options { seed: 1, reps: 1, max_threads: 4096, command: None };
//! let played = play(workload, &options, &mut ByScheduler::new(Scale::Exact), progress)?;
//! println!("{} tasks", played.report.runs[0].tasks.len());
//! # Ok(())
//! # }
//! ```

mod burn;
mod clock;
mod context;
mod cpus;
mod error;
mod exact;
mod handover;
mod instance;
mod measured;
mod process;
mod program;
mod record;
mod run_setup;
mod scheduler;
mod shared_state;
mod spawner;
mod supervisor;
mod sys;
mod task_thread;
mod weight;

use std::path::Path;

use crate::measured::MeasuredRun;
use divvy_results::progress::Progress;
use divvy_results::report::{Report, Run, SCHEMA_VERSION};
use divvy_sim::sharing::Sharing;
use divvy_workload::Workload;
use divvy_workload::program::Program;

pub use error::PlayError;
pub use exact::ByScheduler;
pub use program::run_instance;
pub use scheduler::name as scheduler_name;
pub use weight::{ByNice, Scale, SetWeight};

use burn::Speed;
use run_setup::RunSetup;
use supervisor::Outcome;

/// How to play a workload.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Seed of all random streams. A simulation with the same seed has the same demands.
    pub seed: u64,
    /// Number of repetitions, one after the other; 0 counts as 1.
    pub reps: u32,
    /// Limit of threads at one time.
    pub max_threads: u32,
    /// The command that calls [`run_instance`] before all else. Tasks with an `executable` and no `process` execute it, as programs
    /// of their own; without a command all tasks are forked.
    pub command: Option<&'a Path>,
}

/// The result of [`play`].
#[derive(Debug)]
pub struct Played {
    /// The report, as a simulation makes it. Its only policy is [`scheduler_name`].
    pub report: Report,
    /// Notes for the reader of the report, each without a full stop.
    pub notes: Vec<String>,
}

/// Plays a workload that [`divvy_sim::run::adapted`] returned. Progress is in ns, over all runs. The calling process must have one thread and no children.
///
/// # Errors
/// When the machine lacks something, the workload does not fit, or the run cannot go on. No process is left behind.
pub fn play(
    workload: &Workload,
    options: &Options<'_>,
    set_weight: &mut dyn SetWeight,
    progress: &dyn Progress,
) -> Result<Played, PlayError> {
    let cpus = cpus::choose(workload.cpus)?;
    let mut notes: Vec<String> = set_weight.prepare(workload)?.into_iter().collect();
    let mut setup = RunSetup {
        workload,
        programs: workload.tasks.iter().map(|task| Program::new(&task.program)).collect(),
        seed: options.seed,
        rep: 0,
        cpus,
        speed: Speed::measure(),
        set_weight,
        processes: RunSetup::processes_of(workload),
        command: options.command,
    };
    check_size(&setup, options.max_threads)?;
    let mut runs = Vec::new();
    let policy = scheduler::name();
    let reps = options.reps.max(1);
    progress.begin(workload.duration_ns.map(|ns| ns.saturating_mul(reps.into())));
    for rep in 0..reps {
        setup.rep = rep;
        let outcome = supervisor::run(&setup, options.max_threads, progress)?;
        let (run, more) = judge(workload, &policy, rep, outcome);
        runs.push(run);
        notes.extend(more);
    }
    let report = Report {
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
    };
    Ok(Played { report, notes })
}

fn check_size(setup: &RunSetup, most: u32) -> Result<(), PlayError> {
    let tasks: u64 = (0..setup.workload.tasks.len()).map(|class| u64::from(setup.initial(class))).sum();
    if tasks <= most.into() {
        return Ok(());
    }
    let name = &setup.workload.name;
    Err(PlayError::Workload(format!(
        "{name}: the workload starts {tasks} tasks, each as a thread, and --max-threads allows {most}: start fewer tasks, or \
         raise --max-threads"
    )))
}

/// The report of one run, and notes about it.
fn judge(workload: &Workload, policy: &str, rep: u32, outcome: Outcome) -> (Run, Vec<String>) {
    /// Share of all CPU time below which there is no note.
    const LITTLE: f64 = 0.02;
    /// The kernel counts busy time in ticks of 10 ms, so a few ticks more or less mean nothing.
    const COARSE_NS: f64 = 50_000_000.0;
    let Outcome { log, busy_ns } = outcome;
    let ours_ns = log.threads.iter().map(|thread| thread.received_ns).sum::<u64>() + log.overhead_ns;
    let sharing = Sharing::named(policy);
    let measured_run = MeasuredRun { policy: policy.to_owned(), rep, sharing, threads: log.threads };
    let run = measured::report(workload, &measured_run);
    let cpu_time_ns = (run.duration_ns + workload.warmup_ns) as f64 * f64::from(workload.cpus);
    let mut notes = Vec::new();
    let mut note = |ns: u64, least_ns: f64, text: &str| {
        if ns as f64 > cpu_time_ns * LITTLE + least_ns {
            notes.push(format!("{text} {:.1}% of the CPU time", ns as f64 / cpu_time_ns * 100.0));
        }
    };
    note(log.overhead_ns, 0.0, "starting tasks and keeping the time took");
    let others_ns = busy_ns.unwrap_or(0).saturating_sub(ours_ns);
    note(others_ns, COARSE_NS, "the system and other programs took");
    (run, notes)
}
