//! The engine's events, told to the machine that has the task.

use divvy_policy::{CpuId, CpuLimit, Decision, Event, ProgramState, Shown, TaskId, Weight};

use super::Sharded;
use super::tasks::{Phase, Task};
use crate::engine::{Birth, Scheduler, process_id};

impl Scheduler for Sharded {
    const DECIDES_BY_ITSELF: bool = false;

    fn set_group(&mut self, group: u32, parent: u32, weight: Weight) {
        self.shards.iter_mut().for_each(|shard| shard.machine.set_group(group, parent, weight, 0));
        self.account.iter_mut().for_each(|account| account.set_group(group, parent, weight));
    }

    /// There is one shard: `placement D2`.
    fn set_limit(&mut self, group: u32, limit: CpuLimit) {
        self.shards.iter_mut().for_each(|shard| shard.machine.set_limit(group, Some(limit), 0));
    }

    fn add(&mut self, birth: &Birth<'_>, now_ns: u64) {
        let &Birth { task, process, weight, parent, group, mask } = birth;
        let shard = parent.map_or(0, |parent| self.tasks[parent].shard);
        let process = process.map_or(task, process_id);
        self.tasks.insert(
            task,
            Task {
                shard,
                phase: Phase::Away,
                process,
                weight,
                group,
                mask: mask.cloned(),
                last: None,
                work_ns: 0,
                forked: parent.is_some(),
            },
        );
        if !self.allows(shard, task) {
            self.tasks[task].shard =
                (0..self.shards.len()).find(|shard| self.allows(*shard, task)).unwrap_or(shard);
        }
        // In the order of a machine alone: its parent is told before its group and its CPUs.
        let t = &self.tasks[task];
        let shard = &mut self.shards[t.shard];
        shard.machine.add(task, process, weight, now_ns);
        if let Some(parent) = parent.filter(|parent| self.tasks[*parent].shard == t.shard) {
            shard.machine.tell(&Event::Fork { task, parent: Some(parent) }, now_ns);
        }
        if let Some(group) = group {
            shard.machine.enter_group(task, group, now_ns);
        }
        if let Some(mask) = shard.part(t.mask.as_ref()) {
            shard.machine.set_allowed(task, &mask, now_ns);
        }
        let Some(account) = &mut self.account else { return };
        account.add(task, process, weight, now_ns);
        group.iter().for_each(|group| account.enter_group(task, *group, now_ns));
        mask.iter().for_each(|mask| account.set_allowed(task, mask, now_ns));
        self.weigh_anew(now_ns);
    }

    fn wake(&mut self, task: TaskId, is_new: bool, _by: Option<CpuId>, now_ns: u64) -> Option<CpuId> {
        let from = self.tasks[task].shard;
        if !self.is_divided() {
            return self.join(task, is_new, None, now_ns);
        }
        self.weigh_in(task, now_ns);
        let to = self.place(task);
        let tag = self.tag_on_waking(task, is_new, now_ns);
        if to != from {
            self.relocate(task, from, to, now_ns);
            self.moved += u64::from(self.tasks[task].last.is_some());
        }
        let asked = self.join(task, is_new || to != from, tag, now_ns);
        asked.or_else(|| self.call_idle(task))
    }

    fn block(&mut self, task: TaskId, ran_ns: u64, exits: bool, now_ns: u64) {
        let at = self.tasks[task].shard;
        self.leave_cpu(task, ran_ns, now_ns);
        self.is_not_runnable(at, task, now_ns);
        self.shards[at].machine.block(task, ran_ns, exits, now_ns);
        self.note_last(task, now_ns);
        self.weigh_out(task, now_ns);
    }

    fn withdraw(&mut self, task: TaskId, now_ns: u64) {
        let at = self.tasks[task].shard;
        self.no_longer_waits(task);
        self.tasks[task].phase = Phase::Away;
        self.is_not_runnable(at, task, now_ns);
        self.shards[at].machine.withdraw(task, true, now_ns);
        self.note_last(task, now_ns);
        self.weigh_out(task, now_ns);
    }

    fn remove(&mut self, task: TaskId, now_ns: u64) {
        self.shards[self.tasks[task].shard].machine.remove(task, now_ns);
        self.tasks.remove(task);
        self.account.iter_mut().for_each(|account| account.remove(task, now_ns));
        self.weigh_anew(now_ns);
    }

    fn yielding(&mut self, on: CpuId) {
        let shard = &mut self.shards[self.home[on.index()]];
        shard.machine.yielding(shard.local(on));
    }

    fn decisions(&self) -> u64 {
        self.shards.iter().map(|shard| shard.machine.decisions()).sum()
    }

    fn faults(&self) -> u64 {
        self.shards.iter().map(|shard| shard.machine.faults()).sum()
    }

