//! One instance of a task, as a thread: it executes its program, and remembers what can be seen of it.
//!
//! What a step costs beside the CPU time that the program asks for (system calls, a wake-up) is made part of the bursts
//! that follow, up to half of each, so that demands are met in sum. Between a wake-up and the end of the next burst a thread's
//! time is that of the wake-up, as in the simulation: a `sleep` or `period` without work before it does not drift.

use std::ffi::CString;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;

use crate::measured::{Life, Sight};
use divvy_workload::program::{Op, Position};
use divvy_workload::{Arrivals, Purpose, Stream, instance, stream};
use rustix::thread::{gettid, sched_yield, set_current_timer_slack, set_name};

use super::board::{Board, Failure, StartRequest};
use super::burn::{Speed, Stamp, burn};
use super::clock;
use super::cpus;
use super::plan::PlayPlan;
use super::record::Log;
use super::sys::thread_switches;

/// A chunk of work that took so much longer than its CPU time was interrupted: the thread was off its CPU.
const GAP_NS: u64 = 20_000;

/// Steps without work between two looks at the clock.
const STEPS_A_LOOK: u32 = 64;

/// Sights for which room is asked at a time.
const ROOM: u64 = 1024;

/// Who is born, and when.
#[derive(Clone, Copy, Debug)]
pub struct Birth {
    pub class: usize,
    pub number: u32,
    /// In ns of the run.
    pub due_ns: u64,
}

/// What all instances share.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    pub plan: &'a PlayPlan<'a>,
    pub board: &'a Board,
    pub log: &'a Log,
}

impl Stage<'_> {
    /// Lives the life of an instance that was expected, from setting up the calling thread to telling what was seen.
    /// `waits` says that others are set up as well, and that all start together.
    pub fn live(&self, birth: Birth, waits: bool) {
        let slot = self.board.take_slot(birth.class, birth.number);
        if let Err(failure) = self.try_live(birth, slot, waits) {
            self.fail(&failure);
        }
    }

    /// The run breaks off.
    pub fn fail(&self, failure: &str) {
        // Without the log there is no place to say it; that the run failed is known.
        let _ = self.log.failure(failure);
        self.board.fail();
    }

    fn try_live(&self, birth: Birth, slot: u32, waits: bool) -> Result<(), Failure> {
        self.set_up(birth)?;
        let mut instance = Instance::new(*self, birth, slot);
        if waits {
            self.board.ready();
        }
        instance.begin(self.board.wait_open());
        let end = instance.run();
        let life = instance.finish(end.as_ref().copied().unwrap_or(End::Outside));
        self.board.leave(slot, life.ended_ns);
        end?;
        self.log.life(&life).map_err(|error| format!("cannot keep what was measured: {error}"))
    }

    /// Makes the calling thread what the task says.
    fn set_up(&self, birth: Birth) -> Result<(), Failure> {
        let task = &self.plan.workload.tasks[birth.class];
        let name = task.instance_name(birth.number);
        let said = |what: &str, error: &dyn std::fmt::Display| format!("task {name}: cannot {what}: {error}");
        // For those who watch; the kernel cuts it to 15 bytes. A name with a NUL keeps that of the process.
        if let Ok(name) = CString::new(name.as_str()) {
            let _ = set_name(&name);
        }
        // Timers are then late by the scheduler's doing only. (Without it, by 50 us.)
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        cpus::bind(&self.plan.cpus, task.affinity.as_deref())
            .map_err(|e| said("be bound to its CPUs", &e))?;
        let set = self.plan.set_weight.set(gettid(), birth.class, task.weight.weight());
        set.map_err(|e| said(&format!("have weight {}", task.weight.units()), &e))
    }
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The program is done.
    Done,
    /// Its time is up.
    Outside,
}

/// Whether to go on.
type Step = Result<Option<End>, Failure>;

/// A job in progress.
#[derive(Clone, Copy, Debug)]
struct Job {
    began_ns: u64,
    /// Time that it was not runnable.
    blocked_ns: u64,
    worked: bool,
}

