//! Marks of a timeline: the wake-up that a slice follows, and whether a job ends with it.

use divvy_policy::CpuId;
use serde::{Deserialize, Serialize};

use super::Column;
use crate::observation::Service;

/// A wake-up, until the task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Woken {
    /// Time, in ns.
    pub at_ns: u64,
    /// The CPU whose task caused it; `None` for a timer or a device.
    pub by: Option<CpuId>,
    /// Whether the task is new.
    pub is_new: bool,
}

/// A slice and what happened at its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub service: Service,
    /// The wake-up that it follows.
    pub woken: Option<Woken>,
    /// A job ends with it.
    pub ends: bool,
}

/// Marks of the first slices of a CPU.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Marks {
    /// For each slice: 0 if it continues earlier work. Else it is the first after a wake-up: 1 by a timer or a device, 2 if the
    /// task is new, else 3 and twice the number of the CPU whose task caused it, and 1 more if the task is new.
    pub wakes: Column,
    /// For each slice that follows a wake-up: units from the wake-up to its beginning.
    pub delays: Column,
    /// For each slice: 1 if a job ends with it, else 0.
    pub ends: Column,
}

impl Marks {
    /// Those of the slices that begin before `until_ns`. Times count from `from_ns` in units.
    pub(super) fn of(slices: &[Slice], from_ns: u64, until_ns: u64, unit_ns: u64) -> Marks {
        let first = || slices.iter().take_while(|slice| slice.service.from_ns < until_ns);
        let units = |ns: u64| (ns.saturating_sub(from_ns) + unit_ns / 2) / unit_ns;
        let delay = |slice: &Slice| Some(units(slice.service.from_ns) - units(slice.woken?.at_ns));
        Marks {
            wakes: Column::of(first().map(|slice| slice.woken.map_or(0, Woken::code))),
            delays: Column::of(first().filter_map(delay)),
            ends: Column::of(first().map(|slice| u64::from(slice.ends))),
        }
    }

    /// As written.
    pub(super) fn bytes(&self) -> usize {
        [&self.wakes, &self.delays, &self.ends].iter().map(|column| column.as_str().len()).sum()
    }
}

impl Slice {
    /// Whether this service is more of it.
    pub(super) fn continues(&self, next: Service) -> bool {
        let Service { row, task, to_ns, .. } = self.service;
        !self.ends && (to_ns, row, task) == (next.from_ns, next.row, next.task)
    }
}

impl Woken {
    fn code(self) -> u64 {
        match self.by {
            None => 1 + u64::from(self.is_new),
            Some(cpu) => 3 + 2 * cpu.index() as u64 + u64::from(self.is_new),
        }
    }
}