    fn dispatch(&mut self, on: CpuId, now_ns: u64) -> Option<Decision> {
        let at = self.home[on.index()];
        if self.is_divided() {
            if !self.carries {
                self.shards.iter_mut().for_each(|shard| shard.count(now_ns));
            }
            self.take_for(on, now_ns);
            self.asks.retain(|asked| *asked != on);
        }
        let shard = &mut self.shards[at];
        let decision = shard.machine.dispatch(shard.local(on), now_ns);
        self.order.set_idle(on, decision.is_none());
        self.call_again(on, decision.as_ref().map(|decision| decision.task));
        let Decision { task, slice_ns, asked } = decision?;
        let asked = self.ask(at, asked);
        if self.running[on.index()] != Some(task) {
            self.no_longer_waits(task);
            self.tasks[task].last = Some(on);
        }
        Some(Decision { task, slice_ns, asked })
    }

    fn requeue(&mut self, task: TaskId, ran_ns: u64, now_ns: u64) -> Option<CpuId> {
        let at = self.tasks[task].shard;
        self.leave_cpu(task, ran_ns, now_ns);
        let asked = self.shards[at].machine.requeue(task, ran_ns, now_ns);
        self.waits(task, now_ns);
        self.ask_for(task, asked).or_else(|| self.call_idle(task))
    }

    fn running(&mut self, task: TaskId, from_ns: u64) {
        self.shards[self.tasks[task].shard].machine.running(task, from_ns);
        self.comes_to_cpu(task, from_ns);
    }

    fn change(
        &mut self,
        task: TaskId,
        ran_ns: u64,
        now_ns: u64,
        next: TaskId,
        from_ns: u64,
    ) -> Option<CpuId> {
        let at = self.tasks[task].shard;
        self.leave_cpu(task, ran_ns, now_ns);
        let asked = self.shards[at].machine.change(task, ran_ns, now_ns, next, from_ns);
        self.comes_to_cpu(next, from_ns);
        self.waits(task, now_ns);
        self.ask_for(task, asked).or_else(|| self.call_idle(task))
    }

    fn release_due_ns(&self, now_ns: u64) -> Option<u64> {
        self.shards.iter().filter_map(|shard| shard.machine.release_due_ns(now_ns)).min()
    }

    fn release(&mut self, now_ns: u64) -> Option<(TaskId, Option<CpuId>)> {
        self.shards.iter_mut().find_map(|shard| shard.machine.release(now_ns))
    }

    fn holds(&self, task: TaskId) -> bool {
        self.shards[self.tasks[task].shard].machine.holds(task)
    }

    /// There is one shard, or nothing is ever held: `placement D2`.
    fn held(&self) -> u64 {
        if self.is_divided() { 0 } else { self.shards[0].machine.held() }
    }

    fn also_asked(&mut self) -> Option<CpuId> {
        self.asks.pop()
    }

    fn may_take(&self, task: TaskId, cpu: CpuId) -> bool {
        self.steal || self.tasks[task].shard == self.home[cpu.index()]
    }

    fn moved(&self) -> Option<u64> {
        self.is_divided().then_some(self.moved)
    }

    fn bring(&mut self, task: TaskId, work_ns: u64) {
        self.tasks[task].work_ns = work_ns;
        self.shards[self.tasks[task].shard].machine.bring(task, work_ns);
    }

    fn begin_session(&mut self, task: TaskId, now_ns: u64) {
        self.shards[self.tasks[task].shard].machine.tell(&Event::Session { task }, now_ns);
    }

    fn knows_programs(&self) -> bool {
        self.shards[0].machine.knows_programs()
    }

    fn set_program(&mut self, task: TaskId, program: u64, now_ns: u64) {
        let event = Event::SetProgram { task, program };
        self.shards[self.tasks[task].shard].machine.tell(&event, now_ns);
    }

    /// All shards know the same.
    fn program(&self, identity: u64) -> Option<ProgramState> {
        self.shards[0].machine.program(identity)
    }

    fn shown(&self) -> Vec<Shown> {
        self.shards[0].machine.shown()
    }

    fn value(&self, index: u32, task: TaskId, now_ns: u64) -> i64 {
        self.shards[self.tasks[task].shard].machine.value(index, task, now_ns)
    }
}

impl Sharded {
    /// It is on the CPU that was given it.
    fn comes_to_cpu(&mut self, task: TaskId, from_ns: u64) {
        let t = &self.tasks[task];
        let Some(cpu) = t.last else { return };
        let tag = self.tag(t.shard, task, from_ns).unwrap_or(0);
        self.tasks[task].phase = Phase::Runs { cpu, from_ns, tag };
        self.running[cpu.index()] = Some(task);
        if self.carries {
            self.order.begin_to_run(tag, task);
        }
        let shard = &mut self.shards[self.home[cpu.index()]];
        shard.count(from_ns);
        shard.serving += 1;
    }

    /// It is off its CPU.
    fn leave_cpu(&mut self, task: TaskId, ran_ns: u64, now_ns: u64) {
        let t = &mut self.tasks[task];
        let Phase::Runs { cpu, tag, .. } = t.phase else { return };
        t.phase = Phase::Away;
        t.work_ns = t.work_ns.saturating_sub(ran_ns);
        self.running[cpu.index()] = None;
        self.order.end_to_run(tag, task);
        let shard = &mut self.shards[self.home[cpu.index()]];
        shard.count(now_ns);
        shard.serving -= 1;
    }
}
