//! What the processes of a run share: who is alive, who waits for what, what is to be started, and when it is over.
//!
//! All of it is atomic integers in shared memory. What belongs together is changed under one lock, for some tens of
//! nanoseconds; who waits sleeps on a word of its own (a futex), so that a mutex can be handed to who waited longest.
//! Each live instance has a *slot*, numbered from 1.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use divvy_workload::Workload;

use super::clock::{wait_while, wake_all};
use super::sys::Shared;

/// No slot, or the end of a list.
const NONE: u32 = 0;

/// Tokens that a task may keep, unused.
const MOST_TOKENS: usize = 4096;

/// Sights that all threads together may remember.
const MOST_SIGHTS: u64 = 1 << 25;

/// What a slot's word says.
const WAITING: u32 = 0;
const WOKEN: u32 = 1;
const OVER: u32 = 2;

/// What a slot waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A mutex, by number.
    Mutex(usize),
    /// A barrier, by number.
    Meeting(usize),
    /// A token.
    Token,
}

/// Why a run cannot go on, in words for the user.
pub type Failure = String;

/// A request to start the instances of a task that one fork or arrival starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartRequest {
    /// Index of the task.
    pub class: usize,
    /// Since when they are due, in ns of the run.
    pub due_ns: u64,
}

/// The shared memory of one run.
pub struct Board {
    guard: Shared<AtomicU32>,
    /// Gate of the start; over; failed; ready.
    flags: Shared<AtomicU32>,
    /// Start of the run; alive; sources; blocked; sights.
    counts: Shared<AtomicU64>,
    /// A word for each task: not 0 when its instances are to end.
    stops: Shared<AtomicU32>,
    /// A word for each nursery, which changes when it is to look up.
    bells: Shared<AtomicU32>,
    mutexes: Queues,
    holders: Shared<AtomicU32>,
    meetings: Queues,
    arrived: Shared<AtomicU32>,
    token_waiters: Queues,
    tokens: Rings,
    requests: Queues,
    parties: Vec<u32>,
    slots: Slots,
    /// Requests use cells of their own, linked as slots are.
    cells: Cells,
    most: u32,
}

const GATE: usize = 0;
const IS_OVER: usize = 1;
const FAILED: usize = 2;
const READY: usize = 3;
const START: usize = 0;
const ALIVE: usize = 1;
const SOURCES: usize = 2;
const BLOCKED: usize = 3;
const SIGHTS: usize = 4;

struct Slots {
    words: Shared<AtomicU32>,
    next: Shared<AtomicU32>,
    /// When it was woken, in ns of the run.
    woken_ns: Shared<AtomicU64>,
    /// Which instance it is of which task.
    who: Shared<AtomicU64>,
    waits_for: Shared<AtomicU32>,
    free: Shared<AtomicU32>,
}

struct Cells {
    next: Shared<AtomicU32>,
    class: Shared<AtomicU32>,
    due_ns: Shared<AtomicU64>,
    free: Shared<AtomicU32>,
}

/// Lists of slots (or cells), first in first out.
struct Queues {
    first: Shared<AtomicU32>,
    last: Shared<AtomicU32>,
}

/// Rings of times, one a task.
struct Rings {
    times: Shared<AtomicU64>,
    taken: Shared<AtomicU64>,
    put: Shared<AtomicU64>,
}

impl Queues {
    fn new(count: usize) -> io::Result<Queues> {
        Ok(Queues { first: Shared::new(count)?, last: Shared::new(count)? })
    }

    fn push(&self, i: usize, next: &[AtomicU32], item: u32) {
        next[item as usize].store(NONE, Relaxed);
        match self.last[i].load(Relaxed) {
            NONE => self.first[i].store(item, Relaxed),
            last => next[last as usize].store(item, Relaxed),
        }
        self.last[i].store(item, Relaxed);
    }

