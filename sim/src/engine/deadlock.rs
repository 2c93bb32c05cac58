//! Tasks that can never go on: those that wait for each other's mutexes in a circle, and those that still wait for a
//! mutex or a barrier when nothing else is left to happen. A wait for a token is none of these: a server may well
//! outlive its clients.

use super::instance::Wait;
use super::{Engine, State, Violation};
use divvy_policy::TaskId;

/// Tasks named in a message.
const MOST_NAMED: usize = 8;

impl Engine<'_> {
    /// `task` waits for a mutex since just now: does its holder, over other mutexes, wait for `task`? Then all of the
    /// circle wait for ever, unless one of them has a time to stop.
    pub(super) fn check_circle(&self, task: TaskId) -> Result<(), Violation> {
        let mut circle = vec![task];
        let mut next = self.awaited(task);
        while let Some(holder) = next.filter(|&holder| holder != task) {
            if circle.len() as u64 == self.alive {
                return Ok(()); // it came upon another circle, which a stop will break
            }
            circle.push(holder);
            next = self.awaited(holder);
        }
        let stops =
            |&t: &TaskId| self.workload.tasks[self.tasks[t as usize].class as usize].stop_ns.is_some();
        if next.is_none() || circle.iter().any(stops) {
            return Ok(());
        }
        Err(self.deadlock(&circle))
    }

    /// Nothing is left to happen: nobody may wait for another.
    pub(super) fn check_stuck(&self) -> Result<(), Violation> {
        let waits = |task: &TaskId| {
            let t = &self.tasks[*task as usize];
            t.state == State::Blocked && matches!(t.waits_for, Some(Wait::Mutex(_) | Wait::Meeting(_)))
        };
        let stuck: Vec<TaskId> = (1..self.tasks.len() as TaskId).filter(waits).collect();
        if stuck.is_empty() { Ok(()) } else { Err(self.deadlock(&stuck)) }
    }

    /// Who holds the mutex for which `task` waits.
    fn awaited(&self, task: TaskId) -> Option<TaskId> {
        let t = &self.tasks[task as usize];
        match t.waits_for {
            // It holds what it waited for when it is about to wake.
            Some(Wait::Mutex(i)) if t.state == State::Blocked => {
                self.mutexes[i as usize].holder().filter(|&holder| holder != task)
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
        match self.tasks[task as usize].waits_for {
            Some(Wait::Mutex(i)) => {
                let lock = &self.workload.locks[i as usize];
                let holder = self.mutexes[i as usize].holder().map_or("nobody", |holder| self.name(holder));
                format!("{name} waits for lock {lock}, which {holder} holds")
            }
            Some(Wait::Meeting(i)) => {
                let barrier = &self.workload.barriers[i as usize];
                format!("{name} waits at barrier {} for others that never come", barrier.name)
            }
            Some(Wait::Token) | None => format!("{name} waits"),
        }
    }

    fn name(&self, task: TaskId) -> &str {
        &self.rows[self.tasks[task as usize].row as usize].name
    }
}