struct Instance<'a> {
    stage: Stage<'a>,
    birth: Birth,
    slot: u32,
    /// CLOCK_MONOTONIC at the run's time 0.
    start_ns: u64,
    deadline_ns: u64,
    run: Stream,
    sleep: Stream,
    at: Position,
    speed: Speed,
    /// The last look at the clocks.
    stamp: Stamp,
    /// CPU clock at birth.
    cpu_before_ns: u64,
    /// CPU clock when all work so far is done.
    target_ns: u64,
    /// When it woke, until it has worked.
    woken_ns: Option<u64>,
    /// When it woke and how long it took to get a CPU, until it has work.
    delay: Option<(u64, u64)>,
    job: Option<Job>,
    /// CPU clock when the last job ended.
    job_cpu_ns: u64,
    is_warm: bool,
    switches_before: u64,
    migrations_before: Option<u64>,
    room: u64,
    sights: Vec<Sight>,
}

impl<'a> Instance<'a> {
    fn new(stage: Stage<'a>, birth: Birth, slot: u32) -> Instance<'a> {
        let plan = stage.plan;
        let key = instance(birth.class, birth.number);
        let stamp = Stamp::now();
        Instance {
            stage,
            birth,
            slot,
            start_ns: 0,
            deadline_ns: plan.deadline_ns(birth.class),
            run: stream(plan.seed, plan.rep, key, Purpose::Run),
            sleep: stream(plan.seed, plan.rep, key, Purpose::Sleep),
            at: Position::default(),
            speed: plan.speed,
            stamp,
            cpu_before_ns: stamp.cpu_ns,
            target_ns: stamp.cpu_ns,
            woken_ns: None,
            delay: None,
            job: None,
            job_cpu_ns: stamp.cpu_ns,
            is_warm: plan.workload.warmup_ns == 0,
            switches_before: thread_switches(),
            migrations_before: migrations(),
            room: 0,
            sights: Vec::new(),
        }
    }

    /// What came before does not count.
    fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.stamp = Stamp::now();
        self.cpu_before_ns = self.stamp.cpu_ns;
        self.target_ns = self.stamp.cpu_ns;
        self.job_cpu_ns = self.stamp.cpu_ns;
        self.switches_before = thread_switches();
    }

    fn run(&mut self) -> Result<End, Failure> {
        let begins_ns = match &self.stage.plan.workload.tasks[self.birth.class].arrivals {
            Arrivals::Closed { think } => self.birth.due_ns.saturating_add(think.sample(&mut self.sleep)),
            _ => self.birth.due_ns,
        };
        if let Some(end) = self.sleep_until(begins_ns)? {
            return Ok(end);
        }
        let mut steps = 0;
        loop {
            if self.is_stopped() {
                return Ok(End::Outside);
            }
            steps += 1;
            if steps % STEPS_A_LOOK == 0 {
                self.look()?;
            }
            if let Some(end) = self.step()? {
                return Ok(end);
            }
        }
    }

    fn step(&mut self) -> Step {
        let stage = self.stage;
        let Stage { plan, board, .. } = stage;
        match *plan.programs[self.birth.class].next(&mut self.at) {
            Op::Run(ref demand) => {
                let demand_ns = demand.sample(&mut self.run);
                return self.work(demand_ns);
            }
            Op::RunForever => return self.work(u64::MAX),
            Op::Sleep(ref time) => {
                let wake_ns = self.now().saturating_add(time.sample(&mut self.sleep));
                return self.sleep_as_step(wake_ns);
            }
            Op::Period(period_ns) => {
                let released = self.now().saturating_sub(self.birth.due_ns) / period_ns.max(1) + 1;
                let wake_ns = self.birth.due_ns.saturating_add(released.saturating_mul(period_ns));
                return self.sleep_as_step(wake_ns);
            }
            Op::Until(wake_ns) if wake_ns > self.now() => return self.sleep_as_step(wake_ns),
            Op::Until(wake_ns) => self.next_job_at_once(wake_ns)?,
            Op::Lock(i) => {
                if !board.lock(i, self.slot) {
                    return self.wait();
                }
            }
            Op::Unlock(i) => board.unlock(i, self.slot, self.now()),
            Op::Barrier(i) => {
                if !board.arrive(i, self.slot, self.now()) {
                    return self.wait();
                }
            }
            Op::Fork(class) => {
                let request = StartRequest { class, due_ns: self.now() };
                board.request(plan.nursery(class), request, plan.workload.tasks[class].count)?;
            }
            Op::Yield => {
                sched_yield();
                self.woken_ns = None;
                self.look()?;
            }
            Op::Wake(class) => {
                let given = board.give_token(class, self.now());
                given.map_err(|e| format!("task {}: {e}", plan.workload.tasks[class].name))?;
            }
            Op::Wait => match board.take_token(self.birth.class, self.slot) {
                Some(came_ns) => self.next_job_at_once(came_ns)?,
                None => {
                    if self.sleep_ends_job() {
                        self.end_job()?;
                    }
                    return self.wait();
                }
            },
            Op::End => return self.end_program(),
            Op::Enter { .. } | Op::Again { .. } | Op::Forever { .. } => {}
        }
        Ok(None)
    }

