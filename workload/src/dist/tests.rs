//! Three different things: exact values (the stream is part of results), agreement with the distribution's own
//! formulas, and refusals.

use super::*;
use crate::stream::{Purpose, stream};

const MS: u64 = 1_000_000;

fn draw(dist: &Dist, n: usize) -> Vec<u64> {
    let mut stream = stream(42, 0, 7, Purpose::Run);
    (0..n).map(|_| dist.sample_ns(&mut stream)).collect()
}

/// Greatest distance between the samples' distribution and `cdf` (of nanoseconds), times sqrt(n): above 1.95
/// once in a thousand times (Kolmogorov). The seed is fixed, so this passes always or never.
fn ks_distance(dist: &Dist, cdf: impl Fn(f64) -> f64) -> f64 {
    let n = 20_000;
    let mut samples = draw(dist, n);
    samples.sort_unstable();
    let distances = samples.iter().enumerate().map(|(i, &x)| {
        let p = cdf(x as f64);
        (p - i as f64 / n as f64).abs().max((p - (i + 1) as f64 / n as f64).abs())
    });
    distances.fold(0.0, f64::max) * (n as f64).sqrt()
}

fn error_function(x: f64) -> f64 {
    // Maclaurin series; the tests stay within |x| < 4, where 100 terms are plenty.
    let mut term = x;
    let mut sum = x;
    for n in 1..100 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn exponential() {
    let dist = Dist::Exp(10 * MS);
    assert!(ks_distance(&dist, |x| 1.0 - (-x / 1e7).exp()) < 1.95);
}

#[test]
fn uniform() {
    let dist = Dist::Uniform { lo: MS, hi: 3 * MS };
    assert!(ks_distance(&dist, |x| (x - 1e6) / 2e6) < 1.95);
    assert!(draw(&Dist::Uniform { lo: 3, hi: 4 }, 100).iter().all(|x| [3, 4].contains(x)));
}

#[test]
fn pareto() {
    let dist = Dist::Pareto { shape: 1.5, scale: MS };
    assert!(ks_distance(&dist, |x| 1.0 - (1e6 / x).powf(1.5)) < 1.95);
    assert_eq!(dist.mean_ns(), 3e6);
    assert_eq!(Dist::Pareto { shape: 0.9, scale: MS }.mean_ns(), f64::INFINITY);
}

#[test]
fn bounded_pareto() {
    let dist = Dist::BoundedPareto { shape: 1.1, lo: MS, hi: 1000 * MS };
    let cdf = |x: f64| (1.0 - (1e6 / x).powf(1.1)) / (1.0 - 1e-3_f64.powf(1.1));
    assert!(ks_distance(&dist, cdf) < 1.95);
    assert!(draw(&dist, 20_000).iter().all(|x| (MS..=1000 * MS).contains(x)));
    // Mean by the definition, summed over the quantiles.
    let quantile = |u: f64| 1e6 * (1.0 - u * (1.0 - 1e-3_f64.powf(1.1))).powf(-1.0 / 1.1);
    let mean = (0..1_000_000).map(|i| quantile((f64::from(i) + 0.5) / 1e6)).sum::<f64>() / 1e6;
    assert!((dist.mean_ns() / mean - 1.0).abs() < 1e-4, "{} {mean}", dist.mean_ns());
    let harmonic = Dist::BoundedPareto { shape: 1.0, lo: MS, hi: 1000 * MS }.mean_ns();
    let nearby = Dist::BoundedPareto { shape: 1.000_001, lo: MS, hi: 1000 * MS }.mean_ns();
    assert!((harmonic / nearby - 1.0).abs() < 1e-4);
}

#[test]
fn hyperexponential() {
    let dist = Dist::hyper(&[0.75, 0.25], vec![MS, 9 * MS]).expect("valid");
    let cdf = |x: f64| 1.0 - 0.75 * (-x / 1e6).exp() - 0.25 * (-x / 9e6).exp();
    assert!(ks_distance(&dist, cdf) < 1.95);
    assert!((dist.mean_ns() - 3e6).abs() < 1e-3);
}

#[test]
fn balanced_hyperexponential_has_the_variance_asked_for() {
    let Dist::Hyper { upto, means } = Dist::hyper2(10 * MS, 5.0).expect("valid") else {
        panic!("hyper2 is hyper")
    };
    let (p, q) = (upto[0], upto[1] - upto[0]);
    let (a, b) = (means[0] as f64, means[1] as f64);
    let mean = p * a + q * b;
    let scv = 2.0 * (p * a * a + q * b * b) / (mean * mean) - 1.0;
    assert!((mean / 1e7 - 1.0).abs() < 1e-6 && (scv / 5.0 - 1.0).abs() < 1e-6, "{mean} {scv}");
    assert!((p * a / (q * b) - 1.0).abs() < 1e-6, "each phase brings half the load");
}

#[test]
fn erlang() {
    let dist = Dist::Erlang { k: 3, mean: 3 * MS };
    let cdf = |x: f64| {
        let t = x / 1e6;
        1.0 - (-t).exp() * (1.0 + t + t * t / 2.0)
    };
    assert!(ks_distance(&dist, cdf) < 1.95);
}

#[test]
fn lognormal() {
    let dist = Dist::LogNormal { median: 10 * MS, sigma: 0.5 };
    let cdf = |x: f64| (1.0 + error_function((x / 1e7).ln() / 0.5 / 2.0_f64.sqrt())) / 2.0;
    assert!(ks_distance(&dist, cdf) < 1.95);
    assert!((dist.mean_ns() - 1e7 * 0.125_f64.exp()).abs() < 1.0);
}

#[test]
fn choice() {
    let dist = Dist::choice(vec![MS, 2 * MS, 5 * MS], &[1.0, 2.0, 1.0]).expect("valid");
    let samples = draw(&dist, 40_000);
    for (value, expected) in [(MS, 10_000), (2 * MS, 20_000), (5 * MS, 10_000)] {
        let n = samples.iter().filter(|&&x| x == value).count();
        assert!(n.abs_diff(expected) < 400, "{value}: {n}");
    }
    assert_eq!(dist.mean_ns(), 2.5e6);
}

#[test]
fn constants_draw_nothing() {
    let mut used = stream(1, 0, 0, Purpose::Run);
    let mut fresh = used.clone();
    assert_eq!(Dist::Constant(0).sample_ns(&mut used), 0);
    assert_eq!(used.next_u64(), fresh.next_u64());
}

#[test]
fn extremes_stay_in_range() {
    for dist in [
        Dist::Exp(1),
        Dist::Exp(MAX_NS),
        Dist::Pareto { shape: 0.01, scale: MAX_NS },
        Dist::LogNormal { median: MAX_NS, sigma: 100.0 },
        Dist::Uniform { lo: 0, hi: MAX_NS },
        Dist::Uniform { lo: 0, hi: 1 },
        Dist::Erlang { k: 1000, mean: MAX_NS },
    ] {
        assert_eq!(dist.check(), Ok(()));
        assert!(draw(&dist, 1000).iter().all(|x| (1..=MAX_NS).contains(x)), "{dist:?}");
    }
}

/// Expected values from a second implementation in another language, with the platform's logarithms.
#[test]
fn values_are_pinned() {
    let pinned: [(Dist, [u64; 8]); 8] = [
        (Dist::Exp(10 * MS), [18016179, 10965152, 10565967, 17315307, 47918297, 2732139, 49344743, 28293982]),
        (
            Dist::Uniform { lo: MS, hi: 3 * MS },
            [1330063, 1668066, 1695274, 1354026, 1016594, 2521860, 1014388, 1118096],
        ),
        (
            Dist::Pareto { shape: 1.5, scale: MS },
            [3323700, 2077178, 2022628, 3171973, 24399267, 1199785, 26833458, 6594695],
        ),
        (
            Dist::BoundedPareto { shape: 1.1, lo: MS, hi: 1000 * MS },
            [1178067, 1446766, 1474146, 1193639, 1007599, 3667312, 1006582, 1056860],
        ),
        (
            Dist::Hyper { upto: vec![0.75, 1.0], means: vec![MS, 9 * MS] },
            [1096515, 1731531, 273214, 2829398, 826464, 14713577, 1911400, 2711001],
        ),
        (
            Dist::Erlang { k: 3, mean: 3 * MS },
            [3954730, 6796574, 8233147, 2716291, 4247448, 6807913, 1265439, 918756],
        ),
        (
            Dist::LogNormal { median: 10 * MS, sigma: 0.5 },
            [6144712, 8070241, 8221322, 6291386, 3018620, 14256797, 2941375, 4577619],
        ),
        (
            Dist::Choice { values: vec![MS, 2 * MS, 5 * MS], upto: vec![0.25, 0.75, 1.0] },
            [1000000, 2000000, 2000000, 1000000, 1000000, 5000000, 1000000, 1000000],
        ),
    ];
    for (dist, expected) in pinned {
        assert_eq!(draw(&dist, 8), expected, "{dist:?}");
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let refused = [
        (Dist::Exp(0).check(), "mean is 0"),
        (Dist::Exp(MAX_NS + 1).check(), "36 years"),
        (Dist::Uniform { lo: 5, hi: 5 }.check(), "not less than"),
        (Dist::Pareto { shape: 0.0, scale: 1 }.check(), "shape is 0"),
        (Dist::Pareto { shape: f64::NAN, scale: 1 }.check(), "shape is NaN"),
        (Dist::BoundedPareto { shape: 1.0, lo: 9, hi: 3 }.check(), "not less than"),
        (Dist::Erlang { k: 0, mean: 1 }.check(), "k is 0"),
        (Dist::LogNormal { median: 1, sigma: 1e3 }.check(), "sigma"),
        (Dist::Choice { values: vec![1], upto: vec![0.5] }.check(), "exactly 1"),
        (Dist::hyper(&[0.5, 0.6], vec![1, 2]).map(drop), "sum to 1.1"),
        (Dist::hyper(&[0.5, 0.5], vec![1]).map(drop), "as many"),
        (Dist::hyper2(MS, 0.5).map(drop), "scv"),
        (Dist::choice(vec![1, 2], &[1.0, -1.0]).map(drop), "more than 0"),
        (Dist::choice(vec![], &[]).map(drop), "at least one"),
        (Dist::choice(vec![0], &[1.0]).map(drop), "value is 0"),
    ];
    for (result, part) in refused {
        let message = result.expect_err(part);
        assert!(message.contains(part), "{message}");
    }
}

/// Against known values, and of the bounded Pareto distribution against a sum over parts of its density.
#[test]
fn second_moments() {
    let of = |dist: &Dist, exact: f64| {
        let got = dist.second_moment_ns2();
        assert!((got / exact - 1.0).abs() < 1e-4, "{dist:?}: {got} is not {exact}");
    };
    of(&Dist::Constant(3), 9.0);
    of(&Dist::Exp(MS), 2e12);
    of(&Dist::Uniform { lo: 1, hi: 3 }, (1.0 + 4.0 + 9.0) / 3.0);
    of(&Dist::Choice { values: vec![1, 10], upto: vec![0.75, 1.0] }, 0.75 + 25.0);
    of(&Dist::hyper2(MS, 4.0).expect("scv above 1"), 5e12);
    of(&Dist::Erlang { k: 4, mean: MS }, 1.25e12);
    of(&Dist::LogNormal { median: MS, sigma: 0.5 }, 1e12 * (2.0_f64 * 0.25).exp());
    of(&Dist::Pareto { shape: 3.0, scale: MS }, 3e12);
    assert_eq!(Dist::Pareto { shape: 2.0, scale: MS }.second_moment_ns2(), f64::INFINITY);
    let parts = 100_000;
    for shape in [1.1_f64, 2.0, 3.5] {
        let (lo, hi) = (1e6_f64, 1e8_f64);
        let width = (hi / lo).ln() / f64::from(parts);
        let part = |i: u32| {
            let x = lo * (width * (f64::from(i) + 0.5)).exp();
            let density = shape * (lo / x).powf(shape) / x / (1.0 - (lo / hi).powf(shape));
            x * x * density * x * width
        };
        of(&Dist::BoundedPareto { shape, lo: MS, hi: 100 * MS }, (0..parts).map(part).sum());
    }
}
