//! The CPUs at work: service is accounted, the machine decides, tasks come to a CPU and leave it.

use super::clock::NEVER;
use super::cpus::Cpu;
use super::instance::{Outcome, State};
use super::scheduler::Scheduler;
use super::state::Engine;
use super::violation::Violation;
use divvy_policy::{CpuId, Decision, TaskId, Turn};
use divvy_results::observation::{Observation, Service};

impl<S: Scheduler> Engine<'_, S> {
    /// A CPU's slice or burst ends now.
    pub(super) fn due(&mut self, cpu: CpuId) -> Result<(), Violation> {
        let Some(task) = self.account(cpu) else { return self.decide(cpu) };
        self.notifier.acting = Some(cpu);
        let done = self.advance_on_cpu(cpu, task);
        self.notifier.acting = None;
        done
    }

    /// Gives the task on a CPU the service since the last time. Returns the task if it has no work left.
    #[inline(always)]
    pub(super) fn account(&mut self, cpu: CpuId) -> Option<TaskId> {
        let now = self.clock.now_ns;
        let c = &mut self.cpus[cpu];
        let task = c.task?;
        let t = &mut self.tasks[task];
        if now > c.served_until_ns {
            let ran = now - c.served_until_ns;
            let from_ns = std::mem::replace(&mut c.served_until_ns, now);
            c.ran_ns += ran;
            t.serve(ran);
            self.accounts.busy_ns += ran;
            let service = Service { cpu, row: t.row(), task, from_ns, to_ns: now };
            self.notifier.tell(Observation::Served(service));
        }
        (t.demand_ns == 0).then_some(task)
    }

    pub(super) fn decide_where_asked(&mut self) -> Result<(), Violation> {
        self.cpus.begin_deciding();
        while let Some(cpu) = self.cpus.next_deciding() {
            // Work is left here: a burst that ends now was due before, and its task is on with the next.
            self.account(cpu);
            self.decide(cpu)?;
        }
        Ok(())
    }

    /// The policy says which task runs here next. The task that ran here is accounted and has work left.
    fn decide(&mut self, cpu: CpuId) -> Result<(), Violation> {
        if S::DECIDES_BY_ITSELF {
            // It has been told, and says later what it does.
            if self.cpus[cpu].task.is_none() {
                self.cpus.set_due(cpu, NEVER);
            }
            return Ok(());
        }
        self.cpus.clear_asked(cpu);
        let now = self.clock.now_ns;
        let Cpu { task: former, ran_ns, .. } = self.cpus[cpu];
        let at_once =
            if self.switches_at_once { self.scheduler.turn(cpu, former, ran_ns, now) } else { None };
        let is_told = at_once.is_some();
        let Turn { decision, asked } =
            at_once.unwrap_or_else(|| Turn { decision: self.scheduler.dispatch(cpu, now), asked: None });
        self.cpus.ask(asked);
        while let Some(asked) = self.scheduler.also_asked() {
            self.cpus.ask(Some(asked));
        }
        if let Some(former) = former {
            self.notifier.touch(former);
        }
        let leaves = former.filter(|former| decision.is_none_or(|decision| decision.task != *former));
        if let Some(former) = leaves {
            self.put_back(cpu, former);
        }
        let Some(Decision { task: chosen, slice_ns, asked }) = decision else {
            if let Some(former) = leaves {
                if !is_told {
                    let asked = self.scheduler.requeue(former, ran_ns, now);
                    self.cpus.ask(asked);
                }
                self.cpus.vacate(cpu, now);
            }
            self.cpus.set_due(cpu, NEVER);
            return Ok(());
        };
        self.cpus.ask(asked);
        self.list_decision(cpu, chosen);
        if former != Some(chosen) {
            let from_ns = self.take_over(cpu, chosen)?;
            match leaves {
                _ if is_told => {}
                Some(former) => {
                    let asked = self.scheduler.change(former, ran_ns, now, chosen, from_ns);
                    self.cpus.ask(asked);
                }
                None => self.scheduler.running(chosen, from_ns),
            }
        }
        let tick_ns = self.workload.tick_ns;
        let c = &mut self.cpus[cpu];
        c.slice_ends_ns = end_of_slice(c.served_until_ns.max(now), slice_ns, tick_ns);
        self.update_due(cpu, chosen);
        Ok(())
    }

    #[inline]
    pub(super) fn list_decision(&mut self, cpu: CpuId, chosen: TaskId) {
        if !self.accounts.first_decisions.is_full() {
            let name = &self.accounts.rows[self.tasks[chosen].row()].name;
            self.accounts.first_decisions.add(cpu, name);
        }
    }

    /// The task leaves the CPU to another and stays runnable, which the machine is to be told.
    #[inline(always)]
    pub(super) fn put_back(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.clock.now_ns;
        let entitled_ns = self.entitled_to(task);
        let t = &mut self.tasks[task];
        t.sample_error(entitled_ns);
        t.state = State::Waiting;
        t.waits_since_ns = now;
        self.tasks.running -= 1;
        self.count_waiting(task, true);
        self.accounts.overhead_ns += self.cpus[cpu].switched_ns(now);
    }

    /// The task gets the CPU, which the machine is to be told. Returns when its service begins.
    #[inline(always)]
    pub(super) fn take_over(&mut self, cpu: CpuId, task: TaskId) -> Result<u64, Violation> {
        if self.tasks[task].state != State::Waiting {
            return Err(self.not_waiting(cpu, task));
        }
        let now = self.clock.now_ns;
        let entitled_ns = self.entitled_to(task);
        let c = &self.cpus[cpu];
        let t = &mut self.tasks[task];
        let mut cost = 0;
        // A task that never ran is not the one that ran here last, even if it has its id.
        if c.last_task.is_some_and(|last| last != task || t.is_new()) {
            self.accounts.switches += 1;
            cost += self.workload.switch_cost_ns;
        }
        if let Some(last) = t.last_cpu.filter(|last| *last != cpu) {
            self.accounts.migrations += 1;
            cost += self.workload.migration_cost_ns;
            if let Some(topology) = &self.workload.topology {
                let distance = topology.distance(last, cpu);
                self.accounts.by_distance[distance as usize] += 1;
                cost += topology.cost_ns(distance);
            }
        }
        let waited = now - t.waits_since_ns;
        t.job_wait_ns += waited;
        t.state = State::Running;
        t.last_cpu = Some(cpu);
        t.sample_error(entitled_ns);
        if std::mem::take(&mut t.woken) && t.job_counts && t.demand_ns != NEVER {
            self.accounts.wake_up_latency(t.row(), waited);
        }
        self.accounts.idle_ns += self.cpus.occupy(cpu, task, now, cost);
        self.tasks.running += 1;
        self.count_waiting(task, false);
        self.notifier.touch(task);
        Ok(now.saturating_add(cost))
    }

    #[cold]
    fn not_waiting(&self, cpu: CpuId, task: TaskId) -> Violation {
        let state = self.tasks[task].state;
        self.violation(format!("CPU {cpu} was given task {task}, which is {state:?}"))
    }

    /// The CPU is due when its slice ends, or the burst of its task.
    #[inline]
    pub(super) fn update_due(&mut self, cpu: CpuId, task: TaskId) {
        let c = &self.cpus[cpu];
        let began = c.served_until_ns.max(self.clock.now_ns);
        let burst_ends = began.saturating_add(self.tasks[task].demand_ns);
        let due = c.slice_ends_ns.min(burst_ends);
        self.cpus.set_due(cpu, due);
    }

    /// The task on this CPU has no work left: on with its program.
    fn advance_on_cpu(&mut self, cpu: CpuId, task: TaskId) -> Result<(), Violation> {
        match self.advance(task)? {
            Outcome::Works if self.clock.now_ns < self.cpus[cpu].slice_ends_ns => {
                self.update_due(cpu, task);
                Ok(())
            }
            Outcome::Works => self.wake_and_decide(cpu),
            Outcome::Yields => {
                self.wake_woken()?;
                self.scheduler.yielding(cpu);
                if S::DECIDES_BY_ITSELF {
                    self.update_due(cpu, task); // it may go on
                }
                self.decide(cpu)
            }
            outcome => {
                self.leave_cpu(cpu, task, outcome == Outcome::Exits);
                if outcome == Outcome::Exits {
                    self.bury(task);
                }
                self.wake_and_decide(cpu)
            }
        }
    }

    /// As in a kernel, a task that is woken before its waker gives up the CPU can be chosen for that CPU.
    fn wake_and_decide(&mut self, cpu: CpuId) -> Result<(), Violation> {
        self.wake_woken()?;
        self.decide(cpu)
    }

    /// The task on this CPU is no longer runnable.
    fn leave_cpu(&mut self, cpu: CpuId, task: TaskId, exits: bool) {
        let now = self.clock.now_ns;
        self.sample_error(task);
        self.tasks.running -= 1;
        self.tasks.runnable -= 1;
        self.scheduler.block(task, self.cpus[cpu].ran_ns, exits, now);
        self.notifier.touch(task);
        self.notifier.tell(Observation::Rests { task, at_ns: now });
        self.accounts.overhead_ns += self.cpus[cpu].switched_ns(now);
        self.cpus.vacate(cpu, now);
    }

    /// Takes a running task off its CPU, for good.
    pub(super) fn take_off(&mut self, task: TaskId) {
        let Some(cpu) = self.tasks[task].last_cpu else { return };
        self.account(cpu);
        self.leave_cpu(cpu, task, true);
        self.cpus.set_due(cpu, NEVER);
        self.cpus.ask(Some(cpu));
    }
}

fn end_of_slice(began_ns: u64, slice_ns: u64, tick_ns: Option<u64>) -> u64 {
    let end = began_ns.saturating_add(slice_ns.max(1));
    match tick_ns {
        Some(tick) if end != NEVER => end.div_ceil(tick).saturating_mul(tick),
        _ => end,
    }
}
