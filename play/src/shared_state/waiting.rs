//! Mutexes, barriers and tokens: the waits of one thread for another.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::queues::{MOST_TOKENS, NONE};
use super::state::{ALIVE, BLOCKED, Failure, OVER, SOURCES, SharedState, WAITING, WOKEN};
use crate::clock::{wait_while, wake_all};
use crate::run_setup::SUPERVISOR;

/// The thing that an instance waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A mutex, by number.
    Mutex(usize),
    /// A barrier, by number.
    Barrier(usize),
    /// A token of this store: see [`SharedState::give_token`].
    Token(usize),
}

impl SharedState {
    /// Takes a mutex or joins its queue. Returns whether the slot has the mutex now.
    pub fn lock(&self, i: usize, slot: u32) -> bool {
        let _held = self.hold();
        if self.holders[i].load(Relaxed) == NONE {
            self.holders[i].store(slot, Relaxed);
            return true;
        }
        // A slot that asks for a mutex that it holds waits for ever, as in the simulation.
        self.mutexes.push(i, &self.slots.next, slot);
        self.block(slot, Wait::Mutex(i));
        false
    }

    /// Releases a mutex, if this slot holds it.
    pub fn unlock(&self, i: usize, slot: u32, now_ns: u64) {
        let _held = self.hold();
        if self.holders[i].load(Relaxed) == slot {
            self.hand_over(i, now_ns);
        }
    }

    /// Gives a mutex to the slot that has waited longest.
    fn hand_over(&self, i: usize, now_ns: u64) {
        let next = self.mutexes.pop(i, &self.slots.next);
        self.holders[i].store(next.unwrap_or(NONE), Relaxed);
        if let Some(next) = next {
            self.wake(next, now_ns);
        }
    }

    /// Arrives at a barrier. Returns whether this slot was the last, and goes on.
    pub fn arrive(&self, i: usize, slot: u32, now_ns: u64) -> bool {
        let _held = self.hold();
        let arrived = self.arrived[i].load(Relaxed) + 1;
        if arrived < self.parties[i] {
            self.arrived[i].store(arrived, Relaxed);
            self.barriers.push(i, &self.slots.next, slot);
            self.block(slot, Wait::Barrier(i));
            return false;
        }
        self.arrived[i].store(0, Relaxed);
        while let Some(other) = self.barriers.pop(i, &self.slots.next) {
            self.wake(other, now_ns);
        }
        true
    }

    /// Gives a token to a store: each task has one, by its index, and behind these each semaphore.
    ///
    /// # Errors
    /// When as many unused tokens are there as may be.
    pub fn give_token(&self, store: usize, now_ns: u64) -> Result<(), Failure> {
        let _held = self.hold();
        if let Some(waiter) = self.token_waiters.pop(store, &self.slots.next) {
            self.wake(waiter, now_ns);
            return Ok(());
        }
        if !self.tokens.push(store, now_ns) {
            return Err(format!(
                "{MOST_TOKENS} tokens wait for it, which is the most: it cannot keep up; wake it less often, or give it less work for each token"
            ));
        }
        Ok(())
    }

    /// Takes the oldest token. Returns when it was given, in ns of the run. If there is none, the slot now waits for one.
    pub fn take_token(&self, store: usize, slot: u32) -> Option<u64> {
        let _held = self.hold();
        let token = self.tokens.pop(store);
        if token.is_none() {
            self.token_waiters.push(store, &self.slots.next, slot);
            self.block(slot, Wait::Token(store));
        }
        token
    }

    /// Sleeps until the slot is woken. Returns when that was, in ns of the run.
    /// `None` means that `until_ns` of CLOCK_MONOTONIC has come, or that the run is over.
    pub fn sleep(&self, slot: u32, until_ns: u64) -> Option<u64> {
        let word = &self.slots.words[slot as usize];
        wait_while(word, WAITING, until_ns);
        (word.load(SeqCst) == WOKEN).then(|| self.slots.woken_ns[slot as usize].load(SeqCst))
    }

