//! The shared memory, its lock, and the start and the end of the run.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use divvy_workload::Workload;

use super::queues::{FreeList, Queues, Rings};
use crate::clock::{wait_while, wake_all};
use crate::run_setup::SUPERVISOR;
use crate::sys::{SharedMemory, SharedWords};

/// Number of observations that all threads together may keep.
const MOST_OBSERVATIONS: u64 = 1 << 25;

/// Value of a slot's word: the instance waits.
pub(super) const WAITING: u32 = 0;
/// Value of a slot's word: the instance was woken, or never waited.
pub(super) const WOKEN: u32 = 1;
/// Value of a slot's word: the run is over.
pub(super) const OVER: u32 = 2;

/// Why a run cannot go on: a message for the user.
pub type Failure = String;

/// The shared memory of one run.
pub struct SharedState {
    guard: SharedWords<AtomicU32>,
    /// Indexed by `GATE`, `IS_OVER`, `FAILED`, `READY`.
    flags: SharedWords<AtomicU32>,
    /// Indexed by `START`, `ALIVE`, `SOURCES`, `BLOCKED`, `OBSERVATIONS`.
    pub(super) counts: SharedWords<AtomicU64>,
    /// A word for each task: not 0 when its instances must end.
    stops: SharedWords<AtomicU32>,
    /// A word for each spawner. It changes when there is work for the spawner.
    wake_words: SharedWords<AtomicU32>,
    pub(super) mutexes: Queues,
    /// The slot that holds each mutex.
    pub(super) holders: SharedWords<AtomicU32>,
    pub(super) barriers: Queues,
    /// How many instances wait at each barrier.
    pub(super) arrived: SharedWords<AtomicU32>,
    /// How many instances each barrier waits for.
    pub(super) parties: Vec<u32>,
    pub(super) token_waiters: Queues,
    pub(super) tokens: Rings,
    pub(super) requests: Queues,
    pub(super) cells: Cells,
    pub(super) slots: Slots,
    /// The limit of live instances.
    pub(super) most: u32,
    memory: SharedMemory,
}

const GATE: usize = 0;
const IS_OVER: usize = 1;
const FAILED: usize = 2;
const READY: usize = 3;

const START: usize = 0;
/// Index of the number of instances that are alive or expected.
pub(super) const ALIVE: usize = 1;
/// Index of the number of tasks that still have arrivals to come.
pub(super) const SOURCES: usize = 2;
/// Index of the number of instances that wait.
pub(super) const BLOCKED: usize = 3;
const OBSERVATIONS: usize = 4;

/// One entry for each live instance.
pub(super) struct Slots {
    pub words: SharedWords<AtomicU32>,
    pub next: SharedWords<AtomicU32>,
    /// When it was woken, in ns of the run.
    pub woken_ns: SharedWords<AtomicU64>,
    /// The index of its task in the upper half, its number among the instances of the task in the lower half.
    pub instance: SharedWords<AtomicU64>,
    /// The code of what it waits for; 0 if it does not wait.
    pub waits_for: SharedWords<AtomicU32>,
    pub free: FreeList,
}

/// One entry for each request to start instances.
pub(super) struct Cells {
    pub next: SharedWords<AtomicU32>,
    pub class: SharedWords<AtomicU32>,
    pub due_ns: SharedWords<AtomicU64>,
    pub free: FreeList,
}

/// The lock of the shared state, held until this is dropped.
pub(super) struct Held<'a>(&'a AtomicU32);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.0.swap(0, SeqCst) == 2 {
            wake_all(self.0);
        }
    }
}

impl SharedState {
    /// Makes the state of a workload with at most `most` live instances, started by `spawners` processes.
    ///
    /// # Errors
    /// When the system has no memory to share.
    pub fn new(workload: &Workload, most: u32, spawners: usize) -> io::Result<SharedState> {
        let shared = SharedState::in_memory(SharedMemory::new()?, workload, most, spawners)?;
        for i in (1..=most).rev() {
            shared.slots.free.free(&shared.slots.next, i);
            shared.cells.free.free(&shared.cells.next, i);
        }
        Ok(shared)
    }