    fn pop(&self, i: usize, next: &[AtomicU32]) -> Option<u32> {
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

    /// Takes it out, wherever it is; whether it was there.
    fn remove(&self, i: usize, next: &[AtomicU32], item: u32) -> bool {
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

/// The lock, held.
struct Held<'a>(&'a AtomicU32);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.0.swap(0, SeqCst) == 2 {
            wake_all(self.0);
        }
    }
}

impl Board {
    /// For a workload whose live instances are at most `most`, started by so many nurseries.
    pub fn new(workload: &Workload, most: u32, nurseries: usize) -> io::Result<Board> {
        let (tasks, slots) = (workload.tasks.len(), most as usize + 1);
        let board = Board {
            guard: Shared::new(1)?,
            flags: Shared::new(4)?,
            counts: Shared::new(5)?,
            stops: Shared::new(tasks)?,
            bells: Shared::new(nurseries)?,
            mutexes: Queues::new(workload.locks.len())?,
            holders: Shared::new(workload.locks.len())?,
            meetings: Queues::new(workload.barriers.len())?,
            arrived: Shared::new(workload.barriers.len())?,
            token_waiters: Queues::new(tasks)?,
            tokens: Rings {
                times: Shared::new(tasks * MOST_TOKENS)?,
                taken: Shared::new(tasks)?,
                put: Shared::new(tasks)?,
            },
            requests: Queues::new(nurseries)?,
            parties: workload.barriers.iter().map(|barrier| barrier.parties).collect(),
            slots: Slots {
                words: Shared::new(slots)?,
                next: Shared::new(slots)?,
                woken_ns: Shared::new(slots)?,
                who: Shared::new(slots)?,
                waits_for: Shared::new(slots)?,
                free: Shared::new(1)?,
            },
            cells: Cells {
                next: Shared::new(slots)?,
                class: Shared::new(slots)?,
                due_ns: Shared::new(slots)?,
                free: Shared::new(1)?,
            },
            most,
        };
        for i in (1..=most).rev() {
            free(&board.slots.free[0], &board.slots.next, i);
            free(&board.cells.free[0], &board.cells.next, i);
        }
        Ok(board)
    }

