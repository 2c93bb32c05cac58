//! Several CPUs that share one queue.

/// Erlang B: the probability that k lines are all busy at offered load `a` when blocked calls are lost.
/// B(0) = 1, B(i) = a B(i-1) / (i + a B(i-1)).
pub fn erlang_b(cpus: u32, a: f64) -> f64 {
    (1..=cpus).fold(1.0, |b, i| a * b / (f64::from(i) + a * b))
}

/// Erlang C: the probability that an arrival at M/M/k waits. C = B / (1 - r + r B) with r = a / k.
pub fn erlang_c(cpus: u32, a: f64) -> f64 {
    let b = erlang_b(cpus, a);
    let r = a / f64::from(cpus);
    b / (1.0 - r + r * b)
}

/// M/M/k, any work-conserving policy that does not look at sizes: `E[T]` = 1/mu + C(k, lambda/mu) / (k mu -
/// lambda).
pub fn mmk_response(lambda: f64, mu: f64, cpus: u32) -> f64 {
    1.0 / mu + erlang_c(cpus, lambda / mu) / (f64::from(cpus) * mu - lambda)
}

/// M/G/k under global PS, each of n jobs at rate min(1, k/n): E[T(x)] = x `E[T]` / `E[S]`, with `E[T]` that
/// of M/M/k whatever the distribution (a symmetric queue: Kelly; Cohen, 1979). The limit of a fair scheduler
/// on k CPUs as its quantum shrinks.
pub fn mgk_ps_response_of(lambda: f64, mean: f64, cpus: u32, x: f64) -> f64 {
    x / mean * mmk_response(lambda, 1.0 / mean, cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_is_mm1() {
        assert!((mmk_response(0.7, 1.0, 1) - 1.0 / 0.3).abs() < 1e-12);
        assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
    }

    /// Two CPUs by hand: C = 2 r^2 / (1 + r), and `E[T]` = 1 / (1 - r^2). Four at load 0.7: confirmed by
    /// simulation.
    #[test]
    fn known_values() {
        let r: f64 = 0.7;
        assert!((erlang_c(2, 1.4) - 2.0 * r * r / (1.0 + r)).abs() < 1e-12);
        assert!((mmk_response(1.4, 1.0, 2) - 1.0 / (1.0 - r * r)).abs() < 1e-12);
        assert!((mgk_ps_response_of(2.8, 1.0, 4, 1.0) - 1.357).abs() < 5e-4);
        assert!((mgk_ps_response_of(0.28, 10.0, 4, 20.0) - 27.14).abs() < 0.01);
        // A printed table of Erlang B: 10 lines at 5 erlangs lose 1.84 %.
        assert!((erlang_b(10, 5.0) - 0.018_385).abs() < 1e-6);
    }
}
