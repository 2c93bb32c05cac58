//! Student's t: intervals from a few independent means.

/// A mean and the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// The mean.
    pub mean: f64,
    /// The true mean is this near with 95 % confidence.
    pub half_width: f64,
}

/// The interval of the mean of independent values, of repetitions for instance; `None` of fewer than two.
pub fn interval95(values: &[f64]) -> Option<ConfidenceInterval> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let variance = squares / (n - 1) as f64;
    Some(ConfidenceInterval { mean, half_width: t975(n - 1) * (variance / n as f64).sqrt() })
}

/// Whether there are two values or more, and all are the same: their mean is known, and an interval would have no width.
pub fn are_identical(values: &[f64]) -> bool {
    values.len() > 1 && values.iter().all(|value| *value == values[0])
}

/// The 97.5 % quantile of Student's t distribution with this many degrees of freedom (infinite for 0), to 1e-5.
/// From 31 degrees on by the expansion of Abramowitz and Stegun, 26.7.5.
pub fn t975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157,
        2.228_139, 2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905, 2.109_816, 2.100_922,
        2.093_024, 2.085_963, 2.079_614, 2.073_873, 2.068_658, 2.063_899, 2.059_539, 2.055_529, 2.051_831,
        2.048_407, 2.045_230, 2.042_272,
    ];
    match degrees {
        0 => f64::INFINITY,
        1..=30 => TABLE[degrees - 1],
        _ => {
            let n = degrees as f64;
            let z: f64 = 1.959_963_984_540_054;
            let z2 = z * z;
            let g1 = z * (z2 + 1.0) / 4.0;
            let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
            let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
            z + g1 / n + g2 / (n * n) + g3 / (n * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(T <= t) by Simpson's rule on the density, scaled by its own integral so that no gamma function is needed:
    /// with t = sqrt(n) tan(a) the density is proportional to cos(a)^(n-1).
    fn probability(t: f64, n: usize) -> f64 {
        let integral = |upto: f64| {
            let steps = 20_000;
            let h = upto / f64::from(steps);
            let f = |i: i32| (h * f64::from(i)).cos().powi(n as i32 - 1);
            (0..steps / 2).map(|i| f(2 * i) + 4.0 * f(2 * i + 1) + f(2 * i + 2)).sum::<f64>() * h / 3.0
        };
        0.5 + integral((t / (n as f64).sqrt()).atan()) / integral(std::f64::consts::FRAC_PI_2) / 2.0
    }

    #[test]
    fn quantiles_are_quantiles() {
        for n in (1..=45).chain([60, 100, 1000]) {
            let p = probability(t975(n), n);
            assert!((p - 0.975).abs() < 1e-6, "{n}: {p}");
        }
        assert_eq!(t975(0), f64::INFINITY);
    }

    /// Student's own sleep data, group 1: mean 0.75, 95 % interval -0.53 to 2.03.
    #[test]
    fn a_published_interval() {
        let sleep = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let interval = interval95(&sleep).expect("ten values");
        assert!((interval.mean - 0.75).abs() < 1e-12);
        assert!((interval.half_width - 1.2798).abs() < 1e-3, "{interval:?}");
        assert_eq!(interval95(&[1.0]), None);
    }
}
