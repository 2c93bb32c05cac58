//! The first process of a run: it forks the others, ends the run in time, notices processes that die, and leaves none
//! behind.

use std::io;
use std::sync::atomic::Ordering;

use divvy_results::progress::Progress;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

use super::clock::{monotonic_ns, process_cpu_ns, wait_while};
use super::context::Context;
use super::cpus;
use super::error::PlayError;
use super::handover::Handover;
use super::process::{cannot_start, die_with, single, threaded};
use super::record::{Log, LogContents};
use super::run_setup::{Launch, RunSetup, SUPERVISOR};
use super::shared_state::{Failure, SharedState, Wait};
use super::spawner::Spawner;
use super::sys::{self, PANICKED, SingleThreaded};

/// How often it looks for ended processes, and reports progress, when nothing wakes it.
const LOOK_NS: u64 = 250_000_000;

/// Time from the opening of the gate to the start of the run, so that all threads are in place.
const HEAD_START_NS: u64 = 20_000_000;
/// Additional time for each task.
const HEAD_START_EACH_NS: u64 = 50_000;

/// How long the processes may take to end after the run.
const GRACE_NS: u64 = 10_000_000_000;

/// The measurements of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The measurements of all threads.
    pub log: LogContents,
    /// CPU time in ns that anything, also other programs, used on these CPUs. `None` if the system does not tell.
    pub busy_ns: Option<u64>,
}

/// Child processes. Dropping this kills those that still run.
#[derive(Default)]
struct Children(Vec<Pid>);

impl Drop for Children {
    fn drop(&mut self) {
        for &child in &self.0 {
            let _ = kill_process(child, Signal::KILL);
        }
        while !self.0.is_empty() {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, _))) => self.0.retain(|&child| child != pid),
                _ => break,
            }
        }
    }
}

/// Runs the workload once, with at most `most` threads at one time.
///
/// # Errors
/// When the machine lacks something, or the run cannot go on.
pub fn run(setup: &RunSetup, most: u32, progress: &dyn Progress) -> Result<Outcome, PlayError> {
    let single = SingleThreaded::check().ok_or_else(|| {
        PlayError::Broken(
            "this process has more than one thread, so it cannot fork safely: play the workload from a process with one \
             thread"
                .to_owned(),
        )
    })?;
    let cannot_share = |error: io::Error| {
        PlayError::Machine(format!("cannot create shared memory for the processes of the run: {error}"))
    };
    let shared = SharedState::new(setup.workload, most, setup.processes.len() + 1).map_err(cannot_share)?;
    let log = Log::new().map_err(cannot_share)?;
    let handover = Handover::new(setup, most).map_err(cannot_share)?;
    let context = Context { setup, shared: &shared, log: &log, handover: handover.as_ref() };
    let is_real_time = sys::be_real_time();
    let supervisor =
        Supervisor { context, single, children: Children::default(), start_ns: 0, reported_ns: 0 };
    let times = supervisor.run(progress);
    if is_real_time {
        sys::be_ordinary();
    }
    let mut contents = log
        .read()
        .map_err(|error| PlayError::Broken(format!("cannot read the measurements back: {error}")))?;
    // The failure in the log has the reason; the supervisor knows only that there is one.
    if let Some(failure) = contents.failures.first() {
        return Err(PlayError::Broken(format!("{}: {failure}", setup.workload.name)));
    }
    let (busy_ns, overhead_ns) =
        times.map_err(|failure| PlayError::Broken(format!("{}: {failure}", setup.workload.name)))?;
    contents.overhead_ns += overhead_ns;
    Ok(Outcome { log: contents, busy_ns })
}

/// The running supervisor. Times are in ns of CLOCK_MONOTONIC for `start_ns`, of the run for `reported_ns`.
struct Supervisor<'a> {
    context: Context<'a>,
    single: SingleThreaded,
    children: Children,
    start_ns: u64,
    reported_ns: u64,
}

