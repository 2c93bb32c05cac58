//! Tasks execute their programs: instructions that take no time, up to the next one that does.

use super::class::Class;
use super::clock::NEVER;
use super::instance::{Outcome, State, Wait};
use super::scheduler::Scheduler;
use super::state::Engine;
use super::violation::Violation;
use divvy_policy::TaskId;
use divvy_workload::Arrivals;
use divvy_workload::program::Op;

/// Instructions that tasks may execute at one instant, apart from [`STEPS_PER_TASK`]; more is an endless loop.
const STEPS_AT_AN_INSTANT: u64 = 1_000_000;
/// More of them for each task that exists.
const STEPS_PER_TASK: u64 = 100;

impl<S: Scheduler> Engine<'_, S> {
    /// Executes instructions until one takes time.
    pub(super) fn advance(&mut self, task: TaskId) -> Result<Outcome, Violation> {
        let workload = self.workload;
        let now = self.clock.now_ns;
        let mut works = Outcome::Works;
        while self.clock.steps < STEPS_AT_AN_INSTANT + STEPS_PER_TASK * self.tasks.alive {
            self.clock.steps += 1;
            let t = &mut self.tasks[task];
            let class = t.class();
            let Class { program, sleep_ends_job, .. } = self.classes[class];
            let op = self.code[program].next(&mut t.at);
            match *op {
                Op::Run(ref d) => {
                    t.demand_ns = d.sample_ns(&mut t.run);
                    if t.demand_ns > 0 {
                        self.bring(task);
                        return Ok(works);
                    }
                }
                Op::RunForever => {
                    t.demand_ns = NEVER;
                    self.bring(task);
                    return Ok(works);
                }
                Op::Sleep(ref d) => {
                    let wake = now.saturating_add(d.sample_ns(&mut t.sleep));
                    return Ok(self.sleep(task, wake, sleep_ends_job));
                }
                Op::Period(period_ns) => {
                    let released = (now - t.started_ns) / period_ns.max(1) + 1;
                    let wake = t.started_ns.saturating_add(released.saturating_mul(period_ns));
                    return Ok(self.sleep(task, wake, sleep_ends_job));
                }
                Op::Until(wake) if wake > now => return Ok(self.sleep(task, wake, sleep_ends_job)),
                Op::Until(wake) => self.next_job_at_once(task, wake, sleep_ends_job),
                Op::Lock(i) => {
                    if !self.sync.mutexes[i].lock(task) {
                        let blocks = t.block(Wait::Mutex(i as u32));
                        self.check_circle(task)?;
                        return Ok(blocks);
                    }
                }
                Op::Unlock(i) => {
                    if let Some(next) = self.sync.mutexes[i].unlock(task) {
                        self.tasks.wake_soon(next);
                    }
                }
                Op::Barrier(i) => match self.sync.barriers[i].arrive(task) {
                    None => return Ok(t.block(Wait::Barrier(i as u32))),
                    Some(others) => others.into_iter().for_each(|other| self.tasks.wake_soon(other)),
                },
                Op::Fork(class) => self.fork(class, task)?,
                Op::Yield => works = Outcome::Yields,
                Op::Session => self.scheduler.begin_session(task, now),
                Op::Wake(class) => self.give_token(class),
                Op::Wait => match self.classes[class].tokens.take() {
                    Some(came) => self.next_job_at_once(task, came, sleep_ends_job),
                    None => {
                        if sleep_ends_job {
                            self.end_job(task);
                        }
                        return Ok(self.tasks[task].block(Wait::Token));
                    }
                },
                Op::Post(i) => {
                    if let Some(next) = self.sync.semaphores[i].post(now) {
                        self.tasks[next].waits_for = None;
                        self.tasks.wake_soon(next);
                    }
                }
                Op::Take(i) => match self.sync.semaphores[i].take(task) {
                    Some(came) => self.next_job_at_once(task, came, sleep_ends_job),
                    None => {
                        if sleep_ends_job {
                            self.end_job(task);
                        }
                        return Ok(self.tasks[task].block(Wait::Token));
                    }
                },
                Op::End => return Ok(self.end_program(task, class)),
                Op::Enter { .. } | Op::Again { .. } | Op::Forever { .. } => {}
            }
        }
        let name = &workload.tasks[self.tasks[task].class()].name;
        let text = format!(
            "task {name} and those that it wakes execute steps without end and without using time: give a loop of a program a run or a sleep"
        );
        Err(self.violation(text))
    }

    /// The task's demand is known from now on.
    fn bring(&mut self, task: TaskId) {
        let work_ns = self.tasks[task].demand_ns;
        self.scheduler.bring(task, work_ns);
        self.entitled.bring(task, work_ns, self.clock.now_ns);
    }

    /// It goes on without a pause, but the work that it now begins was due before.
    fn next_job_at_once(&mut self, task: TaskId, due_ns: u64, ends_job: bool) {
        if ends_job {
            self.end_job(task);
            self.begin_job(task, due_ns);
        }
    }

    fn give_token(&mut self, class: usize) {
        let waits = |task: &TaskId| {
            let t = &self.tasks[*task];
            t.class() == class && t.state == State::Blocked && t.waits_for == Some(Wait::Token)
        };
        match self.classes[class].instance.filter(waits) {
            Some(task) => {
                self.tasks[task].waits_for = None;
                self.tasks.wake_soon(task);
            }
            None => self.classes[class].tokens.keep(self.clock.now_ns),
        }
    }

    // ---- what the machine is told of programs ----

    /// A task executes its program from the beginning.
    pub(super) fn execute(&mut self, task: TaskId) {
        if self.scheduler.knows_programs() {
            let class = &self.classes[self.tasks[task].class()];
            let program = self.programs.identity(class.executable);
            self.scheduler.set_program(task, program, self.clock.now_ns);
        }
    }

    /// A job begins: where a task repeats jobs, each of them is an execution.
    pub(super) fn execute_again(&mut self, task: TaskId) {
        let class = self.tasks[task].class();
        if self.scheduler.knows_programs()
            && matches!(self.workload.tasks[class].arrivals, Arrivals::Closed { .. })
        {
            self.execute(task);
            self.note_execution(task);
        }
    }

    /// An execution may have ended.
    pub(super) fn note_execution(&mut self, task: TaskId) {
        if self.scheduler.knows_programs() {
            let class = &self.classes[self.tasks[task].class()];
            self.programs.note_execution(class.executable, &self.scheduler);
        }
    }
}
