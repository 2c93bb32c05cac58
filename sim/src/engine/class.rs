//! A task of the workload, ready to use, and the state that its instances share.

use super::sync::Tokens;
use divvy_policy::{TaskId, Weight};
use divvy_workload::Stream;

pub(super) struct Class {
    /// Number of its program among those of the run: neighbours in the workload with the same steps share one.
    pub program: usize,
    /// Its job ends when it sleeps. (A class of jobs sleeps within them.)
    pub sleep_ends_job: bool,
    /// Its result rows: one for each instance, or a single one for a class of short tasks.
    pub first_row: usize,
    pub rows: usize,
    pub weight: Weight,
    /// Where its instances may run, by number: 0 is everywhere.
    pub mask: usize,
    /// The number of its process, if that has a name.
    pub process: Option<usize>,
    pub group: Option<usize>,
    /// Number of the program that its instances execute, in [`super::programs::Programs`].
    pub executable: usize,
    /// Instances so far, which numbers their random streams.
    pub born: u32,
    pub arrivals: Stream,
    /// Arrivals still to come.
    pub left: u64,
    pub stopped: bool,
    /// The instance that tokens go to, if there was one.
    pub instance: Option<TaskId>,
    pub tokens: Tokens,
}

impl Class {
    /// The number of the next instance, which is `task`, and its row.
    pub(super) fn next_instance(&mut self, task: TaskId) -> (u32, usize) {
        let number = self.born;
        self.born += 1;
        self.instance = Some(task);
        (number, self.first_row + (number as usize).min(self.rows - 1))
    }
}
