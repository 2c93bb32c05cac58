//! The part that decides which task runs where: the engine tells it what happens to tasks, and asks it, or is told.

use divvy_policy::{
    CpuId, CpuLimit, CpuMask, Decision, Event, Machine, ProgramState, Shown, TaskId, Turn, Weight,
};
use divvy_results::report::HostCalls;

use super::tasks::process_id;

/// A task that comes to be, and is not runnable yet.
#[derive(Clone, Copy, Debug)]
pub struct Birth<'a> {
    /// Its id, which no other task has now.
    pub task: TaskId,
    /// The number of its process, if that is shared; a process of its own if not.
    pub process: Option<usize>,
    /// Its own weight.
    pub weight: Weight,
    /// The running task that forks it; `None` if it comes from outside.
    pub parent: Option<TaskId>,
    /// The group that it is in; groups are numbered from 1.
    pub group: Option<u32>,
    /// The CPUs where it may run; `None` is all of them.
    pub mask: Option<&'a CpuMask>,
}

/// A CPU that has another task now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The CPU.
    pub cpu: CpuId,
    /// Its task; `None`: it is idle.
    pub task: Option<TaskId>,
}

/// Decides which task runs where.
///
/// There are two kinds. One that is *asked* answers [`Scheduler::dispatch`] whenever a slice or a burst ends, as a [`Machine`] does. One
/// that [decides by itself](Scheduler::DECIDES_BY_ITSELF) is a whole kernel with ticks and interrupts: it says by
/// [`Scheduler::run_until`] what it did. Methods that concern one kind only do nothing by default.
pub trait Scheduler {
    /// Whether it decides at times of its own. The engine knows this when it is compiled.
    const DECIDES_BY_ITSELF: bool;

    /// A group exists, in another one (0 is none), before there are tasks.
    fn set_group(&mut self, group: u32, parent: u32, weight: Weight);
    /// The group gets no more CPU time than this.
    fn set_limit(&mut self, group: u32, limit: CpuLimit);

    /// A task exists.
    fn add(&mut self, birth: &Birth<'_>, now_ns: u64);
    /// A task becomes runnable, because of the task on the CPU `by` or of something outside. Returns a CPU that is to be asked.
    fn wake(&mut self, task: TaskId, is_new: bool, by: Option<CpuId>, now_ns: u64) -> Option<CpuId>;
    /// A task that is on a CPU, where it ran for `ran_ns`, blocks or exits.
    fn block(&mut self, task: TaskId, ran_ns: u64, exits: bool, now_ns: u64);
    /// A task that waits for a CPU is ended from outside.
    fn withdraw(&mut self, task: TaskId, now_ns: u64);
    /// A task that is not runnable is gone.
    fn remove(&mut self, task: TaskId, now_ns: u64);
    /// The task on this CPU lets others run first.
    fn yielding(&mut self, on: CpuId);

    /// Decisions of the policy so far.
    fn decisions(&self) -> u64;
    /// Answers of the policy that broke its contract.
    fn faults(&self) -> u64;

    /// A further CPU that is to decide because of the last call, after the one that the call named.
    #[inline]
    fn also_asked(&mut self) -> Option<CpuId> {
        None
    }

    /// Whether an idle CPU where a waiting task may run is to run it.
    #[inline]
    fn may_take(&self, _task: TaskId, _cpu: CpuId) -> bool {
        true
    }

    /// Times that a task went to another shard; `None` without shards.
    fn moved(&self) -> Option<u64> {
        None
    }

    // ---- those that are asked ----

    /// See [`Machine::dispatch`].
    #[inline]
    fn dispatch(&mut self, _on: CpuId, _now_ns: u64) -> Option<Decision> {
        None
    }

    /// See [`Machine::turn`]. `None`: it is to be asked and told one by one.
    #[inline]
    fn turn(&mut self, _on: CpuId, _former: Option<TaskId>, _ran_ns: u64, _now_ns: u64) -> Option<Turn> {
        None
    }

    /// See [`Machine::requeue`].
    #[inline]
    fn requeue(&mut self, _task: TaskId, _ran_ns: u64, _now_ns: u64) -> Option<CpuId> {
        None
    }

    /// See [`Machine::running`].
    #[inline]
    fn running(&mut self, _task: TaskId, _now_ns: u64) {}

    /// See [`Machine::change`].
    #[inline]
    fn change(
        &mut self,
        _task: TaskId,
        _ran_ns: u64,
        _now_ns: u64,
        _next: TaskId,
        _from_ns: u64,
    ) -> Option<CpuId> {
        None
    }

    /// See [`Machine::release_due_ns`].
    #[inline]
    fn release_due_ns(&self, _now_ns: u64) -> Option<u64> {
        None
    }

    /// See [`Machine::release`].
    #[inline]
    fn release(&mut self, _now_ns: u64) -> Option<(TaskId, Option<CpuId>)> {
        None
    }

    /// See [`Machine::holds`].
    #[inline]
    fn holds(&self, _task: TaskId) -> bool {
        false
    }

    /// See [`Machine::held`].
    #[inline]
    fn held(&self) -> u64 {
        0
    }

    // ---- those that decide by themselves ----

    /// Runs on until `until_ns`, or until a CPU has another task: the time then. Called as long as there are tasks or timers.
    ///
    /// # Errors
    /// A sentence: why it does not schedule any more.
    fn run_until(&mut self, until_ns: u64) -> Result<u64, String> {
        Ok(until_ns)
    }

    /// Takes the changes at the time that [`Scheduler::run_until`] returned; each CPU is there once.
    fn take_changes(&mut self) -> Vec<Change> {
        Vec::new()
    }

    /// How often it called the host that it runs around a policy, if it is such a kernel.
    fn host_calls(&self) -> Option<HostCalls> {
        None
    }

    /// The run is over.
    ///
    /// # Errors
    /// A sentence: what it kept of the run is lost.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }

    // ---- what only some policies or modifiers want to know, or can tell ----

    /// See [`Machine::bring`].
    #[inline]
    fn bring(&mut self, _task: TaskId, _work_ns: u64) {}

    /// The task's program says that it begins a session.
    fn begin_session(&mut self, _task: TaskId, _now_ns: u64) {}

    /// See [`Machine::knows_programs`].
    #[inline]
    fn knows_programs(&self) -> bool {
        false
    }

    /// A task executes a program from its beginning.
    fn set_program(&mut self, _task: TaskId, _program: u64, _now_ns: u64) {}

    /// See [`Machine::program`].
    fn program(&self, _identity: u64) -> Option<ProgramState> {
        None
    }

    /// See [`Machine::shown`].
    fn shown(&self) -> Vec<Shown> {
        Vec::new()
    }

    /// See [`Machine::value`].
    fn value(&self, _index: u32, _task: TaskId, _now_ns: u64) -> i64 {
        0
    }
}

impl Scheduler for Machine {
    const DECIDES_BY_ITSELF: bool = false;

