//! How far the extremes of a study would be elsewhere with other random weights.

use divvy_results::stats::{ConfidenceInterval, interval95};

use super::{Cell, Range};

/// The greatest value of another study with as many sets is above the one of this rank, counted from 0, with a probability of
/// 1 - 2^-6 or more: each of the six greatest values of both studies together is as likely in either.
const RANK: usize = 5;

/// The greatest of random values, and how far it varies. That of another study is above the sixth greatest with 98 %
/// probability, whatever the distribution. Nothing general is known above, so the interval is as wide on that side.
fn greatest(values: impl Iterator<Item = f64>) -> ConfidenceInterval {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(|a, b| b.total_cmp(a));
    let mean = values.first().copied().unwrap_or(f64::NAN);
    ConfidenceInterval { mean, half_width: values.get(RANK).map_or(f64::INFINITY, |sixth| mean - sixth) }
}

/// The greatest error of all sets of all cells.
pub fn greatest_of_all(cells: &[Cell]) -> ConfidenceInterval {
    greatest(cells.iter().flat_map(|cell| cell.ranges.iter().map(|range| range.most)))
}

/// The least error of all sets of all cells.
pub fn least_of_all(cells: &[Cell]) -> ConfidenceInterval {
    negative(greatest(cells.iter().flat_map(|cell| cell.ranges.iter().map(|range| -range.least))))
}

/// The most selections of all sets of all cells.
pub fn most_selections(cells: &[Cell]) -> ConfidenceInterval {
    greatest(cells.iter().flat_map(|cell| cell.selections.iter().copied().map(f64::from)))
}

/// The mean of the sets of a cell, in the cell where it is greatest.
pub fn greatest_mean(cells: &[Cell]) -> ConfidenceInterval {
    extreme_mean(cells, |range| range.most)
}

/// The mean of the sets of a cell, in the cell where it is least.
pub fn least_mean(cells: &[Cell]) -> ConfidenceInterval {
    negative(extreme_mean(cells, |range| -range.least))
}

fn extreme_mean(cells: &[Cell], of: fn(&Range) -> f64) -> ConfidenceInterval {
    let mean = |cell: &Cell| {
        let values: Vec<f64> = cell.ranges.iter().map(of).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        interval95(&values).unwrap_or(ConfidenceInterval { mean, half_width: f64::INFINITY })
    };
    let none = ConfidenceInterval { mean: f64::NAN, half_width: f64::INFINITY };
    cells.iter().map(mean).max_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap_or(none)
}

fn negative(of: ConfidenceInterval) -> ConfidenceInterval {
    ConfidenceInterval { mean: -of.mean, ..of }
}

#[cfg(test)]
mod tests {
    use divvy_workload::{Purpose, stream};

    use super::*;

    /// By trial: the greatest of 200 exponential values is within the interval of another 200.
    #[test]
    fn the_greatest_of_another_study_is_within_the_interval() {
        let mut random = stream(1, 0, 0, Purpose::Run);
        let mut sample = || greatest((0..200).map(|_| -(1.0 - random.unit()).ln()));
        let within = (0..2000).filter(|_| {
            let (one, other) = (sample(), sample());
            other.mean >= one.mean - one.half_width
        });
        let part = within.count() as f64 / 2000.0;
        assert!((0.975..=1.0).contains(&part), "{part}");
    }

    #[test]
    fn few_values_have_no_interval() {
        let few = greatest([3.0, 1.0, 2.0].into_iter());
        assert_eq!((few.mean, few.half_width), (3.0, f64::INFINITY));
        let six = greatest([3.0, 1.0, 2.0, 0.5, 0.25, 0.125].into_iter());
        assert_eq!((six.mean, six.half_width), (3.0, 2.875));
    }
}
