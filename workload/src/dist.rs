//! Distributions of times, sampled by inverse transform.
//!
//! Results must be the same bytes on every machine, so logarithms and powers come from `libm` (the crate, in Rust)
//! and never from the platform's library; plain arithmetic and square roots are exact by IEEE 754.

use super::normal;
use super::stream::Stream;
use divvy_policy::units::{MAX_NS, show_duration};

/// A distribution of times in nanoseconds. [`Dist::check`] states what its parameters may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Dist {
    /// Always this; the only distribution that may give 0.
    Constant(u64),
    /// Exponential with this mean.
    Exp(u64),
    /// Each nanosecond from `lo` to `hi`, both included, alike.
    Uniform {
        /// Least value.
        lo: u64,
        /// Greatest value.
        hi: u64,
    },
    /// P(X > x) = (scale / x)^shape for x >= scale. The mean is infinite for shape <= 1.
    Pareto {
        /// Tail index.
        shape: f64,
        /// Least value.
        scale: u64,
    },
    /// Pareto from `lo` on, cut at `hi` and scaled up to probability 1.
    BoundedPareto {
        /// Tail index.
        shape: f64,
        /// Least value.
        lo: u64,
        /// Greatest value.
        hi: u64,
    },
    /// Hyperexponential: exponential with mean `means[i]`, with `upto[i]` the probability of phases 0..=i.
    Hyper {
        /// Cumulative probabilities; the last is 1.
        upto: Vec<f64>,
        /// Mean of each phase.
        means: Vec<u64>,
    },
    /// Sum of `k` exponentials, of `mean` in all.
    Erlang {
        /// Number of phases.
        k: u32,
        /// Mean of the sum.
        mean: u64,
    },
    /// exp(N(ln median, sigma^2)).
    LogNormal {
        /// Median.
        median: u64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// One of `values`, with `upto[i]` the probability of values 0..=i.
    Choice {
        /// The values.
        values: Vec<u64>,
        /// Cumulative probabilities; the last is 1.
        upto: Vec<f64>,
    },
}

/// Most phases of [`Dist::Erlang`]; more are as good as constant, and each costs a logarithm a sample.
pub const MAX_PHASES: u32 = 1000;