impl Supervisor<'_> {
    /// Returns two CPU times during the run, in ns: of everything on its CPUs, and of this process.
    fn run(mut self, progress: &dyn Progress) -> Result<(Option<u64>, u64), Failure> {
        let context = self.context;
        let mut spawner = Spawner::new(context, SUPERVISOR);
        for number in 1..=context.setup.processes.len() {
            self.fork(|| threaded(context, number)).map_err(|error| {
                let name = context.setup.processes[number - 1];
                format!("cannot start process {name}: {error}; raise `ulimit -u` and the cgroup's pids.max")
            })?;
        }
        spawner.begin(&mut |launch| self.start(launch, true))?;
        self.wait_ready()?;
        let busy_before_ns = cpus::busy_ns(&context.setup.cpus);
        let cpu_before_ns = process_cpu_ns();
        self.open();
        self.serve(&mut spawner, progress)?;
        context.shared.end();
        let busy_ns = cpus::busy_ns(&context.setup.cpus);
        let overhead_ns = process_cpu_ns() - cpu_before_ns;
        self.wait_gone()?;
        let busy_ns = busy_ns.zip(busy_before_ns).map(|(after, before)| after.saturating_sub(before));
        Ok((busy_ns, overhead_ns))
    }

    fn fork(&mut self, body: impl FnOnce()) -> io::Result<()> {
        let parent = getpid();
        let child = self.single.fork(|| {
            die_with(parent);
            body();
        })?;
        self.children.0.push(child);
        Ok(())
    }

    fn start(&mut self, launch: Launch, waits: bool) -> Result<(), Failure> {
        let context = self.context;
        self.fork(|| single(context, launch, waits))
            .map_err(|error| cannot_start(context, "process", launch, &error))
    }

    fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.start_ns)
    }

    /// Waits until all initial instances are set up, and so are the processes that start threads.
    fn wait_ready(&mut self) -> Result<(), Failure> {
        let setup = self.context.setup;
        let tasks: u32 = (0..setup.workload.tasks.len()).map(|class| setup.initial(class)).sum();
        let wanted = tasks + setup.processes.len() as u32;
        while self.context.shared.ready_count() < wanted {
            let before = self.context.shared.wake_word(SUPERVISOR).load(Ordering::SeqCst);
            self.look_after_children()?;
            if self.context.shared.ready_count() < wanted {
                wait_while(self.context.shared.wake_word(SUPERVISOR), before, monotonic_ns() + LOOK_NS);
            }
        }
        Ok(())
    }

    fn open(&mut self) {
        let tasks = u64::from(self.context.shared.ready_count());
        self.start_ns = monotonic_ns() + HEAD_START_NS + tasks * HEAD_START_EACH_NS;
        self.context.shared.open(self.start_ns);
    }

    /// Starts instances until the run ends.
    fn serve(&mut self, spawner: &mut Spawner, progress: &dyn Progress) -> Result<(), Failure> {
        let shared = self.context.shared;
        let until_ns = self.context.setup.workload.duration_ns.unwrap_or(u64::MAX);
        loop {
            let before = shared.wake_word(SUPERVISOR).load(Ordering::SeqCst);
            self.look_after_children()?;
            let now_ns = self.now_ns();
            if now_ns >= until_ns || shared.all_ended() || self.is_stuck(now_ns)? {
                return Ok(());
            }
            self.report_progress(now_ns, progress)?;
            let next_ns = spawner.serve(now_ns, &mut |launch| self.start(launch, false))?;
            let look_ns = next_ns.min(now_ns + LOOK_NS).min(until_ns);
            wait_while(shared.wake_word(SUPERVISOR), before, self.start_ns.saturating_add(look_ns));
        }
    }

    fn report_progress(&mut self, now_ns: u64, progress: &dyn Progress) -> Result<(), Failure> {
        let since_ns = now_ns.saturating_sub(std::mem::replace(&mut self.reported_ns, now_ns));
        if progress.advance(since_ns) { Ok(()) } else { Err("the run was interrupted".to_owned()) }
    }

    /// Reaps children that have ended. Fails if one did not end with success, or if the run has failed.
    fn look_after_children(&mut self) -> Result<(), Failure> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            self.children.0.retain(|&child| child != pid);
            check_exit(pid, status)?;
        }
        if self.context.shared.has_failed() {
            Err("the run failed, and the reason could not be written to its log: is memory short?".to_owned())
        } else {
            Ok(())
        }
    }

    fn wait_gone(&mut self) -> Result<(), Failure> {
        let until_ns = monotonic_ns() + GRACE_NS;
        loop {
            let before = self.context.shared.wake_word(SUPERVISOR).load(Ordering::SeqCst);
            self.look_after_children()?;
            if self.children.0.is_empty() {
                return Ok(());
            }
            if monotonic_ns() > until_ns {
                let left = self.children.0.len();
                return Err(format!(
                    "{left} processes did not end within {} s and were killed: play with fewer tasks, or on a less busy machine",
                    GRACE_NS / 1_000_000_000
                ));
            }
            // The end of a process does not wake the supervisor.
            wait_while(self.context.shared.wake_word(SUPERVISOR), before, monotonic_ns() + 1_000_000);
        }
    }

    /// Whether nothing can happen any more. A task that waits for a token is no error: a server may outlive its clients.
    /// It then waits for the end of the run, if the run has a duration.
    fn is_stuck(&self, now_ns: u64) -> Result<bool, Failure> {
        let workload = self.context.setup.workload;
        if workload.tasks.iter().filter_map(|task| task.stop_ns).any(|stop_ns| stop_ns >= now_ns) {
            // The end of one task may release others.
            return Ok(false);
        }
        let Some(waiting) = self.context.shared.stuck() else { return Ok(false) };
        const MOST_NAMED: usize = 8;
        let deadlocked: Vec<String> = waiting
            .iter()
            .filter_map(|&(class, number, wait)| {
                let what = match wait {
                    Wait::Mutex(i) => format!("for lock {}", workload.locks[i]),
                    Wait::Barrier(i) => format!("at barrier {}", workload.barriers[i].name),
                    Wait::Token(_) => return None,
                };
                Some(format!("{} waits {what}", workload.tasks[class].instance_name(number)))
            })
            .collect();
        if deadlocked.is_empty() {
            return Ok(workload.duration_ns.is_none());
        }
        let named = &deadlocked[..deadlocked.len().min(MOST_NAMED)];
        let more = if deadlocked.len() > MOST_NAMED {
            format!(", and {} more", deadlocked.len() - MOST_NAMED)
        } else {
            String::new()
        };
        Err(format!(
            "the workload deadlocks: {}{more}; change the order of its locks, or the parties of its barriers",
            named.join(", ")
        ))
    }
}

/// Fails if a child did not end with success.
fn check_exit(pid: Pid, status: WaitStatus) -> Result<(), Failure> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => Ok(()),
        (Some(PANICKED), _) => Err(format!(
            "process {pid} of the workload panicked: this is a defect of divvy, please report it"
        )),
        (Some(code), _) => Err(format!(
            "process {pid} of the workload ended with exit code {code}: this is a defect of divvy, please report it"
        )),
        (None, Some(signal)) => Err(format!(
            "process {pid} of the workload was killed by signal {signal}: another program sent it, or memory ran out"
        )),
        (None, None) => Err(format!("process {pid} of the workload ended, and the system does not say how")),
    }
}
