//! A task leaves a shard and enters another one, and takes its lag with it (placement R4).

use divvy_policy::{CpuId, Event, TaskId};

use super::Sharded;
use super::shard::in_parts;
use super::tasks::Phase;

/// Each machine has its own tag of a task as the first of the values that its policy shows.
const TAG: u32 = 0;

impl Sharded {
    /// A task that waits goes to another shard.
    pub(super) fn take(&mut self, task: TaskId, from: usize, to: usize, now_ns: u64) {
        let tag = self.tag(from, task, now_ns);
        self.no_longer_waits(task);
        self.is_not_runnable(from, task, now_ns);
        self.relocate(task, from, to, now_ns);
        self.moved += 1;
        let asked = self.join(task, true, tag, now_ns);
        self.asks.extend(asked);
    }

    /// A task that is not runnable, or has just been taken, is another machine's.
    pub(super) fn relocate(&mut self, task: TaskId, from: usize, to: usize, now_ns: u64) {
        self.shards[from].machine.depart(task, now_ns);
        self.tasks[task].shard = to;
        self.enter(task, now_ns);
    }

    /// The machine of its shard hears of a task.
    pub(super) fn enter(&mut self, task: TaskId, now_ns: u64) {
        let t = &self.tasks[task];
        let shard = &mut self.shards[t.shard];
        shard.machine.add(task, t.process, t.weight, now_ns);
        if let Some(group) = t.group {
            shard.machine.enter_group(task, group, now_ns);
        }
        if let Some(mask) = shard.part(t.mask.as_ref()) {
            shard.machine.set_allowed(task, &mask, now_ns);
        }
        if t.work_ns > 0 {
            shard.machine.bring(task, t.work_ns);
        }
    }

    /// Its tag in this shard's machine, in ns of a nice-0 task; `None` where tags are not carried.
    pub(super) fn tag(&self, shard: usize, task: TaskId, now_ns: u64) -> Option<i64> {
        self.carries.then(|| self.shards[shard].machine.value(TAG, task, now_ns))
    }

    /// A task becomes runnable in its shard, or is again after a move; with this tag, in ns of a nice-0 task, if tags are carried. Returns
    /// a CPU that is to decide.
    pub(super) fn join(
        &mut self,
        task: TaskId,
        is_new: bool,
        tag: Option<i64>,
        now_ns: u64,
    ) -> Option<CpuId> {
        let at = self.tasks[task].shard;
        self.is_runnable(at, task, now_ns);
        let machine = &mut self.shards[at].machine;
        let asked = match tag {
            None => machine.wake(task, is_new, now_ns),
            Some(tag) => {
                machine.tell(&Event::Runnable { task, is_new }, now_ns);
                let by_ns = tag.wrapping_sub(machine.value(TAG, task, now_ns));
                if by_ns != 0 {
                    machine.carry(task, by_ns, now_ns);
                }
                machine.tell(&Event::Enqueue { task }, now_ns).asked
            }
        };
        self.waits(task, now_ns);
        self.ask_for(task, asked)
    }

    /// The same, because of a task of the shard.
    pub(super) fn ask_for(&mut self, task: TaskId, asked: Option<CpuId>) -> Option<CpuId> {
        let cpu = self.ask(self.tasks[task].shard, asked)?;
        self.callers[cpu.index()].push(task);
        Some(cpu)
    }

    /// A CPU of a shard that its machine wants to decide, by everybody's name.
    pub(super) fn ask(&mut self, shard: usize, asked: Option<CpuId>) -> Option<CpuId> {
        let cpu = self.shards[shard].global(asked?);
        self.order.set_idle(cpu, false);
        Some(cpu)
    }

    /// The task waits from now on.
    pub(super) fn waits(&mut self, task: TaskId, now_ns: u64) {
        let at = self.tasks[task].shard;
        self.turns += 1;
        let place = self.tag(at, task, now_ns).unwrap_or(self.turns);
        self.tasks[task].phase = Phase::Waits(place);
        self.shards[at].waiting.insert((place, task));
        if self.carries {
            self.order.begin_to_wait(place, at, task);
        }
    }

    /// It has or gets a CPU, or is no longer runnable.
    pub(super) fn no_longer_waits(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        if let Phase::Waits(place) = t.phase {
            self.shards[t.shard].waiting.remove(&(place, task));
            self.order.end_to_wait(place, t.shard, task);
        }
    }

    fn is_runnable(&mut self, at: usize, task: TaskId, now_ns: u64) {
        if !self.carries {
            let busy = self.shards.iter_mut().filter(|shard| shard.runnable > 0);
            let slowest = busy.map(|shard| {
                shard.count(now_ns);
                shard.v()
            });
            let slowest = slowest.min();
            let skew = in_parts(self.skew());
            let shard = &mut self.shards[at];
            shard.count(now_ns);
            if let Some(v) = slowest.filter(|_| shard.runnable == 0) {
                shard.begin(v, v.saturating_add(skew));
            }
        }
        self.shards[at].runnable += 1;
        self.order.runnable += 1;
        self.add_weight(at, self.tasks[task].weight.fixed().into(), 0, now_ns);
    }

    /// It does not count for this shard any more.
    pub(super) fn is_not_runnable(&mut self, at: usize, task: TaskId, now_ns: u64) {
        self.add_weight(at, 0, self.tasks[task].weight.fixed().into(), now_ns);
        self.shards[at].runnable -= 1;
        self.order.runnable -= 1;
    }

    /// So much more and less is the weight of the runnable tasks of a shard.
    pub(super) fn add_weight(&mut self, at: usize, more: u128, less: u128, now_ns: u64) {
        let shard = &mut self.shards[at];
        shard.count(now_ns);
        let former = shard.weight;
        shard.weight = former + more - less;
        self.order.weigh(at, former, shard.weight);
    }
}
