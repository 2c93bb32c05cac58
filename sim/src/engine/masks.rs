//! Where tasks may run, and how many of each mask wait.

use divvy_policy::{CpuId, CpuMask};

use super::cpu_set::CpuSet;

/// The masks of the tasks of a workload, by number; 0 is none: all CPUs.
#[derive(Debug, Default)]
pub(super) struct Masks {
    masks: Vec<CpuMask>,
    /// Tasks of each that wait for a CPU. Not of those that may run everywhere.
    waiting: Vec<u64>,
}

impl Masks {
    pub(super) fn number(&mut self, cpus: Option<&[CpuId]>) -> usize {
        let Some(cpus) = cpus else { return 0 };
        let mask: CpuMask = cpus.iter().copied().collect();
        // Neighbours in the workload are often alike.
        let known = self.masks.iter().rposition(|known| *known == mask);
        let at = known.unwrap_or_else(|| {
            self.masks.push(mask);
            self.waiting.push(0);
            self.masks.len() - 1
        });
        at + 1
    }

    pub(super) fn get(&self, number: usize) -> Option<&CpuMask> {
        number.checked_sub(1).map(|at| &self.masks[at])
    }

    pub(super) fn allows(&self, number: usize, cpu: CpuId) -> bool {
        self.get(number).is_none_or(|mask| mask.contains(cpu))
    }

    /// Whether some task may not run everywhere.
    #[inline]
    pub(super) fn bind(&self) -> bool {
        !self.masks.is_empty()
    }

    /// A task of this mask begins to wait, or no longer does.
    #[inline]
    pub(super) fn count(&mut self, number: usize, waits: bool) {
        if number > 0 {
            let waiting = &mut self.waiting[number - 1];
            *waiting = if waits { *waiting + 1 } else { *waiting - 1 };
        }
    }

    /// Whether some CPU of the set is one where a task waits, of `all` tasks that wait.
    pub(super) fn any_waits_for(&self, cpus: &CpuSet, all: u64) -> bool {
        let bound: u64 = self.waiting.iter().sum();
        let is_for = |(mask, waiting): (&CpuMask, &u64)| *waiting > 0 && cpus.meets(mask);
        bound < all || self.masks.iter().zip(&self.waiting).any(is_for)
    }
}
