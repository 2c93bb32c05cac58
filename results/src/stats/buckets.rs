//! Counts samples by size, in a few buckets that are the same in every report.

use std::collections::BTreeMap;

use crate::report::Buckets;

/// Buckets of a factor of ten.
const A_DECADE: usize = 3;
/// Below this many nanoseconds all samples but zeros are in one bucket.
const LEAST_NS: u64 = 1_000;
/// Bucket 0 is for zeros, bucket 1 for values below [`LEAST_NS`].
const SMALL: usize = 2;

/// Counts of times. Exact, unlike quantiles: a sample that is on a bound is never taken for one below it.
#[derive(Clone, Debug, Default)]
pub struct BucketCounts(Vec<u64>);

impl BucketCounts {
    /// Takes in one sample.
    pub fn record(&mut self, value_ns: u64) {
        let bucket = bucket(value_ns);
        if self.0.len() <= bucket {
            self.0.resize(bucket + 1, 0);
        }
        self.0[bucket] += 1;
    }

    /// From the first bucket that has any to the last; `None` without samples.
    pub fn finish(&self) -> Option<Buckets> {
        let first = self.0.iter().position(|&count| count > 0)?;
        Some(Buckets {
            from_ns: Buckets::bounds().skip(first).take(self.0.len() - first).collect(),
            count: self.0[first..].to_vec(),
        })
    }
}

fn bucket(value_ns: u64) -> usize {
    if value_ns < LEAST_NS {
        return usize::from(value_ns > 0);
    }
    let decade = value_ns.ilog10();
    let digit = match value_ns / 10_u64.pow(decade) {
        1 => 0,
        2..5 => 1,
        _ => 2,
    };
    SMALL + A_DECADE * (decade - LEAST_NS.ilog10()) as usize + digit
}

impl Buckets {
    /// Where buckets begin, in ns: 0, 1, and then 1, 2 and 5 times the powers of ten from a microsecond on.
    pub fn bounds() -> impl Iterator<Item = u64> {
        let powers = std::iter::successors(Some(LEAST_NS), |power| power.checked_mul(10));
        // 10^19 is the last bound that there is in 64 bits.
        let bounds = powers.flat_map(|power| [1, 2, 5].into_iter().filter_map(move |m| power.checked_mul(m)));
        [0, 1].into_iter().chain(bounds)
    }

    /// The share of samples that are zero.
    pub fn zeros(&self) -> f64 {
        let zeros = self.from_ns.iter().zip(&self.count).find(|(from, _)| **from == 0);
        let samples: u64 = self.count.iter().sum();
        zeros.map_or(0.0, |(_, &count)| count as f64 / samples.max(1) as f64)
    }

    /// All samples of several runs; `None` if there are none.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Buckets>) -> Option<Buckets> {
        let mut counts = BTreeMap::new();
        for buckets in all {
            for (&from, &count) in buckets.from_ns.iter().zip(&buckets.count) {
                *counts.entry(from).or_insert(0) += count;
            }
        }
        let (first, last) = (*counts.first_key_value()?.0, *counts.last_key_value()?.0);
        let from_ns: Vec<u64> = Buckets::bounds().filter(|bound| (first..=last).contains(bound)).collect();
        let count = from_ns.iter().map(|from| counts.get(from).copied().unwrap_or(0)).collect();
        Some(Buckets { from_ns, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each bucket counts the values from its bound to below the next bound; checked at every bound and its neighbours.
    #[test]
    fn a_bucket_is_from_its_bound_to_the_next() {
        let bounds: Vec<u64> = Buckets::bounds().collect();
        assert!(bounds.is_sorted() && bounds[..6] == [0, 1, 1_000, 2_000, 5_000, 10_000]);
        let samples: Vec<u64> = bounds.iter().flat_map(|&b| [b.saturating_sub(1), b, b + 1]).collect();
        let mut counts = BucketCounts::default();
        samples.iter().for_each(|&sample| counts.record(sample));
        let buckets = counts.finish().expect("samples");
        assert_eq!(buckets.from_ns, bounds);
        for (index, &from) in bounds.iter().enumerate() {
            let to = bounds.get(index + 1).copied().unwrap_or(u64::MAX);
            let inside = samples.iter().filter(|&&s| s >= from && s < to).count();
            assert_eq!(buckets.count[index], inside as u64, "from {from}");
        }
        counts.record(u64::MAX);
        assert_eq!(counts.finish().expect("samples").count.iter().sum::<u64>(), samples.len() as u64 + 1);
    }

    #[test]
    fn only_what_is_there_is_listed() {
        assert_eq!(BucketCounts::default().finish(), None);
        let mut counts = BucketCounts::default();
        [25_000, 3_000_000, 20_000].into_iter().for_each(|ns| counts.record(ns));
        let buckets = counts.finish().expect("samples");
        assert_eq!(buckets.from_ns, [20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000]);
        assert_eq!(buckets.count, [2, 0, 0, 0, 0, 0, 1]);
    }

    fn buckets(first: u64, count: &[u64]) -> Buckets {
        let from_ns = Buckets::bounds().skip_while(|bound| *bound < first).take(count.len()).collect();
        Buckets { from_ns, count: count.to_vec() }
    }

    #[test]
    fn repetitions_add_up() {
        let runs = [buckets(20_000, &[4, 1]), buckets(0, &[2]), buckets(500_000, &[3])];
        let all = Buckets::sum(runs.iter()).expect("samples");
        assert_eq!(
            all.from_ns,
            [0, 1, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000]
        );
        assert_eq!(all.count, [2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 3]);
        assert_eq!(Buckets::sum(std::iter::empty()), None);
    }

    #[test]
    fn zeros_are_a_share_of_all_samples() {
        assert_eq!(buckets(0, &[90, 5, 0, 5]).zeros(), 0.9);
        assert_eq!(buckets(20_000, &[3]).zeros(), 0.0);
    }
}
