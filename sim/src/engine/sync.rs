//! Objects at which tasks wait for each other: mutexes, barriers, tokens, semaphores.

use std::collections::VecDeque;

use divvy_policy::TaskId;
use divvy_workload::Workload;

/// The mutexes, semaphores and barriers of a workload, by number.
#[derive(Debug)]
pub(super) struct SyncObjects {
    pub mutexes: Vec<Mutex>,
    pub semaphores: Vec<Semaphore>,
    pub barriers: Vec<Barrier>,
}

impl SyncObjects {
    pub(super) fn new(workload: &Workload) -> SyncObjects {
        SyncObjects {
            mutexes: workload.locks.iter().map(|_| Mutex::default()).collect(),
            semaphores: workload.semaphores.iter().map(|_| Semaphore::default()).collect(),
            barriers: workload.barriers.iter().map(|b| Barrier::new(b.parties)).collect(),
        }
    }

    /// A task ends: it waits no longer and holds nothing. Returns the tasks that got its mutexes and must wake.
    pub(super) fn forget(&mut self, task: TaskId) -> Vec<TaskId> {
        for barrier in &mut self.barriers {
            barrier.forget(task);
        }
        for semaphore in &mut self.semaphores {
            semaphore.forget(task);
        }
        let pass_on = |mutex: &mut Mutex| {
            mutex.forget(task);
            mutex.unlock(task)
        };
        self.mutexes.iter_mut().filter_map(pass_on).collect()
    }
}

/// A mutex, handed over first come, first served.
#[derive(Debug, Default)]
pub(super) struct Mutex {
    holder: Option<TaskId>,
    waiting: VecDeque<TaskId>,
}

impl Mutex {
    /// Takes it, or joins the queue: whether the task has it now.
    pub(super) fn lock(&mut self, task: TaskId) -> bool {
        if self.holder.is_none() {
            self.holder = Some(task);
        } else {
            self.waiting.push_back(task);
        }
        self.holder == Some(task)
    }

    /// The task that has it.
    pub(super) fn holder(&self) -> Option<TaskId> {
        self.holder
    }

    /// Gives it back, if it is this task's. Returns the task that has it now and must wake.
    pub(super) fn unlock(&mut self, task: TaskId) -> Option<TaskId> {
        if self.holder == Some(task) {
            self.holder = self.waiting.pop_front();
            return self.holder;
        }
        None
    }

    /// A task ends: it no longer waits. (What it holds it must unlock.)
    pub(super) fn forget(&mut self, task: TaskId) {
        self.waiting.retain(|&t| t != task);
    }
}

/// A barrier for a number of tasks.
#[derive(Debug)]
pub(super) struct Barrier {
    parties: u32,
    waiting: Vec<TaskId>,
}

impl Barrier {
    pub(super) fn new(parties: u32) -> Barrier {
        Barrier { parties, waiting: Vec::new() }
    }

    /// A task arrives: `None` if it must wait; else it was the last, and all that waited go on.
    pub(super) fn arrive(&mut self, task: TaskId) -> Option<Vec<TaskId>> {
        if self.waiting.len() as u32 + 1 < self.parties {
            self.waiting.push(task);
            return None;
        }
        Some(std::mem::take(&mut self.waiting))
    }

    pub(super) fn forget(&mut self, task: TaskId) {
        self.waiting.retain(|&t| t != task);
    }
}

/// Tokens for the single instance of a task, kept with the time at which they came.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    kept_ns: VecDeque<u64>,
}

impl Tokens {
    pub(super) fn keep(&mut self, now_ns: u64) {
        self.kept_ns.push_back(now_ns);
    }

    /// Takes the oldest: when it came.
    pub(super) fn take(&mut self) -> Option<u64> {
        self.kept_ns.pop_front()
    }
}

/// Tokens for whoever takes them, first come, first served.
#[derive(Debug, Default)]
pub(super) struct Semaphore {
    tokens: Tokens,
    waiting: VecDeque<TaskId>,
}

impl Semaphore {
    /// Adds a token, or returns the task that waited longest and must wake.
    pub(super) fn post(&mut self, now_ns: u64) -> Option<TaskId> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.tokens.keep(now_ns);
        }
        next
    }

    /// Takes the oldest token: when it came. Without one the task joins the queue.
    pub(super) fn take(&mut self, task: TaskId) -> Option<u64> {
        let came_ns = self.tokens.take();
        if came_ns.is_none() {
            self.waiting.push_back(task);
        }
        came_ns
    }

    fn forget(&mut self, task: TaskId) {
        self.waiting.retain(|&t| t != task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: u32) -> TaskId {
        TaskId::new(number)
    }

    #[test]
    fn a_mutex_goes_to_the_task_that_waited_longest() {
        let mut m = Mutex::default();
        assert!(m.lock(task(1)));
        assert!(!m.lock(task(2)));
        assert!(!m.lock(task(3)));
        m.forget(task(2));
        assert_eq!(m.unlock(task(3)), None, "not its own");
        assert_eq!(m.unlock(task(1)), Some(task(3)));
        assert_eq!(m.unlock(task(3)), None);
        assert!(m.lock(task(4)));
    }

    #[test]
    fn a_semaphore_keeps_what_comes_early_and_serves_who_waited_longest() {
        let mut s = Semaphore::default();
        assert_eq!(s.post(5), None);
        assert_eq!(s.take(task(1)), Some(5));
        assert_eq!((s.take(task(1)), s.take(task(2)), s.take(task(3))), (None, None, None));
        s.forget(task(2));
        assert_eq!((s.post(6), s.post(7), s.post(8)), (Some(task(1)), Some(task(3)), None));
    }

    #[test]
    fn a_barrier_lets_all_go_and_starts_afresh() {
        let mut b = Barrier::new(3);
        assert_eq!(b.arrive(task(1)), None);
        assert_eq!(b.arrive(task(2)), None);
        assert_eq!(b.arrive(task(3)), Some(vec![task(1), task(2)]));
        assert_eq!(b.arrive(task(3)), None);
        assert_eq!(Barrier::new(1).arrive(task(7)), Some(vec![]));
    }
}
