//! Orders over all shards, so that no decision looks at each of them: of the tags of tasks, and of the loads of shards.

use std::collections::BTreeSet;

use divvy_policy::{CpuId, TaskId};

#[derive(Debug, Default)]
pub(super) struct Order {
    /// Tasks that wait, with their shards, by tag; where tags are carried.
    waiting: BTreeSet<(i64, usize, TaskId)>,
    /// Tasks that run, by the tag with which they came to their CPU.
    running: BTreeSet<(i64, TaskId)>,
    /// Shards by the weight of their runnable tasks.
    loads: BTreeSet<(u128, usize)>,
    /// CPUs that had nothing to run when they last asked, and were not asked since.
    idle: BTreeSet<CpuId>,
    /// Runnable tasks.
    pub runnable: u64,
    /// Their weight, as [`Weight::fixed`](divvy_policy::Weight::fixed).
    pub weight: u128,
}

impl Order {
    /// All CPUs are idle.
    pub(super) fn new(cpus: usize, shards: usize) -> Order {
        let loads = (0..shards).map(|shard| (0, shard)).collect();
        Order { loads, idle: CpuId::first(cpus).collect(), ..Order::default() }
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = (i64, usize, TaskId)> {
        self.waiting.iter().copied()
    }

    pub(super) fn begin_to_wait(&mut self, tag: i64, shard: usize, task: TaskId) {
        self.waiting.insert((tag, shard, task));
    }

    pub(super) fn end_to_wait(&mut self, tag: i64, shard: usize, task: TaskId) {
        self.waiting.remove(&(tag, shard, task));
    }

    pub(super) fn begin_to_run(&mut self, tag: i64, task: TaskId) {
        self.running.insert((tag, task));
    }

    pub(super) fn end_to_run(&mut self, tag: i64, task: TaskId) {
        self.running.remove(&(tag, task));
    }

    /// The least tag of a task that waits or runs. A tag only grows while its task runs, so those that began with more than the least now
    /// need not be looked at.
    pub(super) fn least_tag(&self, tag_now: impl Fn(TaskId) -> i64) -> Option<i64> {
        let mut least = self.waiting.first().map(|(tag, ..)| *tag);
        for (began, task) in &self.running {
            if least.is_some_and(|least| least <= *began) {
                break;
            }
            let now = tag_now(*task);
            least = Some(least.map_or(now, |least| least.min(now)));
        }
        least
    }

    /// The weight of a shard's tasks is another one.
    pub(super) fn weigh(&mut self, shard: usize, former: u128, weight: u128) {
        self.loads.remove(&(former, shard));
        self.loads.insert((weight, shard));
        self.weight = self.weight + weight - former;
    }

    /// Shards, the one with the least weight first.
    pub(super) fn by_load(&self) -> impl Iterator<Item = usize> {
        self.loads.iter().map(|(_, shard)| *shard)
    }

    pub(super) fn set_idle(&mut self, cpu: CpuId, is_idle: bool) {
        if is_idle {
            self.idle.insert(cpu);
        } else {
            self.idle.remove(&cpu);
        }
    }

    pub(super) fn is_idle(&self, cpu: CpuId) -> bool {
        self.idle.contains(&cpu)
    }

    /// Idle CPUs, in the order of their numbers.
    pub(super) fn idle(&self) -> impl Iterator<Item = CpuId> {
        self.idle.iter().copied()
    }
}