    // ---- time ----

    /// The time of the run at which its present step is executed.
    fn now(&self) -> u64 {
        self.woken_ns.unwrap_or_else(|| self.time(self.stamp))
    }

    fn time(&self, stamp: Stamp) -> u64 {
        stamp.at_ns.saturating_sub(self.start_ns)
    }

    /// Whether its time is up, as far as it knows.
    fn is_stopped(&self) -> bool {
        self.stage.board.stop_flag(self.birth.class).load(Ordering::Relaxed) != 0
    }

    /// Looks at the clocks.
    fn look(&mut self) -> Result<(), Failure> {
        let before = std::mem::replace(&mut self.stamp, Stamp::now());
        self.looked(before, self.stamp)
    }

    /// What two looks at the clocks show: whether it was off its CPU, statistics begin, or its time is up.
    fn looked(&mut self, before: Stamp, now: Stamp) -> Result<(), Failure> {
        let passed_ns = now.at_ns.saturating_sub(before.at_ns);
        let ran_ns = now.cpu_ns.saturating_sub(before.cpu_ns);
        if passed_ns > ran_ns + GAP_NS {
            // It was furthest ahead as it left the CPU, and furthest behind as it came back.
            self.note(before)?;
            self.note(now)?;
        }
        let time_ns = self.time(now);
        if !self.is_warm && time_ns >= self.stage.plan.workload.warmup_ns {
            self.is_warm = true;
            self.note(before)?;
            self.note(now)?;
            self.switches_before = thread_switches();
            self.migrations_before = migrations();
        }
        if time_ns >= self.deadline_ns {
            // For all instances: those that have no CPU now need not look at the clock when they get one.
            self.stage.board.stop_flag(self.birth.class).store(1, Ordering::SeqCst);
        }
        Ok(())
    }

    // ---- what is seen ----

    fn see(&mut self, sight: Sight) -> Result<(), Failure> {
        if self.room == 0 {
            self.stage.board.remember(ROOM)?;
            self.room = ROOM;
        }
        self.room -= 1;
        self.sights.push(sight);
        Ok(())
    }

    fn note(&mut self, stamp: Stamp) -> Result<(), Failure> {
        let received_ns = stamp.cpu_ns.saturating_sub(self.cpu_before_ns);
        self.see(Sight::Stamp { at_ns: self.time(stamp), received_ns })
    }

    fn finish(mut self, end: End) -> Life {
        let ended_ns = match end {
            End::Done => self.now(),
            End::Outside => self.deadline_ns.min(self.time(Stamp::now())),
        };
        Life {
            class: self.birth.class,
            number: self.birth.number,
            born_ns: self.birth.due_ns,
            ended_ns,
            received_ns: self.stamp.cpu_ns.saturating_sub(self.cpu_before_ns),
            switches: thread_switches().saturating_sub(self.switches_before),
            migrations: self.migrations_before.and_then(|n| Some(migrations()?.saturating_sub(n))),
            sights: std::mem::take(&mut self.sights),
        }
    }

