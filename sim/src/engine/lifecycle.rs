//! The lifecycle of tasks: they come, wake, do jobs, sleep, and end.

use super::clock::{NEVER, Timer};
use super::instance::{Instance, Outcome, State};
use super::scheduler::{Birth, Scheduler};
use super::state::Engine;
use super::violation::Violation;
use divvy_policy::TaskId;
use divvy_results::metrics::Job;
use divvy_results::observation::{JobDone, Observation};
use divvy_workload::{Arrivals, Purpose, stream};

impl<S: Scheduler> Engine<'_, S> {
    /// New instances of a class, as many as come at a time.
    pub(super) fn spawn_all(&mut self, class: usize) -> Result<(), Violation> {
        (0..self.workload.tasks[class].count).try_for_each(|_| self.spawn(class, None))
    }

    /// New instances of a class, which a task makes.
    pub(super) fn fork(&mut self, class: usize, parent: TaskId) -> Result<(), Violation> {
        let left = match self.workload.tasks[class].arrivals {
            Arrivals::Forked { limit: Some(limit) } => limit - u64::from(self.classes[class].born),
            _ => NEVER,
        };
        let count = u64::from(self.workload.tasks[class].count).min(left);
        (0..count).try_for_each(|_| self.spawn(class, Some(parent)))
    }

    /// A new instance of a class.
    fn spawn(&mut self, class: usize, parent: Option<TaskId>) -> Result<(), Violation> {
        if self.classes[class].stopped {
            return Ok(());
        }
        let task = self.vacant_slot()?;
        let now = self.clock.now_ns;
        let c = &mut self.classes[class];
        let (number, row) = c.next_instance(task);
        let (weight, process, group) = (c.weight, c.process, c.group);
        let key = divvy_workload::instance(class, number);
        let (seed, rep) = (self.setup.seed, self.setup.rep);
        self.tasks[task] = Instance {
            state: State::Blocked,
            class: class as u32,
            row: row as u32,
            generation: self.tasks[task].generation + 1,
            started_ns: now,
            run: stream(seed, rep, key, Purpose::Run),
            sleep: stream(seed, rep, key, Purpose::Sleep),
            ..Instance::vacant()
        };
        self.tasks.alive += 1;
        self.entitled.add(task, weight, process.map(|p| p as u32), group, now);
        let mask = self.masks.get(self.classes[class].mask);
        if let Some(mask) = mask {
            self.entitled.restrict(task, mask);
        }
        let group = group.map(|group| group as u32 + 1);
        self.scheduler.add(&Birth { task, process, weight, parent, group, mask }, now);
        self.execute(task);
        if let Arrivals::Closed { think } = &self.workload.tasks[class].arrivals {
            let wake = now.saturating_add(think.sample_ns(&mut self.tasks[task].sleep));
            self.sleep_until(task, wake);
        } else {
            self.tasks.wake_soon(task);
        }
        Ok(())
    }

    fn vacant_slot(&mut self) -> Result<TaskId, Violation> {
        if let Some(task) = self.tasks.vacant_slot() {
            return Ok(task);
        }
        let most = self.tasks.max_id();
        Err(self.violation(format!("more than {most} tasks at one time: the CPUs cannot keep up")))
    }

    /// Wakes the tasks that what just happened woke, in that order. They may wake others in turn.
    pub(super) fn wake_woken(&mut self) -> Result<(), Violation> {
        while let Some(task) = self.tasks.next_woken() {
            self.wake(task)?;
        }
        Ok(())
    }

    /// A task that is not runnable wakes. If its program has no work for it, it never gets a CPU.
    pub(super) fn wake(&mut self, task: TaskId) -> Result<(), Violation> {
        let now = self.clock.now_ns;
        if self.tasks[task].job_began_ns.is_none() {
            self.begin_job(task, now);
            self.execute_again(task);
        }
        if self.tasks[task].demand_ns == 0 {
            match self.advance(task)? {
                Outcome::Blocks => return Ok(()),
                Outcome::Exits => {
                    self.bury(task);
                    return Ok(());
                }
                Outcome::Works | Outcome::Yields => {}
            }
        }
        let t = &mut self.tasks[task];
        let is_new = t.is_new();
        t.state = State::Waiting;
        t.waits_since_ns = now;
        t.woken = true;
        let row = t.row();
        self.tasks.runnable += 1;
        self.count_waiting(task, true);
        let by = self.notifier.acting;
        self.notifier.tell(Observation::Woken { task, row, at_ns: now, by });
        self.notifier.touch(task);
        let asked = self.scheduler.wake(task, is_new, by, now);
        self.cpus.ask(asked);
        Ok(())
    }

    /// The task's next job begins at `at_ns`, now or earlier.
    pub(super) fn begin_job(&mut self, task: TaskId, at_ns: u64) {
        let counts = self.accounts.warm && at_ns >= self.accounts.counted_from_ns;
        self.tasks[task].begin_job(at_ns, counts);
        self.accounts.seniority.comes(at_ns);
    }

    pub(super) fn end_job(&mut self, task: TaskId) {
        let now = self.clock.now_ns;
        let t = &mut self.tasks[task];
        let (came_ns, counts) = (t.job_began_ns, t.job_counts);
        let done = t.end_job(now);
        if let Some(came_ns) = came_ns {
            self.accounts.seniority.leaves(came_ns, done.is_some() && counts);
        }
        let Some((from_ns, job)) = done else { return };
        let t = &mut self.tasks[task];
        let row = t.row();
        self.accounts.job(row, job, t.job_counts, now);
        let Job { service_ns, wait_ns, .. } = job;
        self.notifier.tell(Observation::JobDone(JobDone {
            task,
            row,
            from_ns,
            to_ns: now,
            service_ns,
            wait_ns,
        }));
    }

    pub(super) fn sleep(&mut self, task: TaskId, wake_ns: u64, ends_job: bool) -> Outcome {
        if ends_job {
            self.end_job(task);
        }
        self.sleep_until(task, wake_ns);
        Outcome::Blocks
    }

    fn sleep_until(&mut self, task: TaskId, wake_ns: u64) {
        let t = &mut self.tasks[task];
        t.state = State::Asleep;
        self.clock.set(wake_ns, Timer::Wake { task, generation: t.generation });
    }

    /// At the end of its program a task exits, or thinks about the next job.
    pub(super) fn end_program(&mut self, task: TaskId, class: usize) -> Outcome {
        self.end_job(task);
        let Arrivals::Closed { think } = &self.workload.tasks[class].arrivals else {
            return Outcome::Exits;
        };
        let t = &mut self.tasks[task];
        t.at.rewind();
        let wake = self.clock.now_ns.saturating_add(think.sample_ns(&mut t.sleep));
        self.sleep_until(task, wake);
        Outcome::Blocks
    }

    /// Removes a task that is neither runnable nor on a CPU.
    pub(super) fn bury(&mut self, task: TaskId) {
        let now = self.clock.now_ns;
        if let Some(came_ns) = self.tasks[task].job_began_ns {
            self.accounts.seniority.leaves(came_ns, false);
        }
        self.entitled.withdraw(task, now);
        self.collect(task);
        self.scheduler.remove(task, now);
        self.note_execution(task);
        self.tasks.release(task, now);
        self.notifier.tell(Observation::Gone { task, at_ns: now });
    }

    /// Ends a task whatever it does.
    pub(super) fn end_from_outside(&mut self, task: TaskId) -> Result<(), Violation> {
        match self.tasks[task].state {
            State::Running => self.take_off(task),
            State::Waiting => {
                self.tasks.runnable -= 1;
                self.count_waiting(task, false);
                self.scheduler.withdraw(task, self.clock.now_ns);
            }
            State::Asleep | State::Blocked => {}
            State::Vacant => return Ok(()),
        }
        for next in self.sync.forget(task) {
            self.tasks.wake_soon(next);
        }
        self.bury(task);
        Ok(())
    }
}
