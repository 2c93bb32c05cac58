//! What must hold after every instant, whatever the policy.
//!
//! Beside these, [`super::Engine::decide`] refuses a task that is not waiting (so none is on two CPUs), and the
//! machine counts a policy's answers against the contract.

use thiserror::Error;

use super::{Engine, NEVER, State};

/// A run that had to end: a defect of a policy or of the simulator, or a workload that makes no sense.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("at {at_ns} ns: {what}")]
pub struct Violation {
    /// When, in simulated time.
    pub at_ns: u64,
    /// What is wrong.
    pub what: String,
}

impl Engine<'_> {
    pub(super) fn violation(&self, what: String) -> Violation {
        Violation { at_ns: self.now, what }
    }

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

    /// Work conserving: no CPU is idle beside a waiting task that may run on it.
    pub(super) fn check(&self) -> Result<(), Violation> {
        let waiting = self.runnable - self.running;
        if waiting == 0 || self.running == self.cpus.len() as u64 {
            return Ok(());
        }
        for (i, t) in self.tasks.iter().enumerate().filter(|(_, t)| t.state == State::Waiting) {
            let allowed = self.classes[t.class as usize].allowed;
            for cpu in 0..self.cpus.len() {
                let may = allowed.is_none_or(|mask| mask[cpu / 64] >> (cpu % 64) & 1 == 1);
                if may && self.cpus[cpu].task == 0 {
                    let name = &self.rows[t.row as usize].name;
                    let faults = self.machine.faults();
                    return Err(self.violation(format!(
                        "CPU {cpu} is idle and task {name} (id {i}) waits for it; the policy broke its contract {faults} times"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Service handed out is CPU time less idle time and less the cost of switches.
    pub(super) fn check_sums(&self, cpu_time_ns: u64) -> Result<(), Violation> {
        let received: u64 = self.rows.iter().map(|r| r.service_ns).sum();
        let given = i128::from(cpu_time_ns) - i128::from(self.idle_ns) - i128::from(self.overhead_ns);
        if i128::from(received) != given || received != self.busy_ns {
            return Err(self.violation(format!(
                "tasks received {received} ns of service; CPUs served for {} ns, and had {given} ns beside idleness and switches",
                self.busy_ns
            )));
        }
        match self.machine.faults() {
            0 => Ok(()),
            n => Err(self.violation(format!("the policy broke its contract {n} times"))),
        }
    }
}
