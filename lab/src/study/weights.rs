//! Random weights that add up.

use divvy_workload::Stream;

/// `n` weights that add up to `total`: the first is `skew` percent of it, the others are uniformly distributed parts
/// of the rest, at least 1 each.
pub fn weight_set(random: &mut Stream, n: usize, total: u64, skew: u64) -> Vec<u64> {
    let big = (total * skew + 50) / 100;
    let rest = total - big;
    let uniform: Vec<f64> = (1..n).map(|_| random.unit()).collect();
    let sum: f64 = uniform.iter().sum();
    let mut weights = vec![big];
    // Cumulative rounding: what one loses the next gains.
    let (mut upto, mut given) = (0.0, 0);
    for u in uniform {
        upto += u;
        let due = (upto / sum * rest as f64) as u64;
        let weight = due.saturating_sub(given).max(1);
        weights.push(weight);
        given += weight;
    }
    settle(&mut weights[1..], rest);
    weights
}

/// Makes the sum `total`: the last ones give or get what is still too much or too little.
fn settle(weights: &mut [u64], total: u64) {
    let mut sum: u64 = weights.iter().sum();
    for weight in weights.iter_mut().rev() {
        if sum <= total {
            *weight += total - sum;
            return;
        }
        let less = (*weight - 1).min(sum - total);
        *weight -= less;
        sum -= less;
    }
    debug_assert_eq!(sum, total, "more clients than shares");
}

#[cfg(test)]
mod tests {
    use divvy_workload::{Purpose, stream};

    use super::*;

    #[test]
    fn they_add_up_and_none_is_without() {
        for (n, total) in [(2, 100), (32, 16_384), (8192, 16_384), (8192, 262_144)] {
            for set in 0..20 {
                let weights = weight_set(&mut stream(1, set, 7, Purpose::Run), n, total, 10);
                assert_eq!(weights.len(), n);
                assert_eq!(weights.iter().sum::<u64>(), total);
                assert!(weights.iter().all(|&w| w >= 1));
                assert_eq!(weights[0], (total as f64 / 10.0).round() as u64);
            }
        }
    }

    /// Uniform parts: their mean square is 4/3 of the square of their mean.
    #[test]
    fn the_others_are_uniform() {
        let weights = weight_set(&mut stream(1, 0, 7, Purpose::Run), 8192, 100_000_000, 10);
        let others = &weights[1..];
        let mean = others.iter().sum::<u64>() as f64 / others.len() as f64;
        let square = others.iter().map(|&w| (w as f64 / mean).powi(2)).sum::<f64>() / others.len() as f64;
        assert!((square - 4.0 / 3.0).abs() < 0.03, "{square}");
    }
}
