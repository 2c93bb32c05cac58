//! A scheduler that decides by itself says which CPU has which task from now on.

use super::clock::NEVER;
use super::scheduler::{Change, Scheduler};
use super::state::Engine;
use super::violation::Violation;

impl<S: Scheduler> Engine<'_, S> {
    /// Notes the changes of such a scheduler before `until_ns`, and returns their time; that time if it changes nothing.
    pub(super) fn hear_before(&mut self, until_ns: u64) -> Result<u64, Violation> {
        if until_ns == NEVER && self.tasks.runnable == 0 {
            return Ok(until_ns);
        }
        let at = self.scheduler.run_until(until_ns).map_err(|what| self.violation(what))?;
        self.changes = self.scheduler.take_changes();
        Ok(at)
    }

    /// CPUs have other tasks from now on. First all leave, because a task may move from one of these CPUs to another.
    pub(super) fn apply_changes(&mut self) -> Result<(), Violation> {
        let now = self.clock.now_ns;
        let changes = std::mem::take(&mut self.changes);
        for &Change { cpu, .. } in &changes {
            self.account(cpu);
            if let Some(former) = self.cpus[cpu].task {
                self.put_back(cpu, former);
                self.notifier.touch(former);
                self.cpus.vacate(cpu, now);
            }
            self.cpus.set_due(cpu, NEVER);
        }
        for Change { cpu, task } in changes {
            let Some(task) = task else { continue };
            self.list_decision(cpu, task);
            self.take_over(cpu, task)?;
            self.cpus[cpu].slice_ends_ns = NEVER;
            self.update_due(cpu, task);
        }
        Ok(())
    }
}
