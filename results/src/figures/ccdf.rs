//! Complementary cumulative distributions: what share of the samples is at least so large.

use serde::{Deserialize, Serialize};

/// Points for a factor of ten in the share.
const POINTS_A_DECADE: f64 = 24.0;

/// Points of a distribution, from the least value to the greatest. The share falls from 1 to one sample's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ccdf {
    /// Values, ascending; none twice.
    pub value_ns: Vec<f64>,
    /// Share of the samples that are at least this.
    pub share: Vec<f64>,
}

impl Ccdf {
    /// The distribution of `count` samples. `value_at` gives the sample of a rank, from 1 to the count.
    pub fn of(count: u64, value_at: impl Fn(u64) -> f64) -> Ccdf {
        let mut ccdf = Ccdf::default();
        for at_least in survivors(count) {
            let value = value_at(count - at_least + 1);
            // Equal values share one point: the rank of the first counts all of them.
            if ccdf.value_ns.last().is_none_or(|&last| value > last) {
                ccdf.value_ns.push(value);
                ccdf.share.push(at_least as f64 / count as f64);
            }
        }
        ccdf
    }
}

/// Numbers of samples from `count` to 1, in nearly constant ratio.
fn survivors(count: u64) -> impl Iterator<Item = u64> {
    let ratio = libm::pow(10.0, 1.0 / POINTS_A_DECADE);
    let next = move |&n: &u64| (n > 1).then(|| ((n as f64 / ratio) as u64).clamp(1, n - 1));
    std::iter::successors((count > 0).then_some(count), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_is_the_share_that_is_at_least_so_large() {
        let sorted = [3.0, 5.0, 5.0, 5.0, 8.0, 13.0, 13.0, 40.0];
        let ccdf = Ccdf::of(8, |rank| sorted[rank as usize - 1]);
        assert_eq!(ccdf.value_ns, [3.0, 5.0, 8.0, 13.0, 40.0]);
        for (value, share) in ccdf.value_ns.iter().zip(&ccdf.share) {
            let at_least = sorted.iter().filter(|sample| *sample >= value).count();
            assert_eq!(*share, at_least as f64 / 8.0, "{value}");
        }
    }

    #[test]
    fn a_million_samples_are_few_points_with_both_ends() {
        let ccdf = Ccdf::of(1_000_000, |rank| rank as f64);
        assert!((100..200).contains(&ccdf.share.len()), "{}", ccdf.share.len());
        assert_eq!((ccdf.value_ns[0], ccdf.share[0]), (1.0, 1.0));
        assert_eq!((ccdf.value_ns.last(), ccdf.share.last()), (Some(&1e6), Some(&1e-6)));
        assert!(Ccdf::of(0, |_| unreachable!()).value_ns.is_empty());
    }
}
