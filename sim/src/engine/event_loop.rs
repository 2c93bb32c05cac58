//! The run from instant to instant: timers first, then CPUs that are due, then CPUs that were asked to decide.

use super::clock::{NEVER, Timer};
use super::instance::State;
use super::scheduler::Scheduler;
use super::state::Engine;
use super::violation::Violation;
use divvy_results::observation::Observation;
use divvy_results::report::Run;
use divvy_workload::Arrivals;

impl<S: Scheduler> Engine<'_, S> {
    /// Runs to the end. `progress` is told the simulated time in ns now and then, and stops the run by `false`.
    ///
    /// # Errors
    /// A [`Violation`]: a policy broke its contract, the workload deadlocks or runs without using time, an invariant of
    /// the simulator does not hold, or `progress` stopped the run.
    pub fn run(mut self, policy: &str, progress: &dyn Fn(u64) -> bool) -> Result<Run, Violation> {
        let until = self.setup.until_ns.unwrap_or(NEVER);
        self.check_countable(self.setup.until_ns.unwrap_or(0))?;
        let mut instants = 0_u64;
        loop {
            let (due, cpu) = self.cpus.first_due(self.clock.next_timer_ns());
            let at = if S::DECIDES_BY_ITSELF { self.hear_before(due.min(until))? } else { due };
            let changes = S::DECIDES_BY_ITSELF && !self.changes.is_empty();
            if !changes {
                if due == NEVER {
                    self.check_stuck()?;
                }
                if due > until || due == NEVER {
                    break;
                }
            }
            self.check_countable(at)?;
            if self.sampling.due_ns <= at {
                self.sample_until(at);
            }
            self.clock.advance_to(at);
            if S::DECIDES_BY_ITSELF && changes {
                self.apply_changes()?;
            } else {
                self.instant(cpu)?;
            }
            instants += 1;
            if instants & 0x3ff == 0 && !progress(at) {
                return Err(self.violation("the run was interrupted".into()));
            }
        }
        let end = match until {
            _ if self.tasks.alive == 0 && !self.more_to_come() => self.tasks.ended_ns,
            NEVER => self.clock.now_ns,
            _ => until,
        };
        self.sample_until(end);
        self.finish(end)?;
        Ok(self.report(policy, end))
    }

    /// Whether tasks are to start or to arrive. (Timers of tasks that are gone may be left.)
    fn more_to_come(&self) -> bool {
        self.clock.pending().any(|timer| match timer {
            Timer::Start { class } | Timer::Arrival { class } => !self.classes[class as usize].stopped,
            Timer::Wake { .. } | Timer::Stop { .. } | Timer::Release | Timer::WarmedUp => false,
        })
    }

    /// All that happens now. `first` is the first CPU that is due, if no timer is due before.
    fn instant(&mut self, first: usize) -> Result<(), Violation> {
        let mut from = first;
        loop {
            if self.clock.next_timer_ns() <= self.clock.now_ns {
                from = 0;
                while let Some(timer) = self.clock.pop_due() {
                    self.fire(timer)?;
                    self.wake_woken()?;
                }
            }
            while let Some(cpu) = self.cpus.next_due(from, self.clock.now_ns) {
                self.due(cpu)?;
                self.wake_woken()?;
                from = cpu.index() + 1;
            }
            if self.cpus.any_asked() {
                self.decide_where_asked()?;
            }
            self.expect_release();
            // Work is at least 1 ns and so is a slice: no CPU is due again at this instant.
            if !self.cpus.any_asked() && self.clock.next_timer_ns() > self.clock.now_ns {
                if self.notifier.values > 0 {
                    self.tell_values();
                }
                return self.check_work_conserving();
            }
            from = self.cpus.len();
        }
    }

    fn fire(&mut self, timer: Timer) -> Result<(), Violation> {
        match timer {
            Timer::Start { class } => self.start(class as usize),
            Timer::Arrival { class } => self.arrive(class as usize),
            Timer::Wake { task, generation } => {
                let t = &self.tasks[task];
                if t.generation == generation && t.state == State::Asleep {
                    self.wake(task)?;
                }
                Ok(())
            }
            Timer::Stop { class } => self.stop_class(class as usize),
            Timer::Release => {
                self.release();
                Ok(())
            }
            Timer::WarmedUp => {
                self.warm_up();
                Ok(())
            }
        }
    }

    /// Tasks that are held are looked at when their groups have CPU time again.
    fn expect_release(&mut self) {
        if self.scheduler.held() == 0 {
            return;
        }
        let due = self.scheduler.release_due_ns(self.clock.now_ns).unwrap_or(NEVER);
        if due < self.release_ns {
            self.release_ns = due;
            self.clock.set(due, Timer::Release);
        }
    }

    fn release(&mut self) {
        self.release_ns = NEVER;
        while let Some((task, asked)) = self.scheduler.release(self.clock.now_ns) {
            self.notifier.touch(task);
            self.cpus.ask(asked);
        }
    }

    fn start(&mut self, class: usize) -> Result<(), Violation> {
        if matches!(self.workload.tasks[class].arrivals, Arrivals::Open { .. }) {
            self.next_arrival(class);
            return Ok(());
        }
        self.spawn_all(class)
    }

    fn next_arrival(&mut self, index: usize) {
        let Arrivals::Open { interarrival, .. } = &self.workload.tasks[index].arrivals else { return };
        let class = &mut self.classes[index];
        if class.left == 0 || class.stopped {
            return;
        }
        class.left -= 1;
        let at = self.clock.now_ns.saturating_add(interarrival.sample_ns(&mut class.arrivals));
        self.clock.set(at, Timer::Arrival { class: index as u32 });
    }

    fn arrive(&mut self, class: usize) -> Result<(), Violation> {
        if self.classes[class].stopped {
            return Ok(());
        }
        self.spawn_all(class)?;
        self.next_arrival(class);
        Ok(())
    }

    fn stop_class(&mut self, class: usize) -> Result<(), Violation> {
        self.classes[class].stopped = true;
        for task in self.tasks.ids() {
            let t = &self.tasks[task];
            if t.is_present() && t.class() == class {
                self.end_from_outside(task)?;
            }
        }
        Ok(())
    }

    /// Tells the observer the values of the tasks to which something happened at this instant, if they still exist.
    #[cold]
    fn tell_values(&mut self) {
        let touched = self.notifier.take_touched();
        let at_ns = self.clock.now_ns;
        for &task in touched.iter().filter(|&&task| self.tasks[task].is_present()) {
            for value in 0..self.notifier.values {
                let number = self.scheduler.value(value, task, at_ns);
                self.notifier.tell(Observation::Value { task, value, at_ns, number });
            }
        }
        self.notifier.reuse(touched);
    }
}
