//! Invariants that must hold after every instant, whatever the policy.
//!
//! Apart from these checks, a decision for a task that is not waiting is refused (so none is on two CPUs), and the
//! machine counts a policy's answers that break the contract.

use super::clock::NEVER;
use super::instance::{Instance, State};
use super::scheduler::Scheduler;
use super::state::Engine;
use super::violation::Violation;
use divvy_policy::{CpuId, TaskId};

impl<S: Scheduler> Engine<'_, S> {
    /// The CPU time of all CPUs until then is a number of ns below 2^64, and so are all sums of service.
    pub(super) fn check_countable(&self, until_ns: u64) -> Result<(), Violation> {
        let most = NEVER / self.cpus.len() as u64;
        if until_ns <= most {
            return Ok(());
        }
        let (cpus, most_s) = (self.cpus.len(), most / 1_000_000_000);
        Err(self.violation(format!(
            "the time of {cpus} CPUs can be counted for {most_s} s: give a shorter duration"
        )))
    }

    /// Work conserving: no CPU is idle beside a waiting task that may run on it, and whose groups are within their limits.
    /// (Interrupts of a scheduler that decides by itself take time, and it checks the same.)
    #[inline]
    pub(super) fn check_work_conserving(&self) -> Result<(), Violation> {
        let waiting = self.tasks.runnable - self.tasks.running;
        if S::DECIDES_BY_ITSELF
            || self.tasks.running == self.cpus.len() as u64
            || waiting == self.scheduler.held()
        {
            return Ok(());
        }
        self.check_idle_cpus(waiting)
    }

    /// The same while some CPU is idle and so many tasks wait.
    #[inline(never)]
    fn check_idle_cpus(&self, waiting: u64) -> Result<(), Violation> {
        if !self.masks.any_waits_for(self.cpus.idle(), waiting) {
            return Ok(());
        }
        let waits = |(id, t): &(TaskId, &Instance)| t.state == State::Waiting && !self.scheduler.holds(*id);
        for (id, t) in self.tasks.present().filter(waits) {
            let mask = self.classes[t.class()].mask;
            let idle = |&cpu: &CpuId| {
                self.cpus[cpu].task.is_none()
                    && self.masks.allows(mask, cpu)
                    && self.scheduler.may_take(id, cpu)
            };
            if let Some(cpu) = self.cpus.ids().find(idle) {
                let name = &self.accounts.rows[t.row()].name;
                let faults = self.scheduler.faults();
                return Err(self.violation(format!(
                    "CPU {cpu} is idle and task {name} (id {id}) waits for it; the policy broke its contract {faults} times"
                )));
            }
        }
        Ok(())
    }

    /// A task begins to wait for a CPU, or no longer does.
    #[inline]
    pub(super) fn count_waiting(&mut self, task: TaskId, waits: bool) {
        if self.masks.bind() {
            self.masks.count(self.classes[self.tasks[task].class()].mask, waits);
        }
    }

    /// The sums of service and CPU time agree, and the policy kept its contract.
    pub(super) fn check_sums(&self, cpu_time_ns: u64) -> Result<(), Violation> {
        if let Some(wrong) = self.accounts.wrong_sum(cpu_time_ns) {
            return Err(self.violation(wrong));
        }
        match self.scheduler.faults() {
            0 => Ok(()),
            n => Err(self.violation(format!("the policy broke its contract {n} times"))),
        }
    }
}