    fn set_group(&mut self, group: u32, parent: u32, weight: Weight) {
        self.set_group(group, parent, weight, 0);
    }

    fn set_limit(&mut self, group: u32, limit: CpuLimit) {
        self.set_limit(group, Some(limit), 0);
    }

    #[inline]
    fn add(&mut self, birth: &Birth<'_>, now_ns: u64) {
        let &Birth { task, process, weight, parent, group, mask } = birth;
        self.add(task, process.map_or(task, process_id), weight, now_ns);
        if let Some(parent) = parent {
            self.tell(&Event::Fork { task, parent: Some(parent) }, now_ns);
        }
        if let Some(group) = group {
            self.enter_group(task, group, now_ns);
        }
        if let Some(mask) = mask {
            self.set_allowed(task, mask, now_ns);
        }
    }

    #[inline]
    fn wake(&mut self, task: TaskId, is_new: bool, _by: Option<CpuId>, now_ns: u64) -> Option<CpuId> {
        self.wake(task, is_new, now_ns)
    }

    #[inline]
    fn block(&mut self, task: TaskId, ran_ns: u64, exits: bool, now_ns: u64) {
        self.block(task, ran_ns, exits, now_ns);
    }

    fn withdraw(&mut self, task: TaskId, now_ns: u64) {
        self.withdraw(task, true, now_ns);
    }

    #[inline]
    fn remove(&mut self, task: TaskId, now_ns: u64) {
        self.remove(task, now_ns);
    }

    #[inline]
    fn yielding(&mut self, on: CpuId) {
        self.yielding(on);
    }

    fn decisions(&self) -> u64 {
        self.decisions()
    }

    fn faults(&self) -> u64 {
        self.faults()
    }

    #[inline]
    fn dispatch(&mut self, on: CpuId, now_ns: u64) -> Option<Decision> {
        self.dispatch(on, now_ns)
    }

    #[inline]
    fn turn(&mut self, on: CpuId, former: Option<TaskId>, ran_ns: u64, now_ns: u64) -> Option<Turn> {
        self.turn(on, former, ran_ns, now_ns)
    }

    #[inline]
    fn requeue(&mut self, task: TaskId, ran_ns: u64, now_ns: u64) -> Option<CpuId> {
        self.requeue(task, ran_ns, now_ns)
    }

    #[inline]
    fn running(&mut self, task: TaskId, now_ns: u64) {
        self.running(task, now_ns);
    }

    #[inline]
    fn change(
        &mut self,
        task: TaskId,
        ran_ns: u64,
        now_ns: u64,
        next: TaskId,
        from_ns: u64,
    ) -> Option<CpuId> {
        self.change(task, ran_ns, now_ns, next, from_ns)
    }

    #[inline]
    fn release_due_ns(&self, now_ns: u64) -> Option<u64> {
        self.release_due_ns(now_ns)
    }

    #[inline]
    fn release(&mut self, now_ns: u64) -> Option<(TaskId, Option<CpuId>)> {
        self.release(now_ns)
    }

    #[inline]
    fn holds(&self, task: TaskId) -> bool {
        self.holds(task)
    }

    #[inline]
    fn held(&self) -> u64 {
        self.held()
    }

    #[inline]
    fn bring(&mut self, task: TaskId, work_ns: u64) {
        self.bring(task, work_ns);
    }

    fn begin_session(&mut self, task: TaskId, now_ns: u64) {
        self.tell(&Event::Session { task }, now_ns);
    }

    #[inline]
    fn knows_programs(&self) -> bool {
        self.knows_programs()
    }

    fn set_program(&mut self, task: TaskId, program: u64, now_ns: u64) {
        self.tell(&Event::SetProgram { task, program }, now_ns);
    }

    fn program(&self, identity: u64) -> Option<ProgramState> {
        self.program(identity)
    }

    fn shown(&self) -> Vec<Shown> {
        self.shown()
    }

    fn value(&self, index: u32, task: TaskId, now_ns: u64) -> i64 {
        self.value(index, task, now_ns)
    }
}
