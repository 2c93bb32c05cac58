//! The first process: forks the others, keeps the time, sees to those that die, and leaves nothing behind.

use std::io;
use std::sync::atomic::Ordering;

use divvy_sim::run::Progress;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

use super::board::{Board, Failure, Wait};
use super::clock::{monotonic_ns, process_cpu_ns, wait_while};
use super::cpus;
use super::error::PlayError;
use super::life::{Birth, Stage};
use super::nursery::Nursery;
use super::plan::{FIRST, PlayPlan};
use super::process::{cannot_start, die_with, single, threaded};
use super::record::{Log, Told};
use super::sys::{self, PANICKED, SingleThreaded};

/// How often it looks up though nothing calls: for deaths, and for progress.
const LOOK_NS: u64 = 250_000_000;

/// From the gate's opening to the run's begin, and more for each task, so that all are in place.
const HEAD_START_NS: u64 = 20_000_000;
const HEAD_START_EACH_NS: u64 = 50_000;

/// How long all have to end when it is over.
const GRACE_NS: u64 = 10_000_000_000;

/// What a run came to, and who else used these CPUs meanwhile.
#[derive(Debug)]
pub struct Outcome {
    pub told: Told,
    /// CPU time of everything on these CPUs.
    pub busy_ns: Option<u64>,
}

/// Child processes. Those that are left when this is dropped are killed.
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

/// Runs the plan once.
pub fn run(plan: &PlayPlan, most: u32, progress: &dyn Progress) -> Result<Outcome, PlayError> {
    let single = SingleThreaded::check().ok_or_else(|| {
        PlayError::Broken("a workload is played by processes without other threads only".to_owned())
    })?;
    let setup =
        |error: io::Error| PlayError::Machine(format!("cannot share memory among processes: {error}"));
    let board = Board::new(plan.workload, most, plan.processes.len() + 1).map_err(setup)?;
    let log = Log::new().map_err(setup)?;
    let stage = Stage { plan, board: &board, log: &log };
    let is_real_time = sys::be_real_time();
    let first = First { stage, single, children: Children::default(), start_ns: 0, told_ns: 0 };
    let others = first.run(progress);
    if is_real_time {
        sys::be_ordinary();
    }
    let mut told =
        log.read().map_err(|error| PlayError::Broken(format!("what was measured is lost: {error}")))?;
    // What a task says of its failure says more than that it failed.
    if let Some(failure) = told.failures.first() {
        return Err(PlayError::Broken(format!("{}: {failure}", plan.workload.name)));
    }
    let (busy_ns, overhead_ns) =
        others.map_err(|failure| PlayError::Broken(format!("{}: {failure}", plan.workload.name)))?;
    told.overhead_ns += overhead_ns;
    Ok(Outcome { told, busy_ns })
}

struct First<'a> {
    stage: Stage<'a>,
    single: SingleThreaded,
    children: Children,
    start_ns: u64,
    told_ns: u64,
}

