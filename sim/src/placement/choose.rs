//! Before a CPU chooses, it may take a task from another shard: from a slower one (placement R3), or if it is idle (placement R5).

use std::cmp::Reverse;

use divvy_policy::{CpuId, TaskId};

use super::Sharded;
use super::shard::{in_parts, normalised};
use super::tasks::Phase;

impl Sharded {
    /// Takes the task that this CPU is to run before those of its own shard, if there is one.
    pub(super) fn take_for(&mut self, cpu: CpuId, now_ns: u64) {
        let here = self.home[cpu.index()];
        let own = self.least_here(cpu, now_ns);
        let taken = match own {
            None if !self.steal => None,
            None if self.carries => self.least_elsewhere(cpu).map(|(_, from, task)| (from, task)),
            None => self.slowest(cpu, |_, _| true),
            Some(own) if self.carries => self.behind(cpu, own),
            Some(_) => self.slower(cpu, here),
        };
        if let Some((from, task)) = taken {
            self.take(task, from, here, now_ns);
        }
    }

    /// The least tag of this shard's tasks that may run here, or any number where tags are not compared; `None` if there is no task.
    fn least_here(&self, cpu: CpuId, now_ns: u64) -> Option<i64> {
        let here = self.home[cpu.index()];
        let waits = self.first_for(here, cpu).map(|(place, _)| place);
        let former = self.running[cpu.index()].filter(|task| self.tasks[*task].may_run(cpu));
        let runs = former.map(|task| self.tag_now(task, now_ns));
        waits.into_iter().chain(runs).min()
    }

    /// The first task that waits in a shard and may run on a CPU, with its place.
    fn first_for(&self, shard: usize, cpu: CpuId) -> Option<(i64, TaskId)> {
        self.shards[shard].waiting.iter().find(|(_, task)| self.tasks[*task].may_run(cpu)).copied()
    }

    /// Its tag with the service until now, ns of a nice-0 task; its place, if it waits.
    pub(super) fn tag_now(&self, task: TaskId, now_ns: u64) -> i64 {
        let t = &self.tasks[task];
        match t.phase {
            Phase::Away => 0,
            Phase::Waits(place) => place,
            Phase::Runs { from_ns, tag, .. } => {
                let ran_ns = u128::from(now_ns.saturating_sub(from_ns));
                tag.wrapping_add(normalised(ran_ns, t.weight.fixed().into()) as i64)
            }
        }
    }

    /// The task with the least tag that waits in another shard and may run here.
    fn least_elsewhere(&self, cpu: CpuId) -> Option<(i64, usize, TaskId)> {
        let here = self.home[cpu.index()];
        let mut elsewhere = self.order.waiting().filter(|(_, shard, _)| *shard != here);
        elsewhere.find(|(.., task)| self.tasks[*task].may_run(cpu))
    }

    /// That task, if its tag is less than the least here by more than the skew. All with such a tag are elsewhere.
    fn behind(&self, cpu: CpuId, own: i64) -> Option<(usize, TaskId)> {
        let skew = self.skew();
        let is_behind = |tag: i64| u128::try_from(own.wrapping_sub(tag)).is_ok_and(|ahead| ahead > skew);
        let mut behind = self.order.waiting().take_while(|(tag, ..)| is_behind(*tag));
        behind.find(|(.., task)| self.tasks[*task].may_run(cpu)).map(|(_, from, task)| (from, task))
    }

    /// The virtual time by which a shard may be ahead: that in which all CPUs serve so many quanta each. In ns of a nice-0 task.
    pub(super) fn skew(&self) -> u128 {
        let quanta_ns = u128::from(self.skew_quanta) * u128::from(self.quantum_ns) * self.home.len() as u128;
        normalised(quanta_ns, self.order.weight)
    }

    /// A task of the slowest shard, if this one is ahead of it by more than the skew, and would have no more to do for each CPU with
    /// it than that one has now.
    fn slower(&self, cpu: CpuId, here: usize) -> Option<(usize, TaskId)> {
        let (shard, skew) = (&self.shards[here], in_parts(self.skew()));
        self.slowest(cpu, |from, task| {
            shard.v().saturating_sub(self.shards[from].v()) > skew
                && shard.takes_no_more_than(self.tasks[task].weight, &self.shards[from])
        })
    }

    /// The first task that may run here of the slowest other shard for which that holds.
    fn slowest(&self, cpu: CpuId, is_so: impl Fn(usize, TaskId) -> bool) -> Option<(usize, TaskId)> {
        let here = self.home[cpu.index()];
        let others = (0..self.shards.len()).filter(|shard| *shard != here);
        let firsts = others.filter_map(|shard| Some((shard, self.first_for(shard, cpu)?.1)));
        let candidates = firsts.filter(|&(shard, task)| is_so(shard, task));
        candidates.max_by_key(|&(shard, _)| (Reverse(self.shards[shard].v()), Reverse(shard)))
    }
}
