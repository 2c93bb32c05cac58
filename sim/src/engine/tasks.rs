//! The tasks that exist, by id, and how many of them are runnable.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::instance::{Instance, State};
use divvy_policy::{MAX_TASKS, TaskId};

#[derive(Debug)]
pub(super) struct Tasks {
    /// By id; the first is no task's.
    slots: Vec<Instance>,
    free: Vec<TaskId>,
    /// The greatest id that a task can have.
    max_id: u32,
    pub alive: u64,
    /// Waiting or running.
    pub runnable: u64,
    pub running: u64,
    /// When the last task so far ended.
    pub ended_ns: u64,
    /// Tasks that something at this instant woke, with their generation.
    woken: VecDeque<(TaskId, u32)>,
}

impl Tasks {
    pub(super) fn new() -> Tasks {
        Tasks {
            slots: vec![Instance::vacant()],
            free: Vec::new(),
            max_id: MAX_TASKS - 1,
            alive: 0,
            runnable: 0,
            running: 0,
            ended_ns: 0,
            woken: VecDeque::new(),
        }
    }

    /// Keeps the greatest ids for processes, see [`process_id`].
    pub(super) fn reserve_processes(&mut self, processes: usize) {
        self.max_id = MAX_TASKS.saturating_sub(1 + processes as u32);
    }

    pub(super) fn max_id(&self) -> u32 {
        self.max_id
    }

    /// The id of a vacant slot; `None` if there is none.
    pub(super) fn vacant_slot(&mut self) -> Option<TaskId> {
        if let Some(task) = self.free.pop() {
            return Some(task);
        }
        let task = TaskId::at(self.slots.len());
        (task.get() <= self.max_id).then(|| {
            self.slots.push(Instance::vacant());
            task
        })
    }

    /// The task is gone.
    pub(super) fn release(&mut self, task: TaskId, now_ns: u64) {
        self[task].state = State::Vacant;
        self.alive -= 1;
        self.ended_ns = now_ns;
        self.free.push(task);
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = TaskId> + use<> {
        TaskId::all().take(self.slots.len() - 1)
    }

    pub(super) fn present(&self) -> impl Iterator<Item = (TaskId, &Instance)> {
        TaskId::all().zip(&self.slots[1..]).filter(|(_, t)| t.is_present())
    }

    /// A blocked task is to wake at this instant, after what happens now.
    pub(super) fn wake_soon(&mut self, task: TaskId) {
        self.woken.push_back((task, self[task].generation));
    }

    /// The next task that is to wake, if it is still there and blocked.
    pub(super) fn next_woken(&mut self) -> Option<TaskId> {
        while let Some((task, generation)) = self.woken.pop_front() {
            let t = &self[task];
            if t.generation == generation && t.state == State::Blocked {
                return Some(task);
            }
        }
        None
    }
}

/// The id that stands for a named process in the machine: counted down from the greatest, so that none is a task's.
pub(crate) fn process_id(number: usize) -> TaskId {
    TaskId::new(MAX_TASKS - 1 - number as u32)
}

impl Index<TaskId> for Tasks {
    type Output = Instance;

    fn index(&self, task: TaskId) -> &Instance {
        &self.slots[task.index()]
    }
}

impl IndexMut<TaskId> for Tasks {
    fn index_mut(&mut self, task: TaskId) -> &mut Instance {
        &mut self.slots[task.index()]
    }
}
