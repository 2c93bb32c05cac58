//! Batch means: an interval for the mean of samples that depend on those before them.

use super::student::{ConfidenceInterval, interval95};

/// When this many batches are full they become half as many of twice the size.
const MOST: usize = 40;

/// Samples per batch below which means of batches still depend on each other too much to say anything.
const LEAST_SIZE: u64 = 8;

/// With as many samples there is an interval of their mean, unless they do not vary.
pub const ENOUGH_SAMPLES: u64 = MOST as u64 / 2 * LEAST_SIZE;

/// Sums of consecutive samples, 20 to 39 batches of equal size as samples come in. The last, unfinished batch counts
/// for nothing, so an interval rests on at least 95 % of the samples.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    full: Vec<u128>,
    size: u64,
    sum: u128,
    filled: u64,
}

impl Default for Batches {
    fn default() -> Self {
        Self { full: Vec::with_capacity(MOST), size: 1, sum: 0, filled: 0 }
    }
}

impl Batches {
    pub(super) fn record(&mut self, value: u64) {
        self.sum += u128::from(value);
        self.filled += 1;
        if self.filled == self.size {
            self.close();
        }
    }

    fn close(&mut self) {
        self.full.push(std::mem::take(&mut self.sum));
        self.filled = 0;
        if self.full.len() == MOST {
            for at in 0..MOST / 2 {
                self.full[at] = self.full[2 * at] + self.full[2 * at + 1];
            }
            self.full.truncate(MOST / 2);
            self.size *= 2;
        }
    }

    /// The 95 % interval of the mean; `None` with too few samples, and where all batches are alike: nothing varies then.
    pub(super) fn interval(&self) -> Option<ConfidenceInterval> {
        if self.size < LEAST_SIZE || self.full.iter().all(|sum| *sum == self.full[0]) {
            return None;
        }
        let means: Vec<f64> = self.full.iter().map(|&sum| sum as f64 / self.size as f64).collect();
        interval95(&means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_and_nothing_is_lost() {
        let mut batches = Batches::default();
        let mut total = 0;
        for n in 1..=100_000_u64 {
            batches.record(n);
            total += u128::from(n);
            let kept = batches.full.iter().sum::<u128>() + batches.sum;
            assert_eq!(kept, total);
            assert_eq!(batches.full.len() as u64 * batches.size + batches.filled, n);
            assert!(batches.full.len() < MOST && (batches.size == 1 || batches.full.len() >= MOST / 2));
        }
    }

    /// An interval of no width would look like evidence.
    #[test]
    fn equal_samples_have_no_interval() {
        let mut batches = Batches::default();
        (0..1000).for_each(|_| batches.record(7));
        assert_eq!(batches.interval(), None);
    }

    #[test]
    fn too_few_samples_give_no_interval() {
        let mut batches = Batches::default();
        (0..ENOUGH_SAMPLES - 1).for_each(|n| batches.record(n));
        assert_eq!(batches.interval(), None);
        batches.record(159);
        assert!(batches.interval().is_some());
    }
}
