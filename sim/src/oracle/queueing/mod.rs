//! Mean response times that queueing theory knows exactly: what a simulator must show before its other
//! numbers count.
//!
//! Arrivals are Poisson with rate `lambda`, S is a job's size with distribution F, rho = lambda `E[S]` is
//! less than 1 per CPU; response T is from arrival to end. Times are in any one unit.
//!
//! | queue | module | insensitive to F |
//! |---|---|---|
//! | M/M/1, M/G/1: FCFS, PS, LAS, SRPT, PSJF, SJF | [`single`] | PS |
//! | M/M/k FCFS, M/G/k PS | [`multi`] | PS |
//! | M/M/1 DPS: weighted classes | [`dps`] | no |
//! | closed: N users who think, m CPUs | [`closed`] | PS |
//! | what holds on every path, whatever the policy | [`paths`] | yes |

pub mod closed;
pub mod dps;
pub mod multi;
pub mod paths;
pub mod single;

/// A distribution of job sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// All jobs are this long.
    Constant(f64),
    /// Exponential with mean `m` with probability `p`, for each (p, m): the exponential and the
    /// hyperexponential.
    Mixture(Vec<(f64, f64)>),
}

impl Size {
    /// Exponential with this mean.
    pub fn exponential(mean: f64) -> Self {
        Self::Mixture(vec![(1.0, mean)])
    }

    /// Hyperexponential of two phases that bring half the load each, with this squared coefficient of
    /// variation, at least 1.
    pub fn hyper2(mean: f64, scv: f64) -> Self {
        let p = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
        Self::Mixture(vec![(p, mean / (2.0 * p)), (1.0 - p, mean / (2.0 * (1.0 - p)))])
    }

    /// `E[S]`.
    pub fn mean(&self) -> f64 {
        self.sum(|d| d, |m| m)
    }

    /// E[S^2].
    pub fn second_moment(&self) -> f64 {
        self.sum(|d| d * d, |m| 2.0 * m * m)
    }

    /// P(S > x).
    pub fn tail(&self, x: f64) -> f64 {
        self.sum(|d| f64::from(d > x), |m| libm::exp(-x / m))
    }

    /// The density at x; a constant has none, and gives 0.
    pub fn density(&self, x: f64) -> f64 {
        self.sum(|_| 0.0, |m| libm::exp(-x / m) / m)
    }

    /// Integral of t dF(t) from 0 to x.
    pub fn partial_mean(&self, x: f64) -> f64 {
        self.sum(|d| if d <= x { d } else { 0.0 }, |m| m - libm::exp(-x / m) * (x + m))
    }

    /// Integral of t^2 dF(t) from 0 to x.
    pub fn partial_second_moment(&self, x: f64) -> f64 {
        let exponential = |m: f64| 2.0 * m * m - libm::exp(-x / m) * (x * x + 2.0 * m * x + 2.0 * m * m);
        self.sum(|d| if d <= x { d * d } else { 0.0 }, exponential)
    }

    fn sum(&self, constant: impl Fn(f64) -> f64, exponential: impl Fn(f64) -> f64) -> f64 {
        match self {
            Self::Constant(d) => constant(*d),
            Self::Mixture(phases) => phases.iter().map(|&(p, m)| p * exponential(m)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let h = Size::hyper2(1.0, 5.0);
        assert!((h.mean() - 1.0).abs() < 1e-12 && (h.second_moment() - 6.0).abs() < 1e-12);
        assert_eq!(Size::Constant(3.0).second_moment(), 9.0);
    }

    /// Partial moments against sums of slices of the density.
    #[test]
    fn partial_moments() {
        for size in [Size::exponential(2.0), Size::hyper2(1.0, 5.0)] {
            let n = 100_000;
            let x = 3.0;
            let slice = x / f64::from(n);
            let sum = |power: i32| -> f64 {
                let points = (0..n).map(|i| slice * (f64::from(i) + 0.5));
                points.map(|t| t.powi(power) * size.density(t) * slice).sum()
            };
            assert!((sum(0) - (1.0 - size.tail(x))).abs() < 1e-8);
            assert!((sum(1) - size.partial_mean(x)).abs() < 1e-8);
            assert!((sum(2) - size.partial_second_moment(x)).abs() < 1e-8);
        }
    }
}