    /// The state that is in this memory already, for the arguments of [`SharedState::new`].
    ///
    /// # Errors
    /// When the memory cannot be mapped.
    pub fn in_memory(
        memory: SharedMemory,
        workload: &Workload,
        most: u32,
        spawners: usize,
    ) -> io::Result<SharedState> {
        let (tasks, slots) = (workload.tasks.len(), most as usize + 1);
        let tokens = tasks + workload.semaphores.len();
        let m = &memory;
        Ok(SharedState {
            guard: SharedWords::new(m, 1)?,
            flags: SharedWords::new(m, 4)?,
            counts: SharedWords::new(m, 5)?,
            stops: SharedWords::new(m, tasks)?,
            wake_words: SharedWords::new(m, spawners)?,
            mutexes: Queues::new(m, workload.locks.len())?,
            holders: SharedWords::new(m, workload.locks.len())?,
            barriers: Queues::new(m, workload.barriers.len())?,
            arrived: SharedWords::new(m, workload.barriers.len())?,
            parties: workload.barriers.iter().map(|barrier| barrier.parties).collect(),
            token_waiters: Queues::new(m, tokens)?,
            tokens: Rings::new(m, tokens)?,
            requests: Queues::new(m, spawners)?,
            cells: Cells {
                next: SharedWords::new(m, slots)?,
                class: SharedWords::new(m, slots)?,
                due_ns: SharedWords::new(m, slots)?,
                free: FreeList::new(m)?,
            },
            slots: Slots {
                words: SharedWords::new(m, slots)?,
                next: SharedWords::new(m, slots)?,
                woken_ns: SharedWords::new(m, slots)?,
                instance: SharedWords::new(m, slots)?,
                waits_for: SharedWords::new(m, slots)?,
                free: FreeList::new(m)?,
            },
            most,
            memory,
        })
    }

    /// The file that the state is in.
    pub fn file(&self) -> &File {
        self.memory.file()
    }

    /// Takes the lock.
    pub(super) fn hold(&self) -> Held<'_> {
        let word = &self.guard[0];
        if word.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
            while word.swap(2, SeqCst) != 0 {
                wait_while(word, 2, u64::MAX);
            }
        }
        Held(word)
    }

    // ---- start and end ----

    /// Counts one more thread that is set up and waits at the gate.
    pub fn ready(&self) {
        self.flags[READY].fetch_add(1, SeqCst);
        self.wake_spawner(SUPERVISOR);
    }

    /// How many threads are set up.
    pub fn ready_count(&self) -> u32 {
        self.flags[READY].load(SeqCst)
    }

    /// Opens the gate. Time 0 of the run is at `start_ns` of CLOCK_MONOTONIC.
    pub fn open(&self, start_ns: u64) {
        self.counts[START].store(start_ns, SeqCst);
        self.flags[GATE].store(1, SeqCst);
        wake_all(&self.flags[GATE]);
    }

    /// Waits until the gate opens. Returns time 0 of the run, in ns of CLOCK_MONOTONIC.
    pub fn wait_open(&self) -> u64 {
        wait_while(&self.flags[GATE], 0, u64::MAX);
        self.counts[START].load(SeqCst)
    }

    /// A word that is not 0 when the instances of this task must end.
    pub fn stop_flag(&self, class: usize) -> &AtomicU32 {
        &self.stops[class]
    }

    /// Ends the run: all threads must end.
    pub fn end(&self) {
        let held = self.hold();
        self.flags[IS_OVER].store(1, SeqCst);
        self.stops.iter().for_each(|stop| stop.store(1, SeqCst));
        drop(held);
        for word in self.slots.words.iter() {
            if word.compare_exchange(WAITING, OVER, SeqCst, SeqCst).is_ok() {
                wake_all(word);
            }
        }
        (0..self.wake_words.len()).for_each(|spawner| self.wake_spawner(spawner));
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.flags[IS_OVER].load(SeqCst) != 0
    }

    /// Marks the run as failed. The reason is in the log.
    pub fn fail(&self) {
        self.flags[FAILED].store(1, SeqCst);
        self.wake_spawner(SUPERVISOR);
    }

    /// Whether the run failed.
    pub fn has_failed(&self) -> bool {
        self.flags[FAILED].load(SeqCst) != 0
    }

    /// Reserves room for so many more observations.
    ///
    /// # Errors
    /// When the run has recorded as many observations as it may keep.
    pub fn remember(&self, observations: u64) -> Result<(), Failure> {
        if self.counts[OBSERVATIONS].fetch_add(observations, Relaxed) + observations <= MOST_OBSERVATIONS {
            return Ok(());
        }
        Err(format!(
            "the run recorded more than {MOST_OBSERVATIONS} events, which is the most that it keeps: give a shorter --duration"
        ))
    }

    // ---- spawners ----

    /// Wakes a spawner, because there is work for it.
    pub fn wake_spawner(&self, spawner: usize) {
        self.wake_words[spawner].fetch_add(1, SeqCst);
        wake_all(&self.wake_words[spawner]);
    }

    /// The word to sleep on until [`SharedState::wake_spawner`] changes it.
    pub fn wake_word(&self, spawner: usize) -> &AtomicU32 {
        &self.wake_words[spawner]
    }
}
