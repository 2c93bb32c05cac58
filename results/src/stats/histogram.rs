//! A histogram with buckets of constant relative width.

/// Buckets per power of two, as a power of two: the middle of a bucket is within 2^-9 (0.2 %) of all its values.
const BITS: u32 = 8;
const BUCKETS: usize = 1 << BITS;

/// Values below 2^BITS, then one row for each further power of two.
const ROWS: usize = (u64::BITS - BITS) as usize + 1;

/// Counts of 64-bit values. Rows come into being when they are first reached.
///
/// Not an HdrHistogram, though its buckets are the same: that one is a single table from 0 to its greatest value,
/// ten times the memory for times that differ by less than a factor of a hundred or so.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    rows: [Option<Box<[u32; BUCKETS]>>; ROWS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { rows: [const { None }; ROWS] }
    }
}

impl Histogram {
    pub(super) fn record(&mut self, value: u64) {
        let row = (u64::BITS - (value >> BITS).leading_zeros()) as usize;
        // In row r > 0 the values are 2^(BITS+r-1) and up, each bucket 2^(r-1) wide.
        let bucket = (value >> row.saturating_sub(1)) as usize % BUCKETS;
        let counts = self.rows[row].get_or_insert_with(|| Box::new([0; BUCKETS]));
        counts[bucket] = counts[bucket].saturating_add(1);
    }

    /// The middle of the bucket that holds the `rank`-th smallest value, from 1; of the last bucket if there are fewer.
    pub(super) fn value_at(&self, rank: u64) -> f64 {
        let mut left = rank;
        let mut last = 0.0;
        for (row, counts) in self.rows.iter().enumerate() {
            let Some(counts) = counts else { continue };
            for (bucket, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
                last = middle(row, bucket);
                let count = u64::from(count);
                if count >= left {
                    return last;
                }
                left -= count;
            }
        }
        last
    }
}

/// The middle of a bucket's least and greatest value.
fn middle(row: usize, bucket: usize) -> f64 {
    if row == 0 {
        return bucket as f64;
    }
    let width = 1_u64 << (row - 1);
    let low = (BUCKETS + bucket) as u64 * width;
    low as f64 + (width - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_near_its_bucket() {
        let edges = (0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power - 1, power, power + 1, power + power / 3, power | (power - 1)]
        });
        for value in edges {
            let mut histogram = Histogram::default();
            histogram.record(value);
            let found = histogram.value_at(1);
            let error = (found - value as f64).abs();
            assert!(error <= value as f64 / 512.0, "{value}: {found}");
            assert!(value >= 512 || error == 0.0, "small values are exact: {value}");
        }
    }

    #[test]
    fn ranks_follow_the_order_of_values() {
        let mut histogram = Histogram::default();
        for value in [1_000_000, 3, 3, 500, 40_000] {
            histogram.record(value);
        }
        let found: Vec<f64> = (1..=6).map(|rank| histogram.value_at(rank)).collect();
        assert_eq!(found[..3], [3.0, 3.0, 500.0]);
        assert!((found[3] / 4e4 - 1.0).abs() < 0.002 && (found[4] / 1e6 - 1.0).abs() < 0.002, "{found:?}");
        assert_eq!(found[5], found[4]);
    }
}
