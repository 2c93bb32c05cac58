//! Virtual time.

use std::cmp::Ordering;

/// Virtual time, in two numbers: light tasks alone take it far, and heavy ones then go by its last digits.
#[derive(Clone, Copy, Debug, Default)]
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

impl Ord for Virtual {
    /// Mostly two comparisons of numbers say it, which is shorter than the order of all that a float can be.
    #[inline]
    fn cmp(&self, other: &Virtual) -> Ordering {
        if self.high < other.high {
            return Ordering::Less;
        }
        if self.high > other.high {
            return Ordering::Greater;
        }
        self.high.total_cmp(&other.high).then(self.low.total_cmp(&other.low))
    }
}

impl PartialOrd for Virtual {
    fn partial_cmp(&self, other: &Virtual) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Virtual {
    fn eq(&self, other: &Virtual) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Virtual {}
