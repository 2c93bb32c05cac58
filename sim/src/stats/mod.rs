//! placeholder
use crate::report::Quantiles;
#[derive(Debug)]
pub struct Sampler(Vec<u64>);
impl Sampler {
    pub fn new() -> Self {
        Sampler(vec![])
    }
    pub fn record(&mut self, x: u64) {
        self.0.push(x)
    }
    pub fn finish(&self) -> Quantiles {
        let mut v = self.0.clone();
        v.sort();
        let n = v.len();
        if n == 0 {
            return Quantiles::default();
        }
        let q = |p: f64| Some(v[((n as f64 * p).ceil() as usize).clamp(1, n) - 1] as f64);
        Quantiles {
            count: n as u64,
            mean: Some(v.iter().sum::<u64>() as f64 / n as f64),
            ci95: None,
            p50: q(0.5),
            p90: q(0.9),
            p99: q(0.99),
            max: q(1.0),
        }
    }
}
pub fn jain(x: impl Iterator<Item = f64>) -> f64 {
    let (mut s, mut q, mut n) = (0., 0., 0.);
    for v in x {
        s += v;
        q += v * v;
        n += 1.;
    }
    if n == 0. { 1. } else { s * s / (n * q) }
}
