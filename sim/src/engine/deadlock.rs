//! Tasks that can never go on: those that wait for each other's mutexes in a circle, and those that still wait for a
//! mutex or a barrier when nothing else is left to happen. A wait for a token is none of these: a server may well
//! outlive its clients.

use super::instance::{State, Wait};
use super::scheduler::Scheduler;
use super::state::Engine;
use super::violation::Violation;
use divvy_policy::TaskId;

/// Tasks named in a message.
const MOST_NAMED: usize = 8;

impl<S: Scheduler> Engine<'_, S> {
    /// `task` began to wait for a mutex. If the mutex's holder waits for `task`, directly or over other mutexes, then all
    /// of the circle wait for ever, unless one of them has a time to stop.
    pub(super) fn check_circle(&self, task: TaskId) -> Result<(), Violation> {
        let mut circle = vec![task];
        let mut next = self.awaited(task);
        while let Some(holder) = next.filter(|&holder| holder != task) {
            if circle.len() as u64 == self.tasks.alive {
                return Ok(()); // it came upon another circle, which a stop will break
            }
            circle.push(holder);
            next = self.awaited(holder);
        }
        let stops = |&t: &TaskId| self.workload.tasks[self.tasks[t].class()].stop_ns.is_some();
        if next.is_none() || circle.iter().any(stops) {
            return Ok(());
        }
        Err(self.deadlock(&circle))
    }

    /// Nothing is left to happen: no task may wait for another.
    pub(super) fn check_stuck(&self) -> Result<(), Violation> {
        let waits = |task: &TaskId| {
            let t = &self.tasks[*task];
            t.state == State::Blocked && matches!(t.waits_for, Some(Wait::Mutex(_) | Wait::Barrier(_)))
        };
        let stuck: Vec<TaskId> = self.tasks.ids().filter(waits).collect();
        if stuck.is_empty() { Ok(()) } else { Err(self.deadlock(&stuck)) }
    }

    /// The holder of the mutex for which `task` waits.
    fn awaited(&self, task: TaskId) -> Option<TaskId> {
        let t = &self.tasks[task];
        match t.waits_for {
            // It holds what it waited for when it is about to wake.
            Some(Wait::Mutex(i)) if t.state == State::Blocked => {
                self.sync.mutexes[i as usize].holder().filter(|&holder| holder != task)
            }
            _ => None,
        }
    }

    fn deadlock(&self, stuck: &[TaskId]) -> Violation {
        let mut parts: Vec<String> =
            stuck.iter().take(MOST_NAMED).map(|&task| self.wait_text(task)).collect();
        if stuck.len() > MOST_NAMED {
            parts.push(format!("{} more tasks wait", stuck.len() - MOST_NAMED));
        }
        self.violation(format!("the workload deadlocks: {}", parts.join(", ")))
    }

    fn wait_text(&self, task: TaskId) -> String {
        let name = self.name(task);
        match self.tasks[task].waits_for {
            Some(Wait::Mutex(i)) => {
                let lock = &self.workload.locks[i as usize];
                let holder =
                    self.sync.mutexes[i as usize].holder().map_or("nobody", |holder| self.name(holder));
                format!("{name} waits for lock {lock}, which {holder} holds")
            }
            Some(Wait::Barrier(i)) => {
                let barrier = &self.workload.barriers[i as usize];
                format!("{name} waits at barrier {} for others that never come", barrier.name)
            }
            Some(Wait::Token) | None => format!("{name} waits"),
        }
    }

    fn name(&self, task: TaskId) -> &str {
        &self.accounts.rows[self.tasks[task].row()].name
    }
}
