//! What will happen at a known time: wake-ups, arrivals, starts, stops.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divvy_policy::TaskId;

/// What a timer does. Classes are indices into the workload's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Instances of `Once` and `Closed` tasks start.
    Start { class: u32 },
    /// A new instance of an `Open` task arrives.
    Arrival { class: u32 },
    /// A sleeper wakes, if it is still the same one.
    Wake { task: TaskId, generation: u32 },
    /// All instances of a class end.
    Stop { class: u32 },
    /// Statistics begin.
    WarmedUp,
}

/// Timers by time; those of one time in the order in which they were set.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64, Timer)>>,
    set: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at_ns: u64, timer: Timer) {
        self.heap.push(Reverse((at_ns, self.set, timer)));
        self.set += 1;
    }

    /// When the next one is due; `u64::MAX` without one.
    pub(super) fn next_ns(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |Reverse((at, ..))| *at)
    }

    /// Those set and not due yet, in no order.
    pub(super) fn pending(&self) -> impl Iterator<Item = Timer> {
        self.heap.iter().map(|Reverse((.., timer))| *timer)
    }

    /// The next one, if it is due at `now_ns`.
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<Timer> {
        if self.next_ns() > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((.., timer))| timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_by_time_then_in_the_order_set() {
        let mut timers = Timers::default();
        timers.set(5, Timer::Stop { class: 0 });
        timers.set(3, Timer::Start { class: 9 });
        timers.set(3, Timer::Arrival { class: 1 });
        assert_eq!(timers.pop_due(2), None);
        assert_eq!(timers.pop_due(3), Some(Timer::Start { class: 9 }));
        assert_eq!(timers.pop_due(3), Some(Timer::Arrival { class: 1 }));
        assert_eq!((timers.pop_due(3), timers.next_ns()), (None, 5));
    }
}
