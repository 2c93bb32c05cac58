//! Statistics of a stream of samples, in one pass and bounded memory, the same on every machine.

mod batches;
mod buckets;
mod fairness;
mod histogram;
mod seniority;
mod student;

pub use batches::ENOUGH_SAMPLES;
pub use fairness::jain;
pub use seniority::Seniority;
pub use student::{ConfidenceInterval, are_identical, interval95, t975};

pub use buckets::BucketCounts;

use batches::Batches;
use histogram::Histogram;

use crate::figures::Ccdf;
use crate::report::Quantiles;

/// Up to this many samples are kept as they are. Later ones are collected to as many before they are counted, because
/// the memory of many samplers is rarely in a cache.
const EXACT: usize = 256;

/// One, in the fixed point of [`ratio`].
const RATIO_ONE: u64 = 1 << 20;

/// Collects samples of one quantity.
///
/// Count, mean and maximum are exact. Quantiles are exact up to 256 samples and within 0.2 % from there on, where a
/// sampler takes 1 KiB for each power of two that its samples reach into, at most 57 KiB. Most tasks of a large
/// workload see few samples, so that ten thousand of them fit in memory.
#[derive(Clone, Debug, Default)]
pub struct Sampler {
    /// The last ones, not yet in `many`.
    few: Vec<u64>,
    many: Option<Box<Summary>>,
}

/// A summary of samples that are too many to keep.
#[derive(Clone, Debug)]
struct Summary {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    histogram: Histogram,
    batches: Batches,
}

impl Default for Summary {
    fn default() -> Self {
        let (histogram, batches) = (Histogram::default(), Batches::default());
        Self { count: 0, sum: 0, min: u64::MAX, max: 0, histogram, batches }
    }
}

/// `numerator / denominator` in fixed point, for a [`Sampler`] of ratios; infinity is the greatest value.
pub fn ratio(numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(numerator) * u128::from(RATIO_ONE);
    scaled.checked_div(denominator.into()).and_then(|r| u64::try_from(r).ok()).unwrap_or(u64::MAX)
}

impl Sampler {
    /// Takes in one sample, in time order: the interval of the mean relies on neighbours being neighbours.
    pub fn record(&mut self, value: u64) {
        if self.few.len() == EXACT {
            let many = self.many.get_or_insert_default();
            self.few.drain(..).for_each(|v| many.record(v));
        }
        self.few.push(value);
    }

    /// Makes room for so many more samples, at most for those that are kept as they are.
    pub(crate) fn reserve(&mut self, samples: usize) {
        self.few.reserve(samples.min(EXACT - self.few.len()));
    }

    /// Number of samples so far.
    pub fn count(&self) -> u64 {
        self.few.len() as u64 + self.many.as_ref().map_or(0, |summary| summary.count)
    }

    /// The distribution of samples that are nanoseconds (or any other plain number).
    pub fn finish(&self) -> Quantiles {
        self.finish_in(1.0)
    }

    /// The distribution of samples made by [`ratio`].
    pub fn finish_ratio(&self) -> Quantiles {
        self.finish_in(RATIO_ONE as f64)
    }

    /// The whole distribution of samples that are nanoseconds, with the precision of the quantiles.
    pub fn ccdf(&self) -> Ccdf {
        match &self.many {
            Some(summary) => {
                let mut summary = summary.clone();
                self.few.iter().for_each(|&v| summary.record(v));
                Ccdf::of(summary.count, |rank| match rank {
                    rank if rank == summary.count => summary.max as f64,
                    rank => summary.within(summary.histogram.value_at(rank)),
                })
            }
            None => {
                let mut sorted = self.few.clone();
                sorted.sort_unstable();
                Ccdf::of(sorted.len() as u64, |rank| sorted[rank as usize - 1] as f64)
            }
        }
    }

    fn finish_in(&self, unit: f64) -> Quantiles {
        match &self.many {
            Some(summary) => {
                let mut summary = summary.clone();
                self.few.iter().for_each(|&v| summary.record(v));
                summary.quantiles(unit, |rank| summary.histogram.value_at(rank))
            }
            None if self.few.is_empty() => Quantiles::default(),
            None => {
                let mut sorted = self.few.clone();
                sorted.sort_unstable();
                let exact = |rank: u64| sorted[rank as usize - 1] as f64;
                Summary::of_few(&self.few).quantiles(unit, exact)
            }
        }
    }
}

impl Summary {
    /// All but the histogram, which few samples do without.
    fn of_few(samples: &[u64]) -> Self {
        let mut summary = Self::default();
        samples.iter().for_each(|&value| summary.add(value));
        summary
    }

