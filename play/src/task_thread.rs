//! The thread of one instance of a task: it executes the task's program and records observations of itself.
//!
//! A step costs CPU time beside the demand of the program: system calls, a wake-up. The bursts that follow are shorter by
//! that cost, each by at most half, so the total matches the total demand. From a wake-up to the end of the next burst the
//! thread takes the time of the wake-up as now, as the simulation does. So a `sleep` or `period` without work before it
//! does not drift.

use std::sync::atomic::Ordering;

use crate::measured::{MeasuredThread, Observation};
use divvy_workload::program::{Op, Position};
use divvy_workload::{Arrivals, Purpose, Stream, instance, stream};
use rustix::thread::sched_yield;

use super::burn::{Speed, Stamp, burn};
use super::clock;
use super::context::Context;
use super::cpus;
use super::run_setup::Launch;
use super::shared_state::{Failure, SpawnRequest};
use super::sys::thread_switches;

/// A chunk of work that took this much longer than its CPU time was interrupted: the thread was off its CPU.
const GAP_NS: u64 = 20_000;

/// Steps without work between two reads of the clocks.
const STEPS_BETWEEN_READS: u32 = 64;

/// Number of observations for which a thread reserves room at a time.
const ROOM: u64 = 1024;

/// Why a thread ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The program is finished.
    Done,
    /// The task must stop, or the run is over.
    Stopped,
}

/// The result of a step: `None` means that the program goes on.
type Step = Result<Option<End>, Failure>;

/// A job in progress.
#[derive(Clone, Copy, Debug)]
struct Job {
    began_ns: u64,
    /// Time that it was not runnable, in ns.
    blocked_ns: u64,
    worked: bool,
}

/// A thread that executes the steps of an instance.
pub struct TaskThread<'a> {
    context: Context<'a>,
    launch: Launch,
    slot: u32,
    /// CLOCK_MONOTONIC at the run's time 0.
    start_ns: u64,
    deadline_ns: u64,
    run: Stream,
    sleep: Stream,
    at: Position,
    speed: Speed,
    /// The last read of the clocks.
    stamp: Stamp,
    /// CPU clock at the start of the program.
    cpu_before_ns: u64,
    /// Value of the CPU clock at which all work so far is done.
    target_ns: u64,
    /// When it woke. It is `None` again after the next burst.
    woken_ns: Option<u64>,
    /// When it woke, and how long it then took to get a CPU. It is `None` again when work comes.
    delay: Option<(u64, u64)>,
    job: Option<Job>,
    /// CPU clock when the last job ended.
    job_cpu_ns: u64,
    is_warm: bool,
    switches_before: u64,
    migrations_before: Option<u64>,
    room: u64,
    observations: Vec<Observation>,
}

impl<'a> TaskThread<'a> {
    /// Makes the thread of an instance that has this slot.
    pub fn new(context: Context<'a>, launch: Launch, slot: u32) -> TaskThread<'a> {
        let setup = context.setup;
        let key = instance(launch.class, launch.number);
        let stamp = Stamp::now();
        TaskThread {
            context,
            launch,
            slot,
            start_ns: 0,
            deadline_ns: setup.deadline_ns(launch.class),
            run: stream(setup.seed, setup.rep, key, Purpose::Run),
            sleep: stream(setup.seed, setup.rep, key, Purpose::Sleep),
            at: Position::default(),
            speed: setup.speed,
            stamp,
            cpu_before_ns: stamp.cpu_ns,
            target_ns: stamp.cpu_ns,
            woken_ns: None,
            delay: None,
            job: None,
            job_cpu_ns: stamp.cpu_ns,
            is_warm: setup.workload.warmup_ns == 0,
            switches_before: thread_switches(),
            migrations_before: cpus::migrations(),
            room: 0,
            observations: Vec::new(),
        }
    }

    /// Starts the clocks: what came before does not count.
    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.stamp = Stamp::now();
        self.cpu_before_ns = self.stamp.cpu_ns;
        self.target_ns = self.stamp.cpu_ns;
        self.job_cpu_ns = self.stamp.cpu_ns;
        self.switches_before = thread_switches();
    }

