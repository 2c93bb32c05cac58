//! The tasks as they are known outside the machines: all that another machine is to be told when a task moves there.

use std::ops::{Index, IndexMut};

use divvy_policy::{CpuId, CpuMask, TaskId, Weight};

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing: it is not runnable.
    Away,
    /// Waits in its shard, at this place among those that do.
    Waits(i64),
    /// Has a CPU, from this time on, ns; it came there with this tag, in ns of a nice-0 task.
    Runs { cpu: CpuId, from_ns: u64, tag: i64 },
}

/// A task that exists.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub shard: usize,
    pub phase: Phase,
    pub process: TaskId,
    /// As its shard's machine is told: after the modifiers, where there is an account.
    pub weight: Weight,
    pub group: Option<u32>,
    /// Where it may run; `None` is everywhere.
    pub mask: Option<CpuMask>,
    /// Where it ran last.
    pub last: Option<CpuId>,
    /// Work of its program that is left, ns, as the engine said; 0 if it did not.
    pub work_ns: u64,
    /// Another task made it.
    pub forked: bool,
}

impl Task {
    pub(super) fn may_run(&self, cpu: CpuId) -> bool {
        self.mask.as_ref().is_none_or(|mask| mask.contains(cpu))
    }
}

/// All tasks, by id.
#[derive(Debug, Default)]
pub(super) struct Tasks(Vec<Option<Task>>);

impl Tasks {
    pub(super) fn insert(&mut self, id: TaskId, task: Task) {
        if id.index() >= self.0.len() {
            self.0.resize(id.index() + 1, None);
        }
        self.0[id.index()] = Some(task);
    }

    /// Whether it exists and waits.
    pub(super) fn waits(&self, id: TaskId) -> bool {
        let task = self.0.get(id.index()).and_then(Option::as_ref);
        task.is_some_and(|task| matches!(task.phase, Phase::Waits(_)))
    }

    pub(super) fn remove(&mut self, id: TaskId) {
        self.0[id.index()] = None;
    }
}

impl Index<TaskId> for Tasks {
    type Output = Task;

    fn index(&self, id: TaskId) -> &Task {
        self.0[id.index()].as_ref().expect("the engine names tasks that it added")
    }
}

impl IndexMut<TaskId> for Tasks {
    fn index_mut(&mut self, id: TaskId) -> &mut Task {
        self.0[id.index()].as_mut().expect("the engine names tasks that it added")
    }
}
