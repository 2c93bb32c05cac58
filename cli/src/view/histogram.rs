//! Small histograms in block characters. Histograms that are drawn together have one axis and one scale, so they can be compared.

use std::ops::Range;

use divvy_results::report::Buckets;
use divvy_results::text;

use crate::view::picture::LEVELS;

/// The first bucket is for zeros, which have no place on a logarithmic axis.
const ZERO: usize = 0;
/// The second has all that is below the first decade.
const BELOW: usize = 1;
/// Buckets of a decade.
const A_DECADE: usize = 3;

/// Buckets that several histograms share, and the greatest share of samples in any.
pub struct Axis {
    buckets: Range<usize>,
    greatest: f64,
}

impl Axis {
    /// The axis of all these histograms, from the decade of the least sample; `None` if no sample is above zero.
    pub fn of<'a>(all: impl Iterator<Item = &'a Buckets>) -> Option<Axis> {
        let (mut first, mut end, mut greatest) = (usize::MAX, 0, 0.0_f64);
        for buckets in all {
            let samples: u64 = buckets.count.iter().sum();
            for (bucket, count) in positive(buckets) {
                first = first.min(bucket);
                end = end.max(bucket + 1);
                greatest = greatest.max(count as f64 / samples as f64);
            }
        }
        let decade = if first > BELOW { first - (first - BELOW - 1) % A_DECADE } else { first };
        (end > 0).then_some(Axis { buckets: decade..end, greatest })
    }

    /// One character per bucket: its share of the samples, relative to the greatest share of all.
    pub fn draw(&self, buckets: &Buckets) -> String {
        let samples: u64 = buckets.count.iter().sum();
        let mut drawn = vec![' '; self.buckets.len()];
        for (bucket, count) in positive(buckets) {
            let height = count as f64 / samples as f64 / self.greatest;
            let level = (height * LEVELS.len() as f64).ceil() as usize;
            drawn[bucket - self.buckets.start] = LEVELS[level.clamp(1, LEVELS.len()) - 1];
        }
        drawn.into_iter().collect()
    }

    /// Times above ticks where decades begin; every second time if there are several.
    pub fn head(&self) -> [String; 2] {
        let bounds: Vec<u64> = Buckets::bounds().collect();
        let is_decade = |bucket: usize| bucket > BELOW && (bucket - BELOW - 1).is_multiple_of(A_DECADE);
        let (mut times, mut ticks) = (String::new(), String::new());
        for bucket in self.buckets.clone() {
            let place = bucket - self.buckets.start;
            ticks.push(match bucket {
                BELOW => '<',
                _ if is_decade(bucket) => '|',
                _ => ' ',
            });
            if is_decade(bucket) && (times.is_empty() || text::width(&times) < place) {
                let time = round_time(bounds[bucket]);
                times.push_str(&" ".repeat(place - text::width(&times)));
                times.push_str(&time);
            }
        }
        [times, ticks.trim_end().to_owned()]
    }

    /// Where it begins and ends, in words.
    pub fn span(&self) -> String {
        let time = |bucket: usize| Buckets::bounds().nth(bucket).map(round_time);
        let from = if self.buckets.start == BELOW { None } else { time(self.buckets.start) };
        format!(
            "from {} to {}",
            from.unwrap_or_else(|| "0".to_owned()),
            time(self.buckets.end).unwrap_or_else(|| "any".to_owned())
        )
    }
}

/// Without decimals: bounds have none.
fn round_time(ns: u64) -> String {
    text::time(ns as f64).replace(".00", "").replace(".0", "")
}

/// Buckets above zero that have samples, by their number.
fn positive(buckets: &Buckets) -> impl Iterator<Item = (usize, u64)> {
    let first = buckets.from_ns.first().and_then(|from| Buckets::bounds().position(|bound| bound == *from));
    let numbered =
        buckets.count.iter().enumerate().map(move |(at, &count)| (first.unwrap_or(ZERO) + at, count));
    numbered.filter(|&(bucket, count)| bucket > ZERO && count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(first: u64, count: &[u64]) -> Buckets {
        let from_ns = Buckets::bounds().skip_while(|bound| *bound < first).take(count.len()).collect();
        Buckets { from_ns, count: count.to_vec() }
    }

    #[test]
    fn all_have_one_axis_and_one_scale() {
        let a = buckets(20_000, &[40, 0, 20, 20]);
        let b = buckets(2_000_000, &[1, 79]);
        let axis = Axis::of([&a, &b].into_iter()).expect("samples");
        // 10us 20us 50us | 100us 200us 500us | 1ms 2ms 5ms
        assert_eq!(axis.draw(&a), " ▅ ▃▃    ");
        assert_eq!(axis.draw(&b), "       ▁█");
        assert_eq!(axis.head(), ["10us  1ms".to_owned(), "|  |  |".to_owned()]);
        assert_eq!(axis.span(), "from 10us to 10ms");
    }

    #[test]
    fn zeros_are_no_part_of_the_axis_but_count() {
        let a = buckets(0, &[90, 5, 0, 5]);
        let axis = Axis::of(std::iter::once(&a)).expect("samples");
        assert_eq!(axis.draw(&a), "█ █");
        assert_eq!(axis.head(), [" 1us".to_owned(), "<|".to_owned()]);
        assert_eq!(axis.span(), "from 0 to 5us");
        assert!(Axis::of(std::iter::once(&buckets(0, &[7]))).is_none());
        assert!(Axis::of(std::iter::empty()).is_none());
    }

    /// A page of another hand may have other bounds.
    #[test]
    fn what_is_on_no_bound_is_no_panic() {
        let odd = Buckets { from_ns: vec![7], count: vec![1, 2] };
        let axis = Axis::of(std::iter::once(&odd)).expect("samples");
        assert!(!axis.draw(&odd).is_empty());
    }
}