    /// Executes all steps.
    ///
    /// # Errors
    /// When the run cannot go on.
    pub fn run(&mut self) -> Result<End, Failure> {
        let begins_ns = match &self.context.setup.workload.tasks[self.launch.class].arrivals {
            Arrivals::Closed { think } => self.launch.due_ns.saturating_add(think.sample_ns(&mut self.sleep)),
            _ => self.launch.due_ns,
        };
        if let Some(end) = self.sleep_until(begins_ns)? {
            return Ok(end);
        }
        let mut steps = 0;
        loop {
            if self.is_stopped() {
                return Ok(End::Stopped);
            }
            steps += 1;
            if steps % STEPS_BETWEEN_READS == 0 {
                self.read_clocks()?;
            }
            if let Some(end) = self.step()? {
                return Ok(end);
            }
        }
    }

    fn step(&mut self) -> Step {
        let context = self.context;
        let Context { setup, shared, .. } = context;
        match *setup.programs[self.launch.class].next(&mut self.at) {
            Op::Run(ref demand) => {
                let demand_ns = demand.sample_ns(&mut self.run);
                return self.work(demand_ns);
            }
            Op::RunForever => return self.work(u64::MAX),
            Op::Sleep(ref time) => {
                let wake_ns = self.now().saturating_add(time.sample_ns(&mut self.sleep));
                return self.sleep_as_step(wake_ns);
            }
            Op::Period(period_ns) => {
                let released = self.now().saturating_sub(self.launch.due_ns) / period_ns.max(1) + 1;
                let wake_ns = self.launch.due_ns.saturating_add(released.saturating_mul(period_ns));
                return self.sleep_as_step(wake_ns);
            }
            Op::Until(wake_ns) if wake_ns > self.now() => return self.sleep_as_step(wake_ns),
            Op::Until(wake_ns) => self.next_job_at_once(wake_ns)?,
            Op::Lock(i) => {
                if !shared.lock(i, self.slot) {
                    return self.wait();
                }
            }
            Op::Unlock(i) => shared.unlock(i, self.slot, self.now()),
            Op::Barrier(i) => {
                if !shared.arrive(i, self.slot, self.now()) {
                    return self.wait();
                }
            }
            Op::Fork(class) => {
                let request = SpawnRequest { class, due_ns: self.now() };
                shared.request(setup.spawner(class), request, setup.workload.tasks[class].count)?;
            }
            Op::Yield => {
                sched_yield();
                self.woken_ns = None;
                self.read_clocks()?;
            }
            Op::Session => {}
            Op::Wake(class) => {
                let given = shared.give_token(class, self.now());
                given.map_err(|e| format!("task {}: {e}", setup.workload.tasks[class].name))?;
            }
            Op::Wait => return self.take_token(self.launch.class),
            Op::Post(semaphore) => {
                let given = shared.give_token(setup.workload.tasks.len() + semaphore, self.now());
                given.map_err(|e| format!("semaphore {}: {e}", setup.workload.semaphores[semaphore]))?;
            }
            Op::Take(semaphore) => return self.take_token(setup.workload.tasks.len() + semaphore),
            Op::End => return self.end_program(),
            Op::Enter { .. } | Op::Again { .. } | Op::Forever { .. } => {}
        }
        Ok(None)
    }

    /// Takes a token, and goes on with the next job, or waits for one.
    fn take_token(&mut self, store: usize) -> Step {
        match self.context.shared.take_token(store, self.slot) {
            Some(came_ns) => self.next_job_at_once(came_ns).map(|()| None),
            None if self.sleep_ends_job() => self.end_job().and_then(|()| self.wait()),
            None => self.wait(),
        }
    }

    // ---- time ----

    /// The time of the run, in ns, at which the current step is executed.
    fn now(&self) -> u64 {
        self.woken_ns.unwrap_or_else(|| self.time(self.stamp))
    }

    fn time(&self, stamp: Stamp) -> u64 {
        stamp.at_ns.saturating_sub(self.start_ns)
    }

    /// Whether its task has been told to stop.
    fn is_stopped(&self) -> bool {
        self.context.shared.stop_flag(self.launch.class).load(Ordering::Relaxed) != 0
    }

