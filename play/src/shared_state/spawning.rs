//! Requests for new instances, and the number of instances that are alive.

use std::sync::atomic::Ordering::Relaxed;

use super::queues::NONE;
use super::state::{ALIVE, Failure, SOURCES, SharedState, WOKEN};
use crate::run_setup::SUPERVISOR;

/// A request to start the instances of a task, from one fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpawnRequest {
    /// Index of the task.
    pub class: usize,
    /// When the instances are due, in ns of the run.
    pub due_ns: u64,
}

impl SharedState {
    /// Counts one more task that has arrivals to come.
    pub fn add_source(&self) {
        let _held = self.hold();
        self.counts[SOURCES].fetch_add(1, Relaxed);
    }

    /// Counts one task less that has arrivals to come.
    pub fn remove_source(&self) {
        let held = self.hold();
        self.counts[SOURCES].fetch_sub(1, Relaxed);
        drop(held);
        self.wake_spawner(SUPERVISOR);
    }

    /// Counts `count` instances that will be started soon as alive.
    ///
    /// # Errors
    /// When there would be more live instances than the limit allows.
    pub fn expect(&self, count: u32) -> Result<(), Failure> {
        let _held = self.hold();
        self.expect_held(count)
    }

    /// As [`SharedState::expect`], for a caller that holds the lock.
    fn expect_held(&self, count: u32) -> Result<(), Failure> {
        let alive = self.counts[ALIVE].load(Relaxed) + u64::from(count);
        if alive > u64::from(self.most) {
            return Err(format!(
                "more than {} tasks at one time: the CPUs cannot keep up, or tasks fork without end; \
                 start fewer tasks, or raise --max-threads",
                self.most
            ));
        }
        self.counts[ALIVE].store(alive, Relaxed);
        Ok(())
    }

    /// Asks a spawner for the `count` instances of a fork.
    ///
    /// # Errors
    /// As [`SharedState::expect`].
    pub fn request(&self, spawner: usize, request: SpawnRequest, count: u32) -> Result<(), Failure> {
        let held = self.hold();
        self.expect_held(count)?;
        if let Some(cell) = self.cells.free.take(&self.cells.next) {
            self.cells.class[cell as usize].store(request.class as u32, Relaxed);
            self.cells.due_ns[cell as usize].store(request.due_ns, Relaxed);
            self.requests.push(spawner, &self.cells.next, cell);
        }
        drop(held);
        self.wake_spawner(spawner);
        Ok(())
    }

    /// Takes the oldest request to a spawner.
    pub fn take_request(&self, spawner: usize) -> Option<SpawnRequest> {
        let _held = self.hold();
        let cell = self.requests.pop(spawner, &self.cells.next)?;
        let class = self.cells.class[cell as usize].load(Relaxed) as usize;
        let due_ns = self.cells.due_ns[cell as usize].load(Relaxed);
        self.cells.free.free(&self.cells.next, cell);
        Some(SpawnRequest { class, due_ns })
    }

    /// Takes a slot for an expected instance. There is a slot for each.
    pub fn take_slot(&self, class: usize, number: u32) -> u32 {
        let _held = self.hold();
        let slot = self.slots.free.take(&self.slots.next).unwrap_or(NONE);
        self.slots.words[slot as usize].store(WOKEN, Relaxed);
        self.slots.instance[slot as usize].store((class as u64) << 32 | u64::from(number), Relaxed);
        slot
    }

    /// Counts `count` expected instances as gone: they will not be started.
    pub fn cancel_expected(&self, count: u32) {
        let held = self.hold();
        self.counts[ALIVE].fetch_sub(count.into(), Relaxed);
        drop(held);
        self.wake_spawner(SUPERVISOR);
    }

    /// Whether no instance is alive, and none will be started.
    pub fn all_ended(&self) -> bool {
        let _held = self.hold();
        self.counts[ALIVE].load(Relaxed) == 0 && self.counts[SOURCES].load(Relaxed) == 0
    }
}
