//! A workload as real threads: the file that the simulator reads, run by the kernel's own scheduler, or by a policy that
//! is loaded through sched_ext; and the same report.
//!
//! Each instance of a task is a thread: of the process that the task names, or of a process of its own. The first
//! process forks the others, opens the gate at which all wait, and sleeps; it asks for real-time priority, and needs
//! none to be right, because who works looks at the clock. What they wait for each other with is in shared memory
//! ([`board`]); what was seen of them ([`record`]) is made a report by [`crate::measured`].
//!
//! What differs from the simulation: a thread's clock is looked at every 200 us of work, so service errors are as
//! sharp as that; what the steps of a program cost is real; a switch is counted when a thread leaves its CPU.

mod board;
mod burn;
mod clock;
mod cpus;
mod error;
mod exact;
mod first;
mod life;
mod measured;
mod nursery;
mod plan;
mod process;
mod record;
mod scheduler;
mod sys;
mod weight;

use crate::measured::Observation;
use divvy_results::report::{Report, Run, SCHEMA_VERSION};
use divvy_sim::run::Progress;
use divvy_sim::sharing::Sharing;
use divvy_workload::Workload;
use divvy_workload::program::Program;

pub use error::PlayError;
pub use exact::ByScheduler;
pub use scheduler::name as scheduler_name;
pub use weight::{ByNice, Scale, SetWeight};

use burn::Speed;
use first::Outcome;
use plan::PlayPlan;

/// How to play a workload.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of all random streams: with the same, the demands are those of the simulation.
    pub seed: u64,
    /// Repetitions, one after the other; 0 counts as 1.
    pub reps: u32,
    /// Most threads at one time.
    pub max_threads: u32,
}

/// A workload, played.
#[derive(Debug)]
pub struct Played {
    /// As of a simulation, of one policy: [`scheduler_name`].
    pub report: Report,
    /// What a reader of the report should know: sentences.
    pub notes: Vec<String>,
}

/// Plays a workload that [`divvy_sim::run::adapted`] gave. The calling process must have one thread and no children.
///
/// # Errors
/// When the machine lacks something, the workload does not fit, or the run broke off. Nothing is left behind then.
pub fn play(
    workload: &Workload,
    options: &Options,
    set_weight: &mut dyn SetWeight,
    progress: &dyn Progress,
) -> Result<Played, PlayError> {
    let cpus = cpus::choose(workload.cpus)?;
    let mut notes: Vec<String> = set_weight.prepare(workload)?.into_iter().collect();
    let mut plan = PlayPlan {
        workload,
        programs: workload.tasks.iter().map(|task| Program::new(&task.program)).collect(),
        seed: options.seed,
        rep: 0,
        cpus,
        speed: Speed::measure(),
        set_weight,
        processes: PlayPlan::processes_of(workload),
    };
    check_size(&plan, options.max_threads)?;
    let mut runs = Vec::new();
    let policy = scheduler::name();
    for rep in 0..options.reps.max(1) {
        plan.rep = rep;
        let outcome = first::run(&plan, options.max_threads, progress)?;
        let (run, more) = judge(workload, &policy, rep, outcome);
        runs.push(run);
        notes.extend(more);
    }
    let report = Report {
        schema_version: SCHEMA_VERSION,
        workload: workload.name.clone(),
        cpus: workload.cpus,
        seed: options.seed,
        version: None,
        command: None,
        trace: None,
        runs,
    };
    Ok(Played { report, notes })
}

fn check_size(plan: &PlayPlan, most: u32) -> Result<(), PlayError> {
    let tasks: u64 = (0..plan.workload.tasks.len()).map(|class| u64::from(plan.initial(class))).sum();
    if tasks <= most.into() {
        return Ok(());
    }
    let name = &plan.workload.name;
    Err(PlayError::Workload(format!(
        "{name}: it starts {tasks} tasks, and each would be a thread: --max-threads allows {most}"
    )))
}

/// The report of one run, and what is to be said about it.
fn judge(workload: &Workload, policy: &str, rep: u32, outcome: Outcome) -> (Run, Vec<String>) {
    /// Of all CPU time: less than this is not worth a note.
    const LITTLE: f64 = 0.02;
    /// The kernel's account of busy CPUs is in ticks of 10 ms.
    const COARSE_NS: f64 = 50_000_000.0;
    let Outcome { told, busy_ns } = outcome;
    let ours_ns = told.lives.iter().map(|life| life.received_ns).sum::<u64>() + told.overhead_ns;
    let sharing = Sharing::named(policy);
    let observation = Observation { policy: policy.to_owned(), rep, sharing, lives: told.lives };
    let run = measured::report(workload, &observation);
    let cpu_time_ns = (run.duration_ns + workload.warmup_ns) as f64 * f64::from(workload.cpus);
    let mut notes = Vec::new();
    let mut note = |ns: u64, least_ns: f64, text: &str| {
        if ns as f64 > cpu_time_ns * LITTLE + least_ns {
            notes.push(format!("{text} {:.1}% of the CPU time", ns as f64 / cpu_time_ns * 100.0));
        }
    };
    note(told.overhead_ns, 0.0, "starting tasks and keeping the time took");
    let others_ns = busy_ns.unwrap_or(0).saturating_sub(ours_ns);
    note(others_ns, COARSE_NS, "the system and other programs took");
    (run, notes)
}