    fn record(&mut self, value: u64) {
        self.add(value);
        self.histogram.record(value);
    }

    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
        self.batches.record(value);
    }

    /// The middle of a bucket may lie beyond its least or greatest sample: of samples that are alike, every quantile is their value.
    fn within(&self, value: f64) -> f64 {
        value.clamp(self.min as f64, self.max as f64)
    }

    /// `value_at` gives the sample of a rank, from 1 to the count.
    fn quantiles(&self, unit: f64, value_at: impl Fn(u64) -> f64) -> Quantiles {
        let max = self.max as f64;
        // Nearest rank: the least sample that at least this share of all samples does not exceed.
        let quantile = |per_mille: u64| {
            let rank = (u128::from(self.count) * u128::from(per_mille)).div_ceil(1000) as u64;
            Some(self.within(value_at(rank.max(1))) / unit)
        };
        Quantiles {
            count: self.count,
            mean: Some(self.sum as f64 / self.count as f64 / unit),
            ci95: self.batches.interval().map(|interval| interval.half_width / unit),
            p50: quantile(500),
            p90: quantile(900),
            p99: quantile(990),
            p999: quantile(999),
            max: Some(max / unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use divvy_workload::{Purpose, stream};

    fn sampler(values: impl IntoIterator<Item = u64>) -> Sampler {
        let mut sampler = Sampler::default();
        values.into_iter().for_each(|value| sampler.record(value));
        sampler
    }

    #[test]
    fn nothing_is_absent_not_zero() {
        let q = Sampler::default().finish();
        assert_eq!(q.count, 0);
        assert!([q.mean, q.ci95, q.p50, q.p90, q.p99, q.p999, q.max].iter().all(Option::is_none));
    }

    #[test]
    fn few_samples_are_exact() {
        let q = sampler((1..=100).rev().map(|n| n * 1_000_003)).finish();
        assert_eq!((q.count, q.mean), (100, Some(50.5 * 1_000_003.0)));
        assert_eq!(q.p50, Some(50.0 * 1_000_003.0));
        assert_eq!((q.p90, q.p99, q.max), (Some(90_000_270.0), Some(99_000_297.0), Some(100_000_300.0)));
        assert_eq!(q.p999, q.max, "the 999th of 1,000 is the last of 100");
        assert_eq!(q.ci95, None, "too few for an interval");
        let one = sampler([7]).finish();
        assert_eq!((one.p50, one.p99, one.max), (Some(7.0), Some(7.0), Some(7.0)));
    }

    /// Jobs of constant length: no percentile is below the mean.
    #[test]
    fn samples_that_are_alike_have_their_value_as_every_quantile() {
        let same = sampler([3_333_000; 750]);
        let q = same.finish();
        assert_eq!([q.p50, q.p90, q.p99, q.max, q.mean], [Some(3_333_000.0); 5]);
        assert_eq!(same.ccdf().value_ns, [3_333_000.0]);
    }

    /// One sample past the exact ones: the same numbers from the other representation, to its precision.
    #[test]
    fn many_samples_are_within_a_thousandth() {
        let spread = |n: u64| 1000 + n * n * n;
        let few = sampler((0..512).map(spread)).finish();
        let many = sampler((0..512).map(spread).chain([spread(256)])).finish();
        for (a, b) in [(few.p50, many.p50), (few.p90, many.p90), (few.p99, many.p99)] {
            let (a, b) = (a.expect("present"), b.expect("present"));
            assert!((a / b - 1.0).abs() < 0.02, "{a} {b}");
        }
        let uniform = sampler((0..100_000).map(|n| n * 10_000)).finish();
        for (quantile, exact) in [
            (uniform.p50, 499_990_000.0),
            (uniform.p90, 899_990_000.0),
            (uniform.p99, 989_990_000.0),
            (uniform.p999, 998_990_000.0),
        ] {
            let quantile = quantile.expect("present");
            assert!((quantile / exact - 1.0_f64).abs() < 0.001, "{quantile} {exact}");
        }
        assert_eq!((uniform.mean, uniform.max), (Some(499_995_000.0), Some(999_990_000.0)));
    }

    #[test]
    fn extremes_do_not_overflow() {
        let q = sampler(std::iter::repeat_n(u64::MAX, 2000).chain([0])).finish();
        assert_eq!((q.count, q.max), (2001, Some(u64::MAX as f64)));
        assert!(q.p50 <= q.max && q.mean < q.max);
    }

    #[test]
    fn ratios() {
        let q = sampler([ratio(3, 2), ratio(5, 2), ratio(1, 1)]).finish_ratio();
        assert_eq!((q.mean, q.p50, q.max), (Some(5.0 / 3.0), Some(1.5), Some(2.5)));
        assert_eq!(ratio(1, 0), u64::MAX);
        assert_eq!(ratio(u64::MAX, 1), u64::MAX);
    }

    /// Correlated samples: an AR(1) process, whose mean has a known variance. The interval must cover the true mean
    /// about 95 times in 100; intervals from the raw samples would do so 35 times.
    #[test]
    fn intervals_cover_the_mean() {
        let mut covered = 0;
        for rep in 0..400 {
            let mut noise = stream(5, rep, 0, Purpose::Run);
            let mut x = 0.0;
            let mut sampler = Sampler::default();
            for _ in 0..8_000 {
                x = 0.9 * x + noise.unit() - 0.5;
                sampler.record((1000.0 * (x + 100.0)) as u64);
            }
            let q = sampler.finish();
            let (mean, half) = (q.mean.expect("present"), q.ci95.expect("present"));
            // Truncation takes half a unit off the mean.
            covered += u32::from((mean - 99_999.5).abs() <= half);
        }
        // Binomial(400, 0.95): standard deviation 4.4; batch means are a little short of their promise.
        assert!((360..=395).contains(&covered), "{covered} of 400");
    }
}