    /// Reads the clocks.
    fn read_clocks(&mut self) -> Result<(), Failure> {
        let before = std::mem::replace(&mut self.stamp, Stamp::now());
        self.compare_clocks(before, self.stamp)
    }

    /// Draws conclusions from two reads of the clocks: whether the thread was off its CPU, statistics begin, or the task must
    /// stop.
    fn compare_clocks(&mut self, before: Stamp, now: Stamp) -> Result<(), Failure> {
        let passed_ns = now.at_ns.saturating_sub(before.at_ns);
        let ran_ns = now.cpu_ns.saturating_sub(before.cpu_ns);
        if passed_ns > ran_ns + GAP_NS {
            // Its service error was greatest when it left the CPU, and least when it came back.
            self.observe_clocks(before)?;
            self.observe_clocks(now)?;
        }
        let time_ns = self.time(now);
        if !self.is_warm && time_ns >= self.context.setup.workload.warmup_ns {
            self.is_warm = true;
            self.observe_clocks(before)?;
            self.observe_clocks(now)?;
            self.switches_before = thread_switches();
            self.migrations_before = cpus::migrations();
        }
        if time_ns >= self.deadline_ns {
            // This stops all instances of the task. Those that have no CPU now then need not read the clock.
            self.context.shared.stop_flag(self.launch.class).store(1, Ordering::SeqCst);
        }
        Ok(())
    }

    // ---- observations ----

    fn observe(&mut self, observation: Observation) -> Result<(), Failure> {
        if self.room == 0 {
            self.context.shared.remember(ROOM)?;
            self.room = ROOM;
        }
        self.room -= 1;
        self.observations.push(observation);
        Ok(())
    }

    fn observe_clocks(&mut self, stamp: Stamp) -> Result<(), Failure> {
        let received_ns = stamp.cpu_ns.saturating_sub(self.cpu_before_ns);
        self.observe(Observation::Stamp { at_ns: self.time(stamp), received_ns })
    }

    /// Ends the measurement, and returns it.
    pub fn finish(mut self, end: End) -> MeasuredThread {
        let ended_ns = match end {
            End::Done => self.now(),
            End::Stopped => self.deadline_ns.min(self.time(Stamp::now())),
        };
        MeasuredThread {
            class: self.launch.class,
            number: self.launch.number,
            started_ns: self.launch.due_ns,
            ended_ns,
            received_ns: self.stamp.cpu_ns.saturating_sub(self.cpu_before_ns),
            switches: thread_switches().saturating_sub(self.switches_before),
            migrations: self.migrations_before.and_then(|n| Some(cpus::migrations()?.saturating_sub(n))),
            observations: std::mem::take(&mut self.observations),
        }
    }

    // ---- work ----

    /// Uses `demand_ns` of CPU time; `u64::MAX` means without end.
    fn work(&mut self, demand_ns: u64) -> Step {
        if demand_ns == 0 {
            return Ok(None);
        }
        self.observe(Observation::WorkArrives { at_ns: self.now(), work_ns: demand_ns })?;
        if let Some((woken_ns, delay_ns)) = self.delay.take().filter(|_| demand_ns != u64::MAX) {
            self.observe(Observation::Ran { woken_ns, delay_ns })?;
        }
        // The burst pays for the cost of other steps, but it is never shorter than half of the demand.
        let least_ns = self.stamp.cpu_ns.saturating_add(demand_ns.div_ceil(2));
        self.target_ns = self.target_ns.saturating_add(demand_ns);
        self.burn(self.target_ns.max(least_ns))?;
        self.woken_ns = None;
        if let Some(job) = &mut self.job {
            job.worked = true;
        }
        self.observe_clocks(self.stamp)?;
        Ok(self.is_stopped().then_some(End::Stopped))
    }

    fn burn(&mut self, target_ns: u64) -> Result<(), Failure> {
        let (mut speed, mut stamp) = (self.speed, self.stamp);
        let stop = self.context.shared.stop_flag(self.launch.class);
        let mut result = Ok(());
        burn(&mut speed, target_ns, stop, &mut stamp, &mut |before, now| {
            result = self.compare_clocks(before, now);
            result.is_ok()
        });
        (self.speed, self.stamp) = (speed, stamp);
        result
    }

