//! The observer of a run, and what it is told.

use divvy_policy::{CpuId, TaskId};
use divvy_results::observation::{Observation, Observer};

/// Passes on to an observer what happens, if there is one.
#[derive(Default)]
pub(super) struct Notifier<'a> {
    pub observer: Option<Observer<'a>>,
    /// The CPU whose task executes its program.
    pub acting: Option<CpuId>,
    /// Number of the policy's values that the observer is told.
    pub values: u32,
    /// Tasks whose values may have changed at this instant.
    touched: Vec<TaskId>,
}

impl Notifier<'_> {
    pub(super) fn tell(&mut self, observation: Observation) {
        if let Some(observer) = &mut self.observer {
            observer(observation);
        }
    }

    /// The values that the policy keeps of this task may have changed.
    pub(super) fn touch(&mut self, task: TaskId) {
        if self.values > 0 {
            self.touched.push(task);
        }
    }

    /// Takes the tasks that were touched at this instant, each once, in order.
    pub(super) fn take_touched(&mut self) -> Vec<TaskId> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Gives back the room of [`Notifier::take_touched`], to be filled again.
    pub(super) fn reuse(&mut self, mut touched: Vec<TaskId>) {
        touched.clear();
        self.touched = touched;
    }
}
