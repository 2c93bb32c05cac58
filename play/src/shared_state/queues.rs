//! Lists and rings in shared memory. The caller must hold the lock of the shared state while it calls them.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::sys::{SharedMemory, SharedWords};

/// No item, or the end of a list.
pub const NONE: u32 = 0;

/// Number of unused tokens that a task may keep.
pub const MOST_TOKENS: usize = 4096;

/// First-in first-out lists of items. `next` links the items: it has one word for each.
pub struct Queues {
    first: SharedWords<AtomicU32>,
    last: SharedWords<AtomicU32>,
}

impl Queues {
    /// Makes `count` empty lists.
    pub fn new(memory: &SharedMemory, count: usize) -> io::Result<Queues> {
        Ok(Queues { first: SharedWords::new(memory, count)?, last: SharedWords::new(memory, count)? })
    }

    /// Appends an item to list `i`.
    pub fn push(&self, i: usize, next: &[AtomicU32], item: u32) {
        next[item as usize].store(NONE, Relaxed);
        match self.last[i].load(Relaxed) {
            NONE => self.first[i].store(item, Relaxed),
            last => next[last as usize].store(item, Relaxed),
        }
        self.last[i].store(item, Relaxed);
    }

    /// Takes the oldest item of list `i`.
    pub fn pop(&self, i: usize, next: &[AtomicU32]) -> Option<u32> {
        let first = self.first[i].load(Relaxed);
        if first == NONE {
            return None;
        }
        let second = next[first as usize].load(Relaxed);
        self.first[i].store(second, Relaxed);
        if second == NONE {
            self.last[i].store(NONE, Relaxed);
        }
        Some(first)
    }

    /// Removes an item from list `i`. Returns whether the item was in the list.
    pub fn remove(&self, i: usize, next: &[AtomicU32], item: u32) -> bool {
        let mut others = Vec::new();
        while let Some(other) = self.pop(i, next) {
            others.push(other);
        }
        let before = others.len();
        others.retain(|&other| other != item);
        others.iter().for_each(|&other| self.push(i, next, other));
        others.len() < before
    }
}

/// The items that nobody uses, as a list that starts at `head`.
pub struct FreeList {
    head: SharedWords<AtomicU32>,
}

impl FreeList {
    /// Makes an empty list.
    pub fn new(memory: &SharedMemory) -> io::Result<FreeList> {
        Ok(FreeList { head: SharedWords::new(memory, 1)? })
    }

    /// Puts an item back.
    pub fn free(&self, next: &[AtomicU32], item: u32) {
        next[item as usize].store(self.head[0].load(Relaxed), Relaxed);
        self.head[0].store(item, Relaxed);
    }

    /// Takes an item, if there is one.
    pub fn take(&self, next: &[AtomicU32]) -> Option<u32> {
        let item = self.head[0].load(Relaxed);
        if item == NONE {
            return None;
        }
        self.head[0].store(next[item as usize].load(Relaxed), Relaxed);
        Some(item)
    }
}

/// One ring of times for each task: the unused tokens of the task, oldest first.
pub struct Rings {
    times: SharedWords<AtomicU64>,
    taken: SharedWords<AtomicU64>,
    put: SharedWords<AtomicU64>,
}

impl Rings {
    /// Makes `count` empty rings.
    pub fn new(memory: &SharedMemory, count: usize) -> io::Result<Rings> {
        Ok(Rings {
            times: SharedWords::new(memory, count * MOST_TOKENS)?,
            taken: SharedWords::new(memory, count)?,
            put: SharedWords::new(memory, count)?,
        })
    }

    /// Adds a time to ring `i`. Returns whether there was room.
    pub fn push(&self, i: usize, at_ns: u64) -> bool {
        let (put, taken) = (self.put[i].load(Relaxed), self.taken[i].load(Relaxed));
        if put - taken == MOST_TOKENS as u64 {
            return false;
        }
        self.times[i * MOST_TOKENS + put as usize % MOST_TOKENS].store(at_ns, Relaxed);
        self.put[i].store(put + 1, Relaxed);
        true
    }

    /// Takes the oldest time of ring `i`.
    pub fn pop(&self, i: usize) -> Option<u64> {
        let (put, taken) = (self.put[i].load(Relaxed), self.taken[i].load(Relaxed));
        if put == taken {
            return None;
        }
        self.taken[i].store(taken + 1, Relaxed);
        Some(self.times[i * MOST_TOKENS + taken as usize % MOST_TOKENS].load(Relaxed))
    }
}