impl First<'_> {
    /// CPU time while the run went on: of everything on its CPUs, and of this process.
    fn run(mut self, progress: &dyn Progress) -> Result<(Option<u64>, u64), Failure> {
        let stage = self.stage;
        let mut nursery = Nursery::new(stage, FIRST);
        for number in 1..=stage.plan.processes.len() {
            self.fork(|| threaded(stage, number)).map_err(|error| {
                format!("cannot start process {}: {error}", stage.plan.processes[number - 1])
            })?;
        }
        nursery.begin(&mut |birth| self.start(birth, true))?;
        self.wait_ready()?;
        let busy_before_ns = cpus::busy_ns(&stage.plan.cpus);
        let cpu_before_ns = process_cpu_ns();
        self.open();
        self.serve(&mut nursery, progress)?;
        stage.board.end();
        let busy_ns = cpus::busy_ns(&stage.plan.cpus);
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

    fn start(&mut self, birth: Birth, waits: bool) -> Result<(), Failure> {
        let stage = self.stage;
        self.fork(|| single(stage, birth, waits))
            .map_err(|error| cannot_start(stage, "process", birth, &error))
    }

    fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.start_ns)
    }

    /// All that are there from the beginning are set up, and so are the processes that start threads.
    fn wait_ready(&mut self) -> Result<(), Failure> {
        let plan = self.stage.plan;
        let tasks: u32 = (0..plan.workload.tasks.len()).map(|class| plan.initial(class)).sum();
        let wanted = tasks + plan.processes.len() as u32;
        while self.stage.board.ready_count() < wanted {
            let rung = self.stage.board.bell(FIRST).load(Ordering::SeqCst);
            self.look_after_children()?;
            if self.stage.board.ready_count() < wanted {
                wait_while(self.stage.board.bell(FIRST), rung, monotonic_ns() + LOOK_NS);
            }
        }
        Ok(())
    }

    fn open(&mut self) {
        let tasks = u64::from(self.stage.board.ready_count());
        self.start_ns = monotonic_ns() + HEAD_START_NS + tasks * HEAD_START_EACH_NS;
        self.stage.board.open(self.start_ns);
    }

    /// Until the run's end.
    fn serve(&mut self, nursery: &mut Nursery, progress: &dyn Progress) -> Result<(), Failure> {
        let board = self.stage.board;
        let until_ns = self.stage.plan.workload.duration_ns.unwrap_or(u64::MAX);
        loop {
            let rung = board.bell(FIRST).load(Ordering::SeqCst);
            self.look_after_children()?;
            let now_ns = self.now_ns();
            if now_ns >= until_ns || board.is_deserted() || self.is_stuck(now_ns)? {
                return Ok(());
            }
            self.tell(now_ns, progress)?;
            let next_ns = nursery.serve(now_ns, &mut |birth| self.start(birth, false))?;
            let look_ns = next_ns.min(now_ns + LOOK_NS).min(until_ns);
            wait_while(board.bell(FIRST), rung, self.start_ns.saturating_add(look_ns));
        }
    }

    fn tell(&mut self, now_ns: u64, progress: &dyn Progress) -> Result<(), Failure> {
        let since_ns = now_ns.saturating_sub(std::mem::replace(&mut self.told_ns, now_ns));
        if progress.advance(since_ns) { Ok(()) } else { Err("the run was interrupted".to_owned()) }
    }

    /// Reaps who has ended. An end that is not in order is the run's.
    fn look_after_children(&mut self) -> Result<(), Failure> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            self.children.0.retain(|&child| child != pid);
            in_order(pid, status)?;
        }
        if self.stage.board.has_failed() { Err("the run broke off".to_owned()) } else { Ok(()) }
    }

    fn wait_gone(&mut self) -> Result<(), Failure> {
        let until_ns = monotonic_ns() + GRACE_NS;
        loop {
            let rung = self.stage.board.bell(FIRST).load(Ordering::SeqCst);
            self.look_after_children()?;
            if self.children.0.is_empty() {
                return Ok(());
            }
            if monotonic_ns() > until_ns {
                let left = self.children.0.len();
                return Err(format!(
                    "{left} processes did not end within {} s and were killed",
                    GRACE_NS / 1_000_000_000
                ));
            }
            // The end of a process rings no bell.
            wait_while(self.stage.board.bell(FIRST), rung, monotonic_ns() + 1_000_000);
        }
    }

    /// Whether nothing can happen any more. That some wait for tokens is no defect: a server may well outlive its
    /// clients; it then waits for the end of the run, if that has a time.
    fn is_stuck(&self, now_ns: u64) -> Result<bool, Failure> {
        let workload = self.stage.plan.workload;
        if workload.tasks.iter().filter_map(|task| task.stop_ns).any(|stop_ns| stop_ns >= now_ns) {
            return Ok(false); // the end of one may set others free
        }
        let Some(waiting) = self.stage.board.stuck() else { return Ok(false) };
        const MOST_NAMED: usize = 8;
        let hard: Vec<String> = waiting
            .iter()
            .filter_map(|&(class, number, wait)| {
                let what = match wait {
                    Wait::Mutex(i) => format!("for lock {}", workload.locks[i]),
                    Wait::Meeting(i) => format!("at barrier {}", workload.barriers[i].name),
                    Wait::Token => return None,
                };
                Some(format!("{} waits {what}", workload.tasks[class].instance_name(number)))
            })
            .collect();
        if hard.is_empty() {
            return Ok(workload.duration_ns.is_none());
        }
        let named = &hard[..hard.len().min(MOST_NAMED)];
        let more = if hard.len() > MOST_NAMED {
            format!(", and {} more", hard.len() - MOST_NAMED)
        } else {
            String::new()
        };
        Err(format!("the workload deadlocks: {}{more}", named.join(", ")))
    }
}

fn in_order(pid: Pid, status: WaitStatus) -> Result<(), Failure> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => Ok(()),
        (Some(PANICKED), _) => {
            Err(format!("process {pid} of the workload panicked: this is a defect of divvy"))
        }
        (_, Some(signal)) => Err(format!(
            "process {pid} of the workload was killed by signal {signal}: by someone else, or for want of memory"
        )),
        (code, None) => Err(format!("process {pid} of the workload ended with {code:?}")),
    }
}
