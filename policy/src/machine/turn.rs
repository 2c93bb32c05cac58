//! A decision with all that follows from it, in one call.

use super::{Decision, Machine};
use crate::id::{CpuId, TaskId};

impl Machine {
    /// [`Machine::dispatch`], for a CPU where `former` ran for `ran_ns`; then, if another task is to run there,
    /// [`Machine::requeue`] for the former and [`Machine::running`] for the other, from now on. With the decision comes the CPU that must
    /// dispatch because of the former.
    #[inline]
    pub fn turn(
        &mut self,
        on: CpuId,
        former: Option<TaskId>,
        ran_ns: u64,
        now_ns: u64,
    ) -> (Option<Decision>, Option<CpuId>) {
        if self.is_limited {
            return self.turn_within_limits(on, former, ran_ns, now_ns);
        }
        let former = former.map_or(0, TaskId::get);
        // SAFETY: see `Machine::add`.
        let turn = unsafe { (self.host.turn)(self.raw.as_ptr(), on.get(), former, ran_ns, now_ns) };
        let asked = CpuId::from_answer(turn.kick.into());
        let decision = |task| Decision { task, slice_ns: turn.slice, asked };
        (TaskId::from_raw(turn.id).map(decision), CpuId::from_answer(turn.left.into()))
    }

    #[cold]
    fn turn_within_limits(
        &mut self,
        on: CpuId,
        former: Option<TaskId>,
        ran_ns: u64,
        now_ns: u64,
    ) -> (Option<Decision>, Option<CpuId>) {
        let decision = self.dispatch(on, now_ns);
        let chosen = decision.map(|decision| decision.task);
        let leaves = former.filter(|former| chosen != Some(*former));
        let asked = leaves.and_then(|former| self.requeue(former, ran_ns, now_ns));
        if let Some(comes) = chosen.filter(|chosen| former != Some(*chosen)) {
            self.running(comes, now_ns);
        }
        (decision, asked)
    }
}
