//! The account of weights: what the modifiers make of them, over all shards (placement R7).

use divvy_policy::{TaskId, Weight};

use super::Sharded;
use super::tasks::Phase;

impl Sharded {
    /// A task is about to become runnable: its shard's machine hears of its weight then.
    pub(super) fn weigh_in(&mut self, task: TaskId, now_ns: u64) {
        let Some(account) = &mut self.account else { return };
        let weight = account.join(task, now_ns);
        self.set_weight(task, weight, now_ns);
        self.weigh_anew(now_ns);
    }

    /// A task is not runnable any more, as its shard's machine knows.
    pub(super) fn weigh_out(&mut self, task: TaskId, now_ns: u64) {
        if let Some(account) = &mut self.account {
            account.leave(task, now_ns);
        }
        self.weigh_anew(now_ns);
    }

    /// Tasks that were runnable before have weights that others' coming and going changed.
    pub(super) fn weigh_anew(&mut self, now_ns: u64) {
        while let Some((task, weight)) = self.account.as_mut().and_then(|account| account.next_change(now_ns))
        {
            self.set_weight(task, weight, now_ns);
        }
    }

    /// Its weight is this one from now on; service until now counts as it was.
    fn set_weight(&mut self, task: TaskId, weight: Weight, now_ns: u64) {
        let t = &mut self.tasks[task];
        let former = std::mem::replace(&mut t.weight, weight);
        if former == weight {
            return;
        }
        let (at, phase) = (t.shard, t.phase);
        if phase != Phase::Away {
            self.add_weight(at, weight.fixed().into(), former.fixed().into(), now_ns);
        }
        self.shards[at].machine.set_weight(task, weight, now_ns);
        let Phase::Runs { cpu, from_ns, tag: began } = phase else { return };
        // Its switch may be in progress: then its tag is as it was.
        let from_ns = from_ns.max(now_ns);
        let tag = self.tag(at, task, from_ns).unwrap_or(0);
        self.tasks[task].phase = Phase::Runs { cpu, from_ns, tag };
        if self.carries {
            self.order.end_to_run(began, task);
            self.order.begin_to_run(tag, task);
        }
    }
}
