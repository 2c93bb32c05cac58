//! Whole quanta of tasks that stay, as the last thing that a machine does.

use super::Machine;
use crate::id::TaskId;

/// Turns of a whole quantum each, as [`Machine::turns`] gives them, with the same decisions. On one CPU these are the
/// policy's calls alone, without the machine around it, so they take less time. Nothing else can be done with the machine, because
/// it no longer keeps what it would need for that.
///
/// ```
/// use divvy_policy::{Machine, MachineConfig, TaskId, Weight};
///
/// let mut machine = Machine::new(&MachineConfig::new("stride", 1, 1_000_000)).unwrap();
/// for (task, weight) in TaskId::all().zip([2, 1]) {
///     machine.add(task, task, weight * Weight::ONE, 0);
///     machine.wake(task, true, 0);
/// }
/// let mut ran = [None; 6];
/// machine.into_turns(0).next(&mut ran);
/// assert_eq!(ran.iter().flatten().filter(|task| task.get() == 1).count(), 4);
/// ```
pub struct Turns {
    pub(super) machine: Machine,
    pub(super) now_ns: u64,
}

impl Turns {
    /// The tasks that run next go into `ran`, round by round; `None` is idle.
    ///
    /// # Panics
    /// If `ran` is not as long as some whole rounds of all CPUs.
    pub fn next(&mut self, ran: &mut [Option<TaskId>]) {
        self.now_ns = self.machine.turns_by(self.machine.host.turns_alone, self.now_ns, ran);
    }

    /// Number of decisions that the policy was asked for, also before.
    pub fn decisions(&self) -> u64 {
        self.machine.decisions()
    }

    /// Times that the policy broke its contract; 0, or the policy is wrong.
    pub fn faults(&self) -> u64 {
        self.machine.faults()
    }
}