    fn hold(&self) -> Held<'_> {
        let word = &self.guard[0];
        if word.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
            while word.swap(2, SeqCst) != 0 {
                wait_while(word, 2, u64::MAX);
            }
        }
        Held(word)
    }

    // ---- start and end ----

    /// One more instance is set up, and waits at the gate.
    pub fn ready(&self) {
        self.flags[READY].fetch_add(1, SeqCst);
        self.ring(0);
    }

    /// How many are set up.
    pub fn ready_count(&self) -> u32 {
        self.flags[READY].load(SeqCst)
    }

    /// Opens the gate: the run's time 0 is at `start_ns` of CLOCK_MONOTONIC.
    pub fn open(&self, start_ns: u64) {
        self.counts[START].store(start_ns, SeqCst);
        self.flags[GATE].store(1, SeqCst);
        wake_all(&self.flags[GATE]);
    }

    /// Waits until the gate opens: when the run begins, by CLOCK_MONOTONIC.
    pub fn wait_open(&self) -> u64 {
        wait_while(&self.flags[GATE], 0, u64::MAX);
        self.counts[START].load(SeqCst)
    }

    /// Not 0 when the instances of a task are to end.
    pub fn stop_flag(&self, class: usize) -> &AtomicU32 {
        &self.stops[class]
    }

    /// Everyone is to end.
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
        (0..self.bells.len()).for_each(|nursery| self.ring(nursery));
    }

    /// Whether everyone is to end.
    pub fn is_over(&self) -> bool {
        self.flags[IS_OVER].load(SeqCst) != 0
    }

    /// The run broke off; why is in the log.
    pub fn fail(&self) {
        self.flags[FAILED].store(1, SeqCst);
        self.ring(0);
    }

    /// Whether the run broke off.
    pub fn has_failed(&self) -> bool {
        self.flags[FAILED].load(SeqCst) != 0
    }

    /// Room for so many more sights; `Err` when there is none.
    pub fn remember(&self, sights: u64) -> Result<(), Failure> {
        if self.counts[SIGHTS].fetch_add(sights, Relaxed) + sights <= MOST_SIGHTS {
            return Ok(());
        }
        Err(format!("more than {MOST_SIGHTS} events to remember: give a shorter --duration"))
    }

    // ---- nurseries ----

    /// Tells a nursery to look up.
    pub fn ring(&self, nursery: usize) {
        self.bells[nursery].fetch_add(1, SeqCst);
        wake_all(&self.bells[nursery]);
    }

    /// A nursery's bell, to wait for its next change.
    pub fn bell(&self, nursery: usize) -> &AtomicU32 {
        &self.bells[nursery]
    }

    /// Someone will start instances at times of its own.
    pub fn add_source(&self) {
        let _held = self.hold();
        self.counts[SOURCES].fetch_add(1, Relaxed);
    }

    /// It will not any more.
    pub fn remove_source(&self) {
        let held = self.hold();
        self.counts[SOURCES].fetch_sub(1, Relaxed);
        drop(held);
        self.ring(0);
    }

    /// So many instances will be there soon: they count as alive.
    pub fn expect(&self, count: u32) -> Result<(), Failure> {
        let _held = self.hold();
        self.expect_held(count)
    }

    fn expect_held(&self, count: u32) -> Result<(), Failure> {
        let alive = self.counts[ALIVE].load(Relaxed) + u64::from(count);
        if alive > u64::from(self.most) {
            return Err(format!(
                "more than {} tasks at one time: the CPUs cannot keep up, or tasks fork without end; \
                 --max-threads is the limit",
                self.most
            ));
        }
        self.counts[ALIVE].store(alive, Relaxed);
        Ok(())
    }

    /// Asks a nursery for the `count` instances of a fork.
    pub fn request(&self, nursery: usize, request: StartRequest, count: u32) -> Result<(), Failure> {
        let held = self.hold();
        self.expect_held(count)?;
        if let Some(cell) = take(&self.cells.free[0], &self.cells.next) {
            self.cells.class[cell as usize].store(request.class as u32, Relaxed);
            self.cells.due_ns[cell as usize].store(request.due_ns, Relaxed);
            self.requests.push(nursery, &self.cells.next, cell);
        }
        drop(held);
        self.ring(nursery);
        Ok(())
    }

    /// The oldest request to a nursery.
    pub fn take_request(&self, nursery: usize) -> Option<StartRequest> {
        let _held = self.hold();
        let cell = self.requests.pop(nursery, &self.cells.next)?;
        let class = self.cells.class[cell as usize].load(Relaxed) as usize;
        let due_ns = self.cells.due_ns[cell as usize].load(Relaxed);
        free(&self.cells.free[0], &self.cells.next, cell);
        Some(StartRequest { class, due_ns })
    }

    /// A slot for an expected instance. There is one for each.
    pub fn take_slot(&self, class: usize, number: u32) -> u32 {
        let _held = self.hold();
        let slot = take(&self.slots.free[0], &self.slots.next).unwrap_or(NONE);
        self.slots.words[slot as usize].store(WOKEN, Relaxed);
        self.slots.who[slot as usize].store((class as u64) << 32 | u64::from(number), Relaxed);
        slot
    }

    /// Instances that were expected will not be.
    pub fn forgo(&self, count: u32) {
        let held = self.hold();
        self.counts[ALIVE].fetch_sub(count.into(), Relaxed);
        drop(held);
        self.ring(0);
    }

    /// An instance is gone: what it held goes to who waits for it, and it waits for nothing.
    pub fn leave(&self, slot: u32, now_ns: u64) {
        let held = self.hold();
        self.stop_waiting(slot);
        for i in 0..self.holders.len() {
            if self.holders[i].load(Relaxed) == slot {
                self.hand_over(i, now_ns);
            }
        }
        free(&self.slots.free[0], &self.slots.next, slot);
        let alive = self.counts[ALIVE].fetch_sub(1, Relaxed) - 1;
        let blocked = self.counts[BLOCKED].load(Relaxed);
        drop(held);
        if alive <= blocked {
            self.ring(0);
        }
    }

    /// Nobody is alive, and nobody will be.
    pub fn is_deserted(&self) -> bool {
        let _held = self.hold();
        self.counts[ALIVE].load(Relaxed) == 0 && self.counts[SOURCES].load(Relaxed) == 0
    }

    /// If nothing can happen any more but for the end of the run, who waits for what, in the
    /// workload's order.
    pub fn stuck(&self) -> Option<Vec<(usize, u32, Wait)>> {
        let _held = self.hold();
        let (alive, blocked) = (self.counts[ALIVE].load(Relaxed), self.counts[BLOCKED].load(Relaxed));
        if alive == 0 || alive != blocked || self.counts[SOURCES].load(Relaxed) > 0 {
            return None;
        }
        let waiting = (1..=self.most as usize).filter(|&slot| self.slots.waits_for[slot].load(Relaxed) != 0);
        let of = |slot: usize| {
            let who = self.slots.who[slot].load(Relaxed);
            ((who >> 32) as usize, who as u32, wait(self.slots.waits_for[slot].load(Relaxed)))
        };
        let mut waiting: Vec<_> = waiting.map(of).collect();
        waiting.sort_by_key(|&(class, number, _)| (class, number));
        Some(waiting)
    }

    // ---- waiting ----

    /// Takes a mutex, or joins its queue: whether the slot has it now.
    pub fn lock(&self, i: usize, slot: u32) -> bool {
        let _held = self.hold();
        if self.holders[i].load(Relaxed) == NONE {
            self.holders[i].store(slot, Relaxed);
            return true;
        }
        // Who asks for what it holds waits for ever, as in the simulation.
        self.mutexes.push(i, &self.slots.next, slot);
        self.block(slot, Wait::Mutex(i));
        false
    }

    /// Gives a mutex back, if it is this slot's.
    pub fn unlock(&self, i: usize, slot: u32, now_ns: u64) {
        let _held = self.hold();
        if self.holders[i].load(Relaxed) == slot {
            self.hand_over(i, now_ns);
        }
    }

    fn hand_over(&self, i: usize, now_ns: u64) {
        let next = self.mutexes.pop(i, &self.slots.next);
        self.holders[i].store(next.unwrap_or(NONE), Relaxed);
        if let Some(next) = next {
            self.wake(next, now_ns);
        }
    }

    /// Arrives at a barrier: whether it was the last, and goes on.
    pub fn arrive(&self, i: usize, slot: u32, now_ns: u64) -> bool {
        let _held = self.hold();
        let arrived = self.arrived[i].load(Relaxed) + 1;
        if arrived < self.parties[i] {
            self.arrived[i].store(arrived, Relaxed);
            self.meetings.push(i, &self.slots.next, slot);
            self.block(slot, Wait::Meeting(i));
            return false;
        }
        self.arrived[i].store(0, Relaxed);
        while let Some(other) = self.meetings.pop(i, &self.slots.next) {
            self.wake(other, now_ns);
        }
        true
    }

    /// Gives a token to a task.
    pub fn give_token(&self, class: usize, now_ns: u64) -> Result<(), Failure> {
        let _held = self.hold();
        if let Some(waiter) = self.token_waiters.pop(class, &self.slots.next) {
            self.wake(waiter, now_ns);
            return Ok(());
        }
        let (put, taken) = (self.tokens.put[class].load(Relaxed), self.tokens.taken[class].load(Relaxed));
        if put - taken == MOST_TOKENS as u64 {
            return Err(format!("{MOST_TOKENS} tokens wait for one task: it cannot keep up"));
        }
        self.tokens.times[class * MOST_TOKENS + put as usize % MOST_TOKENS].store(now_ns, Relaxed);
        self.tokens.put[class].store(put + 1, Relaxed);
        Ok(())
    }

    /// Takes the oldest token: when it came. Without one, the slot waits from now on.
    pub fn take_token(&self, class: usize, slot: u32) -> Option<u64> {
        let _held = self.hold();
        let (put, taken) = (self.tokens.put[class].load(Relaxed), self.tokens.taken[class].load(Relaxed));
        if put == taken {
            self.token_waiters.push(class, &self.slots.next, slot);
            self.block(slot, Wait::Token);
            return None;
        }
        self.tokens.taken[class].store(taken + 1, Relaxed);
        Some(self.tokens.times[class * MOST_TOKENS + taken as usize % MOST_TOKENS].load(Relaxed))
    }

    /// Sleeps until someone wakes the slot: when that was, in ns of the run. `None` at `until_ns` of CLOCK_MONOTONIC, and
    /// when all is over.
    pub fn sleep(&self, slot: u32, until_ns: u64) -> Option<u64> {
        let word = &self.slots.words[slot as usize];
        wait_while(word, WAITING, until_ns);
        (word.load(SeqCst) == WOKEN).then(|| self.slots.woken_ns[slot as usize].load(SeqCst))
    }

    fn block(&self, slot: u32, wait: Wait) {
        let word = if self.is_over() { OVER } else { WAITING };
        self.slots.waits_for[slot as usize].store(code(wait), Relaxed);
        self.slots.words[slot as usize].store(word, SeqCst);
        let blocked = self.counts[BLOCKED].fetch_add(1, Relaxed) + 1;
        if blocked == self.counts[ALIVE].load(Relaxed) {
            self.ring(0); // perhaps nothing can happen any more
        }
    }

    fn wake(&self, slot: u32, now_ns: u64) {
        self.counts[BLOCKED].fetch_sub(1, Relaxed);
        self.slots.waits_for[slot as usize].store(0, Relaxed);
        self.slots.woken_ns[slot as usize].store(now_ns, SeqCst);
        let word = &self.slots.words[slot as usize];
        word.store(WOKEN, SeqCst);
        wake_all(word);
    }

    /// Takes the slot out of the queue that it is in, if it is in one.
    fn stop_waiting(&self, slot: u32) {
        let next = &self.slots.next;
        let was_waiting = match self.slots.waits_for[slot as usize].swap(0, Relaxed) {
            0 => false,
            waits_for => match wait(waits_for) {
                Wait::Mutex(i) => self.mutexes.remove(i, next, slot),
                Wait::Meeting(i) => {
                    let was = self.meetings.remove(i, next, slot);
                    self.arrived[i].fetch_sub(u32::from(was), Relaxed);
                    was
                }
                Wait::Token => {
                    let class = self.slots.who[slot as usize].load(Relaxed) >> 32;
                    self.token_waiters.remove(class as usize, next, slot)
                }
            },
        };
        self.counts[BLOCKED].fetch_sub(u64::from(was_waiting), Relaxed);
    }
}

fn free(head: &AtomicU32, next: &[AtomicU32], item: u32) {
    next[item as usize].store(head.load(Relaxed), Relaxed);
    head.store(item, Relaxed);
}

fn take(head: &AtomicU32, next: &[AtomicU32]) -> Option<u32> {
    let item = head.load(Relaxed);
    if item == NONE {
        return None;
    }
    head.store(next[item as usize].load(Relaxed), Relaxed);
    Some(item)
}

/// Not 0, which is no wait.
fn code(wait: Wait) -> u32 {
    match wait {
        Wait::Mutex(i) => 1 << 30 | i as u32,
        Wait::Meeting(i) => 2 << 30 | i as u32,
        Wait::Token => 3 << 30,
    }
}

fn wait(code: u32) -> Wait {
    let i = (code & ((1 << 30) - 1)) as usize;
    match code >> 30 {
        1 => Wait::Mutex(i),
        2 => Wait::Meeting(i),
        _ => Wait::Token,
    }
}

#[cfg(test)]
mod tests;