    /// Removes an instance that has ended. It waits for nothing any more. Each mutex that it held goes to the next slot in
    /// the queue.
    pub fn leave(&self, slot: u32, now_ns: u64) {
        let held = self.hold();
        self.stop_waiting(slot);
        for i in 0..self.holders.len() {
            if self.holders[i].load(Relaxed) == slot {
                self.hand_over(i, now_ns);
            }
        }
        self.slots.free.free(&self.slots.next, slot);
        let alive = self.counts[ALIVE].fetch_sub(1, Relaxed) - 1;
        let blocked = self.counts[BLOCKED].load(Relaxed);
        drop(held);
        if alive <= blocked {
            self.wake_spawner(SUPERVISOR);
        }
    }

    /// If nothing can happen before the end of the run: all instances that wait, in the workload's order, as index of the
    /// task, number of the instance, and what it waits for.
    pub fn stuck(&self) -> Option<Vec<(usize, u32, Wait)>> {
        let _held = self.hold();
        let (alive, blocked) = (self.counts[ALIVE].load(Relaxed), self.counts[BLOCKED].load(Relaxed));
        if alive == 0 || alive != blocked || self.counts[SOURCES].load(Relaxed) > 0 {
            return None;
        }
        let waiting = (1..=self.most as usize).filter(|&slot| self.slots.waits_for[slot].load(Relaxed) != 0);
        let entry = |slot: usize| {
            let instance = self.slots.instance[slot].load(Relaxed);
            ((instance >> 32) as usize, instance as u32, wait(self.slots.waits_for[slot].load(Relaxed)))
        };
        let mut waiting: Vec<_> = waiting.map(entry).collect();
        waiting.sort_by_key(|&(class, number, _)| (class, number));
        Some(waiting)
    }

    /// Marks the slot as waiting.
    fn block(&self, slot: u32, wait: Wait) {
        let word = if self.is_over() { OVER } else { WAITING };
        self.slots.waits_for[slot as usize].store(code(wait), Relaxed);
        self.slots.words[slot as usize].store(word, SeqCst);
        let blocked = self.counts[BLOCKED].fetch_add(1, Relaxed) + 1;
        if blocked == self.counts[ALIVE].load(Relaxed) {
            // Perhaps nothing can happen any more: the supervisor looks.
            self.wake_spawner(SUPERVISOR);
        }
    }

    /// Wakes the slot.
    fn wake(&self, slot: u32, now_ns: u64) {
        self.counts[BLOCKED].fetch_sub(1, Relaxed);
        self.slots.waits_for[slot as usize].store(0, Relaxed);
        self.slots.woken_ns[slot as usize].store(now_ns, SeqCst);
        let word = &self.slots.words[slot as usize];
        word.store(WOKEN, SeqCst);
        wake_all(word);
    }

    /// Removes the slot from the queue that it is in, if any.
    fn stop_waiting(&self, slot: u32) {
        let next = &self.slots.next;
        let was_waiting = match self.slots.waits_for[slot as usize].swap(0, Relaxed) {
            0 => false,
            waits_for => match wait(waits_for) {
                Wait::Mutex(i) => self.mutexes.remove(i, next, slot),
                Wait::Barrier(i) => {
                    let was = self.barriers.remove(i, next, slot);
                    self.arrived[i].fetch_sub(u32::from(was), Relaxed);
                    was
                }
                Wait::Token(store) => self.token_waiters.remove(store, next, slot),
            },
        };
        self.counts[BLOCKED].fetch_sub(u64::from(was_waiting), Relaxed);
    }
}

/// A wait as a number. It is never 0, which means no wait.
fn code(wait: Wait) -> u32 {
    match wait {
        Wait::Mutex(i) => 1 << 30 | i as u32,
        Wait::Barrier(i) => 2 << 30 | i as u32,
        Wait::Token(i) => 3 << 30 | i as u32,
    }
}

/// The wait that has this code.
fn wait(code: u32) -> Wait {
    let i = (code & ((1 << 30) - 1)) as usize;
    match code >> 30 {
        1 => Wait::Mutex(i),
        2 => Wait::Barrier(i),
        _ => Wait::Token(i),
    }
}
