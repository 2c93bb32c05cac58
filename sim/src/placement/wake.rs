//! The shard in which a task wakes (placement R6).

use divvy_policy::{CpuId, TaskId};

use super::Sharded;
use super::shard::normalised;

impl Sharded {
    /// The task's last shard if its last CPU or another one there is idle, else one with an idle CPU, else the one where it receives
    /// most; only those that have a CPU where it may run.
    pub(super) fn place(&self, task: TaskId) -> usize {
        let last = self.tasks[task].shard;
        if self.idle_in(last, task).is_some() {
            return last;
        }
        let shards = || (0..self.shards.len()).filter(|shard| self.allows(*shard, task));
        let idle = shards().filter(|shard| self.idle_in(*shard, task).is_some());
        self.best(idle, task).or_else(|| self.best(shards(), task)).unwrap_or(last)
    }

    /// Whether a shard has a CPU where the task may run.
    pub(super) fn allows(&self, shard: usize, task: TaskId) -> bool {
        self.shards[shard].ids().any(|cpu| self.tasks[task].may_run(cpu))
    }

    /// An idle CPU of a shard where the task may run.
    fn idle_in(&self, shard: usize, task: TaskId) -> Option<CpuId> {
        self.shards[shard].ids().find(|cpu| self.idle[cpu.index()] && self.tasks[task].may_run(*cpu))
    }

    /// An idle CPU of another shard takes the task, which found none in its own.
    pub(super) fn call_idle(&mut self, task: TaskId) -> Option<CpuId> {
        let at = self.tasks[task].shard;
        if !self.steal || !self.is_divided() {
            return None;
        }
        let cpu = (0..self.shards.len())
            .filter(|shard| *shard != at)
            .find_map(|shard| self.idle_in(shard, task))?;
        self.idle[cpu.index()] = false;
        Some(cpu)
    }

    /// The shard that would have the least weight for each CPU with the task; its last one if that is as good, else the first.
    fn best(&self, shards: impl Iterator<Item = usize>, task: TaskId) -> Option<usize> {
        let t = &self.tasks[task];
        let load = |shard: usize| {
            (self.shards[shard].weight + u128::from(t.weight.fixed()), self.shards[shard].cpus)
        };
        shards.min_by(|&a, &b| {
            let ((weight_a, cpus_a), (weight_b, cpus_b)) = (load(a), load(b));
            let by_load = (weight_a * u128::from(cpus_b)).cmp(&(weight_b * u128::from(cpus_a)));
            by_load.then((a != t.shard).cmp(&(b != t.shard)))
        })
    }

    /// The tag of a task that wakes, ns of a nice-0 task; `None` if tags are not carried. No shard's machine has a say: its own virtual time is
    /// that of the tasks that it happens to have.
    pub(super) fn tag_on_waking(&mut self, task: TaskId, is_new: bool, now_ns: u64) -> Option<i64> {
        let t = &self.tasks[task];
        let own = self.tag(t.shard, task, now_ns)?;
        let has_own = !is_new || t.forked;
        self.v = self.least_tag(now_ns).unwrap_or(self.v).max(self.v);
        let owes_ns = if is_new && self.owes { self.shards[t.shard].machine.debit_ns(task) } else { 0 };
        let debit = normalised(owes_ns.into(), t.weight.fixed().into()) as i64;
        Some(if has_own { own.max(self.v) } else { self.v } + debit)
    }

    /// A task that is not runnable any more was perhaps the last that was.
    pub(super) fn note_last(&mut self, task: TaskId, now_ns: u64) {
        if self.shards.iter().any(|shard| shard.runnable > 0) {
            return;
        }
        let tag = self.tag(self.tasks[task].shard, task, now_ns);
        self.v = tag.unwrap_or(self.v).max(self.v);
    }

    /// The least tag of a runnable task, ns of a nice-0 task; `None` if there is none.
    fn least_tag(&self, now_ns: u64) -> Option<i64> {
        let waiting = self.shards.iter().filter_map(|shard| shard.waiting.first()).map(|(place, _)| *place);
        let running = self.running.iter().flatten().map(|task| self.tag_now(*task, now_ns));
        waiting.chain(running).min()
    }
}
