//! Virtual time, and when tasks finish in it.

use std::cmp::Ordering;

use divvy_policy::TaskId;

/// Virtual time, in two numbers: light tasks alone take it far, and heavy ones then go by its last digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Virtual {
    high: f64,
    low: f64,
}

impl Virtual {
    /// The rounding error of the sum of `high` and `d` goes into `low` (Knuth's two-sum).
    pub(super) fn after(self, d: f64) -> Virtual {
        let high = self.high + d;
        let part = high - self.high;
        let low = self.low + ((self.high - (high - part)) + (d - part));
        Virtual { high: high + low, low: low - ((high + low) - high) }
    }

    pub(super) fn since(self, earlier: Virtual) -> f64 {
        (self.high - earlier.high) + (self.low - earlier.low)
    }
}

/// When an uncapped task will have been served, in virtual time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finish {
    pub v: Virtual,
    pub task: TaskId,
    pub version: u32,
}

impl Ord for Finish {
    fn cmp(&self, other: &Finish) -> Ordering {
        let by_v = self.v.high.total_cmp(&other.v.high).then(self.v.low.total_cmp(&other.v.low));
        by_v.then(self.task.cmp(&other.task)).then(self.version.cmp(&other.version))
    }
}

impl PartialOrd for Finish {
    fn partial_cmp(&self, other: &Finish) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Finish {
    fn eq(&self, other: &Finish) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Finish {}