impl Dist {
    /// Hyperexponential from the probability of each phase; they sum to 1.
    ///
    /// # Errors
    /// As [`Dist::check`], and if the probabilities are not positive or do not sum to 1.
    pub fn hyper(p: &[f64], means: Vec<u64>) -> Result<Self, String> {
        let sum: f64 = p.iter().sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(format!("the probabilities sum to {sum}, not 1"));
        }
        let dist = Self::Hyper { upto: cumulate(p)?, means };
        dist.check().map(|()| dist)
    }

    /// Hyperexponential of two phases with balanced means: each brings half of the load. `scv` is the squared
    /// coefficient of variation (variance over squared mean), at least 1.
    ///
    /// # Errors
    /// As [`Dist::check`], and if `scv` is less than 1.
    pub fn hyper2(mean: u64, scv: f64) -> Result<Self, String> {
        if !(1.0..=1e6).contains(&scv) {
            return Err(format!("scv is {scv}: a hyperexponential has 1 to 1000000"));
        }
        let p = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
        let phase_mean = |p: f64| (mean as f64 / (2.0 * p)).round() as u64;
        Self::hyper(&[p, 1.0 - p], vec![phase_mean(p), phase_mean(1.0 - p)])
    }

    /// One of `values`, each in proportion to its weight.
    ///
    /// # Errors
    /// As [`Dist::check`], and if a weight is not positive.
    pub fn choice(values: Vec<u64>, weights: &[f64]) -> Result<Self, String> {
        let dist = Self::Choice { values, upto: cumulate(weights)? };
        dist.check().map(|()| dist)
    }

    /// Whether its parameters are what the formulas need: times from 1 ns to [`MAX_NS`] (a constant may be 0,
    /// a uniform may begin there), shapes and sigmas from 0.01 to 100, `lo` less than `hi`, tables of equal length.
    ///
    /// # Errors
    /// A sentence on what is wrong.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Constant(ns) => within_range("the time", *ns),
            Self::Exp(mean) => positive("the mean", *mean),
            Self::Uniform { lo, hi } => positive("hi", *hi).and_then(|()| ordered(*lo, *hi)),
            Self::Pareto { shape, scale } => {
                moderate("shape", *shape).and_then(|()| positive("scale", *scale))
            }
            Self::BoundedPareto { shape, lo, hi } => {
                moderate("shape", *shape)?;
                positive("lo", *lo)?;
                within_range("hi", *hi)?;
                ordered(*lo, *hi)
            }
            Self::Erlang { k, mean } => match k {
                1..=MAX_PHASES => positive("the mean", *mean),
                _ => Err(format!("k is {k}: an Erlang distribution has 1 to {MAX_PHASES} phases here")),
            },
            Self::LogNormal { median, sigma } => {
                moderate("sigma", *sigma).and_then(|()| positive("the median", *median))
            }
            Self::Hyper { upto, means: values } | Self::Choice { values, upto } => check_table(values, upto),
        }
    }

    /// The mean in nanoseconds, infinite if it is; before samples are rounded and limited to [`MAX_NS`].
    pub fn mean_ns(&self) -> f64 {
        match self {
            Self::Constant(ns) => *ns as f64,
            Self::Exp(mean) | Self::Erlang { mean, .. } => *mean as f64,
            Self::Uniform { lo, hi } => (*lo as f64 + *hi as f64) / 2.0,
            Self::Pareto { shape, .. } if *shape <= 1.0 => f64::INFINITY,
            Self::Pareto { shape, scale } => shape * *scale as f64 / (shape - 1.0),
            Self::BoundedPareto { shape, lo, hi } => bounded_pareto_moment(1, *shape, *lo as f64, *hi as f64),
            Self::LogNormal { median, sigma } => *median as f64 * libm::exp(sigma * sigma / 2.0),
            Self::Hyper { upto, means: values } | Self::Choice { values, upto } => {
                weighted(values, upto, |v| v)
            }
        }
    }

    /// The mean of squares in ns^2, infinite if it is; before samples are rounded and limited as well.
    pub fn second_moment_ns2(&self) -> f64 {
        let mean = self.mean_ns();
        match self {
            Self::Constant(_) => mean * mean,
            Self::Exp(_) => 2.0 * mean * mean,
            Self::Uniform { lo, hi } => {
                let values = (hi - lo) as f64 + 1.0;
                mean * mean + (values * values - 1.0) / 12.0
            }
            Self::Pareto { shape, .. } if *shape <= 2.0 => f64::INFINITY,
            Self::Pareto { shape, scale } => shape * (*scale as f64) * (*scale as f64) / (shape - 2.0),
            Self::BoundedPareto { shape, lo, hi } => bounded_pareto_moment(2, *shape, *lo as f64, *hi as f64),
            Self::Hyper { upto, means } => weighted(means, upto, |mean| 2.0 * mean * mean),
            Self::Erlang { k, .. } => mean * mean * (1.0 + 1.0 / f64::from(*k)),
            Self::LogNormal { sigma, .. } => mean * mean * libm::exp(sigma * sigma),
            Self::Choice { values, upto } => weighted(values, upto, |value| value * value),
        }
    }

    /// The next value in nanoseconds: rounded to the nearest, at least 1 (unless constant), at most [`MAX_NS`].
    pub fn sample_ns(&self, stream: &mut Stream) -> u64 {
        let ns = match self {
            Self::Constant(ns) => return *ns,
            Self::Uniform { lo, hi } => return (lo + stream.below(hi - lo + 1)).max(1),
            Self::Choice { values, upto } => return values[pick(upto, stream.unit())],
            Self::Exp(mean) => *mean as f64 * exponential(stream),
            Self::Pareto { shape, scale } => *scale as f64 * libm::pow(stream.unit(), -1.0 / shape),
            Self::BoundedPareto { shape, lo, hi } => {
                let (lo, hi) = (*lo as f64, *hi as f64);
                let cut = 1.0 - libm::pow(lo / hi, *shape);
                lo * libm::pow(1.0 - stream.unit() * cut, -1.0 / shape)
            }
            Self::Hyper { upto, means } => means[pick(upto, stream.unit())] as f64 * exponential(stream),
            Self::Erlang { k, mean } => {
                let sum: f64 = (0..*k).map(|_| exponential(stream)).sum();
                *mean as f64 * sum / f64::from(*k)
            }
            Self::LogNormal { median, sigma } => {
                *median as f64 * libm::exp(sigma * normal::quantile(stream.unit()))
            }
        };
        // A float beyond the range of u64 saturates, and then is limited.
        (ns.round() as u64).clamp(1, MAX_NS)
    }
}

