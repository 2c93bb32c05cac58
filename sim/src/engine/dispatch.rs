//! The CPUs at work: service is accounted, the machine decides, tasks come to a CPU and leave it.

use super::clock::NEVER;
use super::instance::{Outcome, State};
use super::scheduler::Scheduler;
use super::state::Engine;
use super::violation::Violation;
use divvy_policy::{CpuId, TaskId};
use divvy_results::observation::{Observation, Service};

impl<S: Scheduler> Engine<'_, S> {
    /// A CPU's slice or burst ends now.
    pub(super) fn due(&mut self, cpu: CpuId) -> Result<(), Violation> {
        self.account(cpu);
        let Some(task) = self.cpus[cpu].task else { return self.decide(cpu) };
        if self.tasks[task].demand_ns == 0 {
            self.notifier.acting = Some(cpu);
            let done = self.advance_on_cpu(cpu, task);
            self.notifier.acting = None;
            return done;
        }
        self.decide(cpu)
    }

    /// Gives the task on a CPU the service since the last time.
    #[inline]
    pub(super) fn account(&mut self, cpu: CpuId) {
        let now = self.clock.now_ns;
        let c = &mut self.cpus[cpu];
        let Some(task) = c.task else { return };
        if now <= c.served_until_ns {
            return;
        }
        let ran = now - c.served_until_ns;
        let from_ns = std::mem::replace(&mut c.served_until_ns, now);
        c.ran_ns += ran;
        let t = &mut self.tasks[task];
        t.serve(ran);
        self.accounts.busy_ns += ran;
        let service = Service { cpu, row: t.row(), task, from_ns, to_ns: now };
        self.notifier.tell(Observation::Served(service));
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
        let former = self.cpus[cpu].task;
        let decision = self.scheduler.dispatch(cpu, self.clock.now_ns);
        if let Some(former) = former {
            self.notifier.touch(former);
        }
        while let Some(asked) = self.scheduler.also_asked() {
            self.cpus.ask(Some(asked));
        }
        let leaves = former.filter(|former| decision.is_none_or(|decision| decision.task != *former));
        let left = leaves.map(|former| (former, self.put_back(cpu, former)));
        let Some(decision) = decision else {
            if let Some((former, ran_ns)) = left {
                let asked = self.scheduler.requeue(former, ran_ns, self.clock.now_ns);
                self.cpus.ask(asked);
                self.cpus.vacate(cpu, self.clock.now_ns);
            }
            self.cpus.set_due(cpu, NEVER);
            return Ok(());
        };
        let chosen = decision.task;
        self.cpus.ask(decision.asked);
        self.list_decision(cpu, chosen);
        if former != Some(chosen) {
            let from_ns = self.take_over(cpu, chosen)?;
            match left {
                Some((former, ran_ns)) => {
                    let asked = self.scheduler.change(former, ran_ns, self.clock.now_ns, chosen, from_ns);
                    self.cpus.ask(asked);
                }
                None => self.scheduler.running(chosen, from_ns),
            }
        }
        let began = self.cpus[cpu].served_until_ns.max(self.clock.now_ns);
        self.cpus[cpu].slice_ends_ns = self.end_of_slice(began, decision.slice_ns);
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

    /// The task leaves the CPU to another and stays runnable, which the machine is to be told. Returns how long it ran.
    #[inline(always)]
    pub(super) fn put_back(&mut self, cpu: CpuId, task: TaskId) -> u64 {
        self.sample_error(task);
        let now = self.clock.now_ns;
        let t = &mut self.tasks[task];
        t.state = State::Waiting;
        t.waits_since_ns = now;
        self.tasks.running -= 1;
        self.count_waiting(task, true);
        self.accounts.overhead_ns += self.cpus[cpu].switched_ns(now);
        self.cpus[cpu].ran_ns
    }

    /// The task gets the CPU, which the machine is to be told. Returns when its service begins.
    pub(super) fn take_over(&mut self, cpu: CpuId, task: TaskId) -> Result<u64, Violation> {
        if self.tasks[task].state != State::Waiting {
            let state = self.tasks[task].state;
            return Err(self.violation(format!("CPU {cpu} was given task {task}, which is {state:?}")));
        }
        let now = self.clock.now_ns;
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
        if std::mem::take(&mut t.woken) && t.job_counts && t.demand_ns != NEVER {
            self.accounts.wake_up_latency(t.row(), waited);
        }
        t.state = State::Running;
        t.last_cpu = Some(cpu);
        if c.task.is_none() {
            self.accounts.idle_ns += now - c.idle_since_ns;
        }
        self.cpus.occupy(cpu, task, now, cost);
        self.tasks.running += 1;
        self.count_waiting(task, false);
        self.notifier.touch(task);
        self.sample_error(task);
        Ok(now.saturating_add(cost))
    }

    fn end_of_slice(&self, began: u64, slice_ns: u64) -> u64 {
        let end = began.saturating_add(slice_ns.max(1));
        match self.workload.tick_ns {
            Some(tick) if end != NEVER => end.div_ceil(tick).saturating_mul(tick),
            _ => end,
        }
    }

    /// The CPU is due when its slice ends, or the burst of its task.
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
