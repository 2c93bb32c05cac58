//! Makes sure that all programs of a replay reach their ends.
//!
//! In a complete recording they do, because of the order of its events. If events were lost, a sleep may be ended by a
//! thread that itself waits for something later. Such a sleep gets its recorded length instead.

use std::collections::{BTreeSet, VecDeque};

use crate::program::{Cause, ReplayTask, Start, Step};

/// Follows all programs without time. If none can continue, the first task that waits for a wake sleeps for its recorded
/// time instead, and the next wake for it is dropped, so that it ends no later sleep. `slept_ns` has the lengths of
/// each task's sleeps that end by a wake, in its program's order.
pub(crate) fn ensure(tasks: &mut [ReplayTask], slept_ns: &[Vec<u64>]) {
    let mut run = Run {
        next: vec![0; tasks.len()],
        waits: vec![0; tasks.len()],
        tokens: vec![0; tasks.len()],
        stuck: BTreeSet::new(),
        owed: vec![0; tasks.len()],
        void: vec![Vec::new(); tasks.len()],
        ready: (0..tasks.len()).filter(|&t| matches!(tasks[t].start, Start::At(_))).collect(),
    };
    loop {
        while let Some(task) = run.ready.pop_front() {
            run.advance(tasks, task);
        }
        let Some(first) = run.stuck.pop_first() else { break };
        let ns = slept_ns[first].get(run.waits[first]).copied().unwrap_or(0);
        tasks[first].steps[run.next[first]] = Step::Wait(Cause::Unknown { ns });
        run.waits[first] += 1;
        run.owed[first] += 1;
        run.ready.push_back(first);
    }
    for (task, void) in tasks.iter_mut().zip(run.void) {
        let (mut void, mut at) = (void.into_iter().peekable(), 0);
        task.steps.retain(|_| {
            at += 1;
            void.next_if_eq(&(at - 1)).is_none()
        });
    }
}

struct Run {
    /// The next step of each task; the waits for a wake that it has passed; the wakes that it has not used.
    next: Vec<usize>,
    waits: Vec<usize>,
    tokens: Vec<usize>,
    /// The tasks that wait for a wake that has not come.
    stuck: BTreeSet<usize>,
    /// Wakes to drop, because the sleep that they would end has a length now; and those found, by their steps.
    owed: Vec<usize>,
    void: Vec<Vec<usize>>,
    ready: VecDeque<usize>,
}

impl Run {
    fn advance(&mut self, tasks: &[ReplayTask], task: usize) {
        while let Some(step) = tasks[task].steps.get(self.next[task]) {
            match *step {
                Step::Wait(Cause::Dependency) if self.tokens[task] == 0 => {
                    self.stuck.insert(task);
                    return;
                }
                Step::Wait(Cause::Dependency) => {
                    self.tokens[task] -= 1;
                    self.waits[task] += 1;
                }
                Step::Wake { task: other } if self.owed[other] > 0 => {
                    self.owed[other] -= 1;
                    self.void[task].push(self.next[task]);
                }
                Step::Wake { task: other } => {
                    self.tokens[other] += 1;
                    if self.stuck.remove(&other) {
                        self.ready.push_back(other);
                    }
                }
                Step::Fork { task: child } => self.ready.push_back(child),
                Step::Run { .. } | Step::Wait(_) | Step::Exit | Step::Endless | Step::Repeat => {}
            }
            self.next[task] += 1;
        }
    }
}