/// Exponential with mean 1.
fn exponential(stream: &mut Stream) -> f64 {
    -libm::log(stream.unit())
}

/// Index of the first cumulative probability that exceeds `u`.
fn pick(upto: &[f64], u: f64) -> usize {
    upto.partition_point(|&p| p <= u).min(upto.len() - 1)
}

/// Positive weights as cumulative probabilities, the last exactly 1.
fn cumulate(weights: &[f64]) -> Result<Vec<f64>, String> {
    if let Some(bad) = weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
        return Err(format!("{bad} is not a probability or weight: each is more than 0"));
    }
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    let mut upto: Vec<f64> = weights
        .iter()
        .map(|w| {
            sum += w / total;
            sum.min(1.0)
        })
        .collect();
    if let Some(last) = upto.last_mut() {
        *last = 1.0;
    }
    Ok(upto)
}

/// The mean of X^n: shape lo^n (1 - (lo/hi)^(shape-n)) / ((shape - n) (1 - (lo/hi)^shape)).
fn bounded_pareto_moment(n: u8, shape: f64, lo: f64, hi: f64) -> f64 {
    let (ratio, least, n) = (lo / hi, lo.powi(i32::from(n)), f64::from(n));
    let cut = 1.0 - libm::pow(ratio, shape);
    if (shape - n).abs() < 1e-9 {
        return n * least * -libm::log(ratio) / cut;
    }
    least * shape / (shape - n) * (1.0 - libm::pow(ratio, shape - n)) / cut
}

/// The mean of a function of values, with cumulative probabilities.
fn weighted(values: &[u64], upto: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let mut before = 0.0;
    values.iter().zip(upto).map(|(&v, &u)| of(v as f64) * (u - std::mem::replace(&mut before, u))).sum()
}

fn within_range(what: &str, ns: u64) -> Result<(), String> {
    if ns > MAX_NS { Err(format!("{what} is {ns} ns: the most is 2^60 ns (36 years)")) } else { Ok(()) }
}

fn positive(what: &str, ns: u64) -> Result<(), String> {
    if ns == 0 { Err(format!("{what} is 0: it must be at least 1ns")) } else { within_range(what, ns) }
}

fn ordered(lo: u64, hi: u64) -> Result<(), String> {
    if lo < hi {
        return Ok(());
    }
    Err(format!("lo ({}) is not less than hi ({})", show_duration(lo), show_duration(hi)))
}

fn moderate(what: &str, value: f64) -> Result<(), String> {
    if (0.01..=100.0).contains(&value) {
        Ok(())
    } else {
        Err(format!("{what} is {value}: it must be from 0.01 to 100"))
    }
}

fn check_table(values: &[u64], upto: &[f64]) -> Result<(), String> {
    if values.is_empty() || values.len() != upto.len() {
        return Err(format!(
            "{} values and {} probabilities: there must be as many, at least one",
            values.len(),
            upto.len()
        ));
    }
    values.iter().try_for_each(|&ns| positive("a value", ns))?;
    let rising = upto.windows(2).all(|pair| pair[0] <= pair[1]);
    if rising && upto[0] > 0.0 && upto[upto.len() - 1] == 1.0 {
        return Ok(());
    }
    Err("cumulative probabilities must rise from above 0 to exactly 1".to_owned())
}

#[cfg(test)]
mod tests;
