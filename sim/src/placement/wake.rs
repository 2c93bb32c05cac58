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
        let idle = if self.order.idle().next().is_some() {
            self.best(task, |shard| self.idle_in(shard, task).is_some())
        } else {
            None
        };
        idle.or_else(|| self.best(task, |shard| self.allows(shard, task))).unwrap_or(last)
    }

    /// Whether a shard has a CPU where the task may run.
    pub(super) fn allows(&self, shard: usize, task: TaskId) -> bool {
        self.shards[shard].ids().any(|cpu| self.tasks[task].may_run(cpu))
    }

    /// An idle CPU of a shard where the task may run.
    fn idle_in(&self, shard: usize, task: TaskId) -> Option<CpuId> {
        let may_run = |cpu: &CpuId| self.order.is_idle(*cpu) && self.tasks[task].may_run(*cpu);
        self.shards[shard].ids().find(may_run)
    }

    /// An idle CPU of another shard takes the task, which found none in its own.
    pub(super) fn call_idle(&mut self, task: TaskId) -> Option<CpuId> {
        let t = &self.tasks[task];
        if !self.steal || !self.is_divided() {
            return None;
        }
        let is_elsewhere = |cpu: &CpuId| self.home[cpu.index()] != t.shard && t.may_run(*cpu);
        let cpu = self.order.idle().find(is_elsewhere)?;
        self.order.set_idle(cpu, false);
        self.callers[cpu.index()].push(task);
        Some(cpu)
    }

    /// A CPU has decided. If it chose another task than those for which it was asked, they call other CPUs: nobody else knows
    /// that they may run there, as each task calls one.
    pub(super) fn call_again(&mut self, decided: CpuId, chosen: Option<TaskId>) {
        for caller in std::mem::take(&mut self.callers[decided.index()]) {
            if chosen != Some(caller) && self.tasks.waits(caller) {
                let asked = self.call_idle(caller);
                self.asks.extend(asked);
            }
        }
    }

    /// The shard that would have the least weight for each CPU with the task, among those for which that holds; its last one if that is as
    /// good, else the first. All shards but the last have as many CPUs, so among them it is the one with the least weight.
    fn best(&self, task: TaskId, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let t = &self.tasks[task];
        let short = self.shards.len() - 1;
        let whole = self.order.by_load().filter(|shard| *shard != short).find(|shard| fits(*shard));
        let load = |shard: usize| {
            (self.shards[shard].weight + u128::from(t.weight.fixed()), self.shards[shard].cpus)
        };
        let candidates =
            [whole, Some(t.shard).filter(|shard| fits(*shard)), Some(short).filter(|shard| fits(*shard))];
        candidates.into_iter().flatten().min_by(|&a, &b| {
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
        self.v = self.order.least_tag(|task| self.tag_now(task, now_ns)).unwrap_or(self.v).max(self.v);
        let owes_ns = if is_new && self.owes { self.shards[t.shard].machine.debit_ns(task) } else { 0 };
        let debit = normalised(owes_ns.into(), t.weight.fixed().into()) as i64;
        Some(if has_own { own.max(self.v) } else { self.v } + debit)
    }

    /// A task that is not runnable any more was perhaps the last that was.
    pub(super) fn note_last(&mut self, task: TaskId, now_ns: u64) {
        if self.order.runnable > 0 {
            return;
        }
        let tag = self.tag(self.tasks[task].shard, task, now_ns);
        self.v = tag.unwrap_or(self.v).max(self.v);
    }
}
