//! A decision with all that follows from it, in one call.

use super::{Decision, Machine};
use crate::id::{CpuId, TaskId};

/// A decision, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// That of [`Machine::dispatch`].
    pub decision: Option<Decision>,
    /// A CPU that must dispatch because the former task left this one.
    pub asked: Option<CpuId>,
}

impl Machine {
    /// [`Machine::dispatch`], for a CPU where `former` ran for `ran_ns`; then, if another task is to run there,
    /// [`Machine::requeue`] for the former and [`Machine::running`] for the other, from now on. `None`, and nothing is done, if a group has a
    /// limit of CPU time: then these are to be called one by one.
    #[inline]
    pub fn turn(&mut self, on: CpuId, former: Option<TaskId>, ran_ns: u64, now_ns: u64) -> Option<Turn> {
        if self.is_limited {
            return None;
        }
        let former = former.map_or(0, TaskId::get);
        // SAFETY: see `Machine::add`.
        let turn = unsafe { (self.host.turn)(self.raw.as_ptr(), on.get(), former, ran_ns, now_ns) };
        let asked = CpuId::from_answer(turn.kick.into());
        let decision = |task| Decision { task, slice_ns: turn.slice, asked };
        Some(Turn {
            decision: TaskId::from_raw(turn.id).map(decision),
            asked: CpuId::from_answer(turn.left.into()),
        })
    }
}