    // ---- sleep ----

    /// Whether a sleep ends the job. A task with job arrivals may sleep within a job; any other may not.
    fn sleep_ends_job(&self) -> bool {
        let arrivals = &self.context.setup.workload.tasks[self.launch.class].arrivals;
        !matches!(arrivals, Arrivals::Open { .. } | Arrivals::Closed { .. })
    }

    fn sleep_as_step(&mut self, wake_ns: u64) -> Step {
        if self.sleep_ends_job() {
            self.end_job()?;
        }
        self.sleep_until(wake_ns)
    }

    fn sleep_until(&mut self, wake_ns: u64) -> Step {
        let from_ns = self.now();
        clock::sleep_until(self.start_ns.saturating_add(wake_ns.min(self.deadline_ns)));
        if wake_ns >= self.deadline_ns || self.is_stopped() {
            return Ok(Some(End::Stopped));
        }
        self.woke(from_ns, wake_ns)?;
        Ok(None)
    }

    /// Sleeps until another thread wakes this one. The slot is in a queue already.
    fn wait(&mut self) -> Step {
        let from_ns = self.now();
        let until_ns = self.start_ns.saturating_add(self.deadline_ns);
        match self.context.shared.sleep(self.slot, until_ns) {
            None => Ok(Some(End::Stopped)),
            Some(woken_ns) => {
                self.woke(from_ns, woken_ns)?;
                Ok(None)
            }
        }
    }

    /// Notes a wake-up at `woken_ns`: the thread was not runnable since `from_ns`.
    fn woke(&mut self, from_ns: u64, woken_ns: u64) -> Result<(), Failure> {
        let before = std::mem::replace(&mut self.stamp, Stamp::now());
        // A sleeping thread has not lost its CPU, so compare with the clock at the wake-up.
        let at_ns = self
            .start_ns
            .saturating_add(woken_ns)
            .clamp(before.at_ns.min(self.stamp.at_ns), self.stamp.at_ns);
        self.compare_clocks(Stamp { at_ns, ..before }, self.stamp)?;
        self.observe_clocks(self.stamp)?;
        self.woken_ns = Some(woken_ns);
        self.delay = Some((woken_ns, self.time(self.stamp).saturating_sub(woken_ns)));
        match &mut self.job {
            Some(job) => job.blocked_ns += woken_ns.saturating_sub(from_ns),
            None => self.begin_job(woken_ns),
        }
        Ok(())
    }

    // ---- jobs ----

    fn begin_job(&mut self, began_ns: u64) {
        self.job = Some(Job { began_ns, blocked_ns: 0, worked: false });
    }

    fn end_job(&mut self) -> Result<(), Failure> {
        let cpu_ns = self.stamp.cpu_ns;
        let service_ns = cpu_ns.saturating_sub(std::mem::replace(&mut self.job_cpu_ns, cpu_ns));
        let Some(job) = self.job.take() else { return Ok(()) };
        let ended_ns = self.now();
        let response_ns = ended_ns.saturating_sub(job.began_ns);
        if !job.worked && response_ns == 0 {
            // It woke only to sleep again or to exit, so there was no job.
            return Ok(());
        }
        let wait_ns = response_ns.saturating_sub(service_ns).saturating_sub(job.blocked_ns);
        self.observe(Observation::JobDone { began_ns: job.began_ns, ended_ns, service_ns, wait_ns })
    }

    /// Begins the next job without a pause: its work was due before now.
    fn next_job_at_once(&mut self, due_ns: u64) -> Result<(), Failure> {
        if self.sleep_ends_job() {
            self.end_job()?;
            self.begin_job(due_ns);
        }
        Ok(())
    }

    /// Ends the program: the task exits, or thinks before the next job.
    fn end_program(&mut self) -> Step {
        self.end_job()?;
        let Arrivals::Closed { think } = &self.context.setup.workload.tasks[self.launch.class].arrivals
        else {
            return Ok(Some(End::Done));
        };
        self.at.rewind();
        let wake_ns = self.now().saturating_add(think.sample_ns(&mut self.sleep));
        self.sleep_until(wake_ns)
    }
}
