//! A shard: a machine, its CPUs, and what others may know of it.

use std::collections::BTreeSet;

use divvy_policy::{CpuId, CpuMask, Machine, TaskId, Weight};

/// Parts of a ns that virtual times of shards count, as bits.
const FRACTION_BITS: u32 = 20;

pub(super) struct Shard {
    pub machine: Machine,
    /// Its CPUs are those from here on.
    first: u32,
    pub cpus: u32,
    /// Its tasks that are runnable and on no CPU, by place.
    pub waiting: BTreeSet<(i64, TaskId)>,
    /// Sum of the weights of its runnable tasks, fixed point.
    pub weight: u128,
    pub runnable: u32,
    /// CPUs that have a task.
    pub serving: u32,
    /// V (placement R2), in parts of a ns of a nice-0 task, until `counted_ns`.
    v: u128,
    counted_ns: u64,
}

impl Shard {
    pub(super) fn new(machine: Machine, first: u32, cpus: u32) -> Shard {
        let waiting = BTreeSet::new();
        Shard { machine, first, cpus, waiting, weight: 0, runnable: 0, serving: 0, v: 0, counted_ns: 0 }
    }

    /// Its name of a CPU that it has.
    pub(super) fn local(&self, cpu: CpuId) -> CpuId {
        CpuId::new(cpu.get() - self.first)
    }

    /// Everybody's name of a CPU.
    pub(super) fn global(&self, local: CpuId) -> CpuId {
        CpuId::new(local.get() + self.first)
    }

    /// Its CPUs, by everybody's names.
    pub(super) fn ids(&self) -> impl Iterator<Item = CpuId> + use<> {
        (self.first..self.first + self.cpus).map(CpuId::new)
    }

    /// The CPUs of a set that it has, by its own names; `None` if it has no other.
    pub(super) fn part(&self, mask: Option<&CpuMask>) -> Option<CpuMask> {
        let mask = mask?;
        if self.ids().all(|cpu| mask.contains(cpu)) {
            return None;
        }
        Some(self.ids().filter(|cpu| mask.contains(*cpu)).map(|cpu| self.local(cpu)).collect())
    }

    /// Its virtual time follows what it served until now. To be called before weights or CPUs that serve change.
    pub(super) fn count(&mut self, now_ns: u64) {
        // A task that costs a switch begins to be served later than now.
        let elapsed_ns = u128::from(now_ns.saturating_sub(self.counted_ns));
        self.counted_ns = now_ns.max(self.counted_ns);
        if let Some(by) = in_parts(elapsed_ns * u128::from(self.serving) * NICE_0).checked_div(self.weight) {
            self.v += by;
        }
    }

    pub(super) fn v(&self) -> u128 {
        self.v
    }

    /// It begins to have tasks: what passed while it had none is nobody's claim, and what it was ahead by, when others had none, nobody waited for.
    pub(super) fn begin(&mut self, least: u128, most: u128) {
        self.v = self.v.clamp(least, most);
    }

    /// Whether so much more weight leaves it no more loaded than another one is: weight for each CPU.
    pub(super) fn takes_no_more_than(&self, more: Weight, other: &Shard) -> bool {
        (self.weight + u128::from(more.fixed())) * u128::from(other.cpus)
            <= other.weight * u128::from(self.cpus)
    }
}

const NICE_0: u128 = Weight::NICE_0.fixed() as u128;

/// `ns` of service over a weight, in ns of a nice-0 task, rounded down.
pub(super) fn normalised(ns: u128, weight: u128) -> u128 {
    (ns * NICE_0).checked_div(weight).unwrap_or(0)
}

/// The same as the virtual times of shards are counted.
pub(super) fn in_parts(normalised_ns: u128) -> u128 {
    normalised_ns << FRACTION_BITS
}
