//! The formula of pbs (Eq. 2 with Eq. 6) in floats, and a bench with the policy.

use divvy_policy::{RATIO_INF, RATIO_ONE};
use divvy_tests::bench::{Bench, Program, Watch};

/// An alpha or beta without bound
pub const INF: f64 = f64::INFINITY;

/// A ratio as parameters have it.
pub fn ratio(x: f64) -> i64 {
    match x {
        0.0 if x.is_sign_negative() => -1, // written -0
        INF => RATIO_INF,
        _ if x == -INF => -RATIO_INF,
        _ => (x * RATIO_ONE as f64).round() as i64,
    }
}

/// A bench with pbs and these values of its parameters, in their order.
pub fn pbs<W: Watch>(params: &[f64], cpus: usize, quantum: u64, programs: &[Program], watch: W) -> Bench<W> {
    let raw: Vec<i64> = params.iter().map(|x| ratio(*x)).collect();
    Bench::new(("pbs", &raw), cpus, quantum, programs, watch)
}

/// `weight` in the kernel's table, `age` is arrival and the order of sessions.
pub fn rank(alpha: f64, t: u64, s: u64, weight: u64, age: (u64, u64)) -> (f64, i128, (i128, i128)) {
    let kappa = weight as f64 / 1024.0;
    let sign: f64 = if alpha.is_sign_negative() { -1.0 } else { 1.0 };
    let size = alpha.abs();
    let p = match s {
        _ if alpha == 0.0 => 0.0, // age decides
        0 => INF,
        _ if size == INF => 0.0,
        s => sign * (t as f64).log2() - size * (s as f64 / kappa).log2(),
    };
    // If two quotients by weights below 2^20 are unequal, so are these.
    let las = if size == INF { -((i128::from(s) << 40) / i128::from(weight)) } else { 0 };
    // Least attained service is one policy at both ends.
    let sign = if size == INF { 1 } else { sign as i128 };
    (p, las, (-sign * i128::from(age.0), -sign * i128::from(age.1)))
}

/// The error of a difference of two priorities. Each has a logarithm of T and alpha times one of S, each within
/// 1.25 * 2^-24.
pub fn error(alpha: f64) -> f64 {
    1.26 / f64::from(1 << 24) * (1.0 + 2.0 * alpha.abs())
}
