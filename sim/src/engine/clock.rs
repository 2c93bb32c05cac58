//! Simulated time: the present instant, and the timers that are set.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divvy_policy::TaskId;

/// Later than any moment of a run.
pub(super) const NEVER: u64 = u64::MAX;

/// The effect of a timer. Classes are indices into the workload's tasks.
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
    /// Tasks that were held may run again, because their group has CPU time.
    Release,
    /// Statistics begin.
    WarmedUp,
}

/// The present, and the timers by time; those of one time are in the order in which they were set.
#[derive(Debug, Default)]
pub(super) struct Clock {
    pub now_ns: u64,
    /// Instructions that tasks executed at this instant.
    pub steps: u64,
    timers: BinaryHeap<Reverse<(u64, u64, Timer)>>,
    /// Timers set so far.
    count: u64,
}

impl Clock {
    pub(super) fn advance_to(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        self.steps = 0;
    }

    pub(super) fn set(&mut self, at_ns: u64, timer: Timer) {
        self.timers.push(Reverse((at_ns, self.count, timer)));
        self.count += 1;
    }

    /// When the next timer is due; [`NEVER`] without one.
    pub(super) fn next_timer_ns(&self) -> u64 {
        self.timers.peek().map_or(NEVER, |Reverse((at, ..))| *at)
    }

    /// Timers that are set and not due yet, in no order.
    pub(super) fn pending(&self) -> impl Iterator<Item = Timer> {
        self.timers.iter().map(|Reverse((.., timer))| *timer)
    }

    /// The next timer, if it is due now.
    pub(super) fn pop_due(&mut self) -> Option<Timer> {
        if self.next_timer_ns() > self.now_ns {
            return None;
        }
        self.timers.pop().map(|Reverse((.., timer))| timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_by_time_then_in_the_order_set() {
        let mut clock = Clock::default();
        clock.set(5, Timer::Stop { class: 0 });
        clock.set(3, Timer::Start { class: 9 });
        clock.set(3, Timer::Arrival { class: 1 });
        clock.advance_to(2);
        assert_eq!(clock.pop_due(), None);
        clock.advance_to(3);
        assert_eq!(clock.pop_due(), Some(Timer::Start { class: 9 }));
        assert_eq!(clock.pop_due(), Some(Timer::Arrival { class: 1 }));
        assert_eq!((clock.pop_due(), clock.next_timer_ns()), (None, 5));
    }
}
