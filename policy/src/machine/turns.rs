//! Whole quanta of tasks that stay.

use super::Machine;
use crate::config::MachineError;
use crate::id::TaskId;
use crate::spec::Spec;
use crate::weight::Weight;

/// Turns of a whole quantum each, of tasks that are runnable from the beginning and stay so, as [`Machine::turns`] gives them. On one
/// CPU these are the policy's calls alone, without the machine around it, which take half the time. That is the same only from the
/// beginning, when nobody has run or left: so the tasks are given to [`Turns::new`], and there is nothing else to call.
///
/// ```
/// use divvy_policy::{TaskId, Turns, Weight, spec};
///
/// let stride = spec::parse("stride", divvy_policy::all()).unwrap();
/// let clients = TaskId::all().zip([2 * Weight::ONE, Weight::ONE]);
/// let mut ran = [None; 6];
/// Turns::new(&stride, 1, 1_000_000, clients).unwrap().next(&mut ran);
/// assert_eq!(ran.iter().flatten().filter(|task| task.get() == 1).count(), 4);
/// ```
pub struct Turns {
    machine: Machine,
    now_ns: u64,
}

impl Turns {
    /// The tasks come in this order.
    ///
    /// # Errors
    /// As [`Machine::with_runnable`].
    pub fn new(
        spec: &Spec,
        cpus: u32,
        quantum_ns: u64,
        clients: impl IntoIterator<Item = (TaskId, Weight)>,
    ) -> Result<Turns, MachineError> {
        Ok(Turns { machine: Machine::with_runnable(spec, cpus, quantum_ns, clients)?, now_ns: 0 })
    }

    /// The tasks that run next go into `ran`, round by round; `None` is idle.
    ///
    /// # Panics
    /// If `ran` is not as long as some whole rounds of all CPUs.
    pub fn next(&mut self, ran: &mut [Option<TaskId>]) {
        self.now_ns = self.machine.turns_by(self.machine.host.turns_alone, self.now_ns, ran);
    }

    /// Times that the policy broke its contract; 0, or the policy is wrong.
    pub fn faults(&self) -> u64 {
        self.machine.faults()
    }
}