    // ---- work ----

    /// Uses so much CPU time, `u64::MAX` without end.
    fn work(&mut self, demand_ns: u64) -> Step {
        if demand_ns == 0 {
            return Ok(None);
        }
        self.see(Sight::Brings { at_ns: self.now(), work_ns: demand_ns })?;
        if let Some((woken_ns, delay_ns)) = self.delay.take().filter(|_| demand_ns != u64::MAX) {
            self.see(Sight::Ran { woken_ns, delay_ns })?;
        }
        // What other steps cost is part of it, but it is half at least.
        let least_ns = self.stamp.cpu_ns.saturating_add(demand_ns.div_ceil(2));
        self.target_ns = self.target_ns.saturating_add(demand_ns);
        self.burn(self.target_ns.max(least_ns))?;
        self.woken_ns = None;
        if let Some(job) = &mut self.job {
            job.worked = true;
        }
        self.note(self.stamp)?;
        Ok(self.is_stopped().then_some(End::Outside))
    }

    fn burn(&mut self, target_ns: u64) -> Result<(), Failure> {
        let (mut speed, mut stamp) = (self.speed, self.stamp);
        let stop = self.stage.board.stop_flag(self.birth.class);
        let mut result = Ok(());
        burn(&mut speed, target_ns, stop, &mut stamp, &mut |before, now| {
            result = self.looked(before, now);
            result.is_ok()
        });
        (self.speed, self.stamp) = (speed, stamp);
        result
    }

    // ---- sleep ----

    /// A class of jobs sleeps within them; any other task's job ends when it sleeps.
    fn sleep_ends_job(&self) -> bool {
        let arrivals = &self.stage.plan.workload.tasks[self.birth.class].arrivals;
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
            return Ok(Some(End::Outside));
        }
        self.woke(from_ns, wake_ns)?;
        Ok(None)
    }

    /// Waits for others, having joined a queue.
    fn wait(&mut self) -> Step {
        let from_ns = self.now();
        let until_ns = self.start_ns.saturating_add(self.deadline_ns);
        match self.stage.board.sleep(self.slot, until_ns) {
            None => Ok(Some(End::Outside)),
            Some(woken_ns) => {
                self.woke(from_ns, woken_ns)?;
                Ok(None)
            }
        }
    }

    /// It was not runnable from then on, until it woke.
    fn woke(&mut self, from_ns: u64, woken_ns: u64) -> Result<(), Failure> {
        let before = std::mem::replace(&mut self.stamp, Stamp::now());
        // Being asleep is no loss of the CPU: as if it had looked as it woke.
        let at_ns = self
            .start_ns
            .saturating_add(woken_ns)
            .clamp(before.at_ns.min(self.stamp.at_ns), self.stamp.at_ns);
        self.looked(Stamp { at_ns, ..before }, self.stamp)?;
        self.note(self.stamp)?;
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
            return Ok(()); // it woke only to sleep again or to exit
        }
        let wait_ns = response_ns.saturating_sub(service_ns).saturating_sub(job.blocked_ns);
        self.see(Sight::JobDone { began_ns: job.began_ns, ended_ns, service_ns, wait_ns })
    }

    /// It goes on without a pause, but the work that it now begins was due before.
    fn next_job_at_once(&mut self, due_ns: u64) -> Result<(), Failure> {
        if self.sleep_ends_job() {
            self.end_job()?;
            self.begin_job(due_ns);
        }
        Ok(())
    }

    /// At the end of its program a task exits, or thinks about the next job.
    fn end_program(&mut self) -> Step {
        self.end_job()?;
        let Arrivals::Closed { think } = &self.stage.plan.workload.tasks[self.birth.class].arrivals else {
            return Ok(Some(End::Done));
        };
        self.at.rewind();
        let wake_ns = self.now().saturating_add(think.sample(&mut self.sleep));
        self.sleep_until(wake_ns)
    }
}

/// Times that the calling thread has changed its CPU, where the kernel tells (it is built to debug its scheduler).
fn migrations() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(' ').next()?.parse().ok()
}
