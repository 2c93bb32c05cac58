//! One CPU, M/G/1.

use super::Size;

/// M/M/1: `E[T]` = 1 / (mu - lambda), under any work-conserving policy that does not look at sizes: FCFS, PS,
/// LAS, round-robin with any quantum, lottery...
pub fn mm1_response(lambda: f64, mu: f64) -> f64 {
    1.0 / (mu - lambda)
}

/// FCFS: `E[W]` = lambda E[S^2] / (2 (1 - rho)), the wait before a job starts (Pollaczek and Khinchine).
/// Under any work-conserving policy it is also the mean unfinished work.
pub fn fcfs_wait(lambda: f64, size: &Size) -> f64 {
    lambda * size.second_moment() / (2.0 * (1.0 - lambda * size.mean()))
}

/// FCFS: `E[T]` = `E[W]` + `E[S]`.
pub fn fcfs_response(lambda: f64, size: &Size) -> f64 {
    fcfs_wait(lambda, size) + size.mean()
}

/// PS: E[T(x)] = x / (1 - rho) of a job of size x; of `E[S]` it is the mean over all jobs (Sakata et al.,
/// 1971).
pub fn ps_response_of(lambda: f64, size: &Size, x: f64) -> f64 {
    x / (1.0 - lambda * size.mean())
}

/// PS: `E[T]` = `E[S]` / (1 - rho), whatever the distribution. LCFS with preemption has the same mean.
pub fn ps_response(lambda: f64, size: &Size) -> f64 {
    ps_response_of(lambda, size, size.mean())
}

/// LAS: E[T(x)] = x / (1 - rho_x) + lambda E[min(S,x)^2] / (2 (1 - rho_x)^2) with rho_x = lambda E[min(S,x)]
/// (Schrage, 1967).
pub fn las_response_of(lambda: f64, size: &Size, x: f64) -> f64 {
    let idle = 1.0 - lambda * (size.partial_mean(x) + x * size.tail(x));
    let second = size.partial_second_moment(x) + x * x * size.tail(x);
    x / idle + lambda * second / (2.0 * idle * idle)
}

/// LAS: the mean over all jobs.
pub fn las_response(lambda: f64, size: &Size) -> f64 {
    las_response_among(lambda, size, size)
}

/// LAS: the mean over the jobs of one class, whose sizes are `own`, among all jobs.
pub fn las_response_among(lambda: f64, all: &Size, own: &Size) -> f64 {
    average(own, |_| 0.0, |x, _| las_response_of(lambda, all, x))
        .unwrap_or_else(|d| las_response_of(lambda, all, d))
}

/// SRPT: E[T(x)] = lambda (int_0^x t^2 dF + x^2 (1 - F(x))) / (2 (1 - rho(x))^2) + int_0^x dt / (1 - rho(t))
/// with rho(x) = lambda int_0^x t dF (Schrage and Miller, 1966); the mean over all jobs. Jobs of one size are
/// FCFS.
pub fn srpt_response(lambda: f64, size: &Size) -> f64 {
    srpt_response_among(lambda, size, size)
}

/// SRPT: the mean over the jobs of one class, whose sizes are `own`, among all jobs.
pub fn srpt_response_among(lambda: f64, all: &Size, own: &Size) -> f64 {
    let idle = |x: f64| 1.0 - lambda * all.partial_mean(x);
    let response = |x: f64, residence: f64| {
        let second = all.partial_second_moment(x) + x * x * all.tail(x);
        lambda * second / (2.0 * idle(x) * idle(x)) + residence
    };
    average(own, |x| 1.0 / idle(x), response).unwrap_or_else(|_| fcfs_response(lambda, all))
}

/// Preemptive shortest job first (by the whole size): E[T(x)] = x / (1 - rho(x)) + lambda int_0^x t^2 dF / (2
/// (1 - rho(x))^2); the mean over all jobs. Jobs of one size are FCFS.
pub fn psjf_response(lambda: f64, size: &Size) -> f64 {
    let response = |x: f64, _: f64| {
        let idle = 1.0 - lambda * size.partial_mean(x);
        x / idle + lambda * size.partial_second_moment(x) / (2.0 * idle * idle)
    };
    average(size, |_| 0.0, response).unwrap_or_else(|_| fcfs_response(lambda, size))
}

/// Shortest job first without preemption: E[T(x)] = x + lambda E[S^2] / (2 (1 - rho(x))^2); the mean over all
/// jobs. Jobs of one size are FCFS.
pub fn sjf_response(lambda: f64, size: &Size) -> f64 {
    sjf_response_among(lambda, size, size)
}

/// Shortest job first without preemption: the mean over the jobs of one class, whose sizes are `own`, among all jobs.
pub fn sjf_response_among(lambda: f64, all: &Size, own: &Size) -> f64 {
    let response = |x: f64, _: f64| {
        let idle = 1.0 - lambda * all.partial_mean(x);
        x + lambda * all.second_moment() / (2.0 * idle * idle)
    };
    average(own, |_| 0.0, response).unwrap_or_else(|_| fcfs_response(lambda, all))
}

/// Round-robin with quantum `q` and switch cost `c` at the start of every slice, also when a job is alone;
/// exponential sizes of mean 1 / `mu`. A job takes 1 / (1 - exp(-mu q)) slices; this is the share of time
/// that the CPU is not idle.
pub fn round_robin_utilization(lambda: f64, mu: f64, q: f64, c: f64) -> f64 {
    let slices = -1.0 / libm::expm1(-mu * q);
    lambda * (1.0 / mu + c * slices)
}

/// Integral over x of `response(x, inner integral from 0 to x)` dF(x); for a constant, its value instead.
/// Simpson's rule on panels that grow with x.
fn average(size: &Size, inner: impl Fn(f64) -> f64, response: impl Fn(f64, f64) -> f64) -> Result<f64, f64> {
    let phases = match size {
        Size::Constant(d) => return Err(*d),
        Size::Mixture(phases) => phases,
    };
    let shortest = phases.iter().map(|&(_, m)| m).fold(f64::INFINITY, f64::min);
    let longest = phases.iter().map(|&(_, m)| m).fold(0.0, f64::max);
    let simpson = |a: f64, b: f64| (b - a) / 6.0 * (inner(a) + 4.0 * inner((a + b) / 2.0) + inner(b));
    let mut sum = 0.0;
    let (mut low, mut within) = (0.0, 0.0);
    // At 45 means the tail is e^-45.
    while low < 45.0 * longest {
        let high = low + (low / 200.0).max(shortest / 500.0);
        let middle = (low + high) / 2.0;
        let within_middle = within + simpson(low, middle);
        let within_high = within_middle + simpson(middle, high);
        let f = |x: f64, within: f64| response(x, within) * size.density(x);
        sum += (high - low) / 6.0 * (f(low, within) + 4.0 * f(middle, within_middle) + f(high, within_high));
        (low, within) = (high, within_high);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAMBDA: f64 = 0.7;

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    /// Values confirmed by an independent simulation of 8 million jobs, at load 0.7.
    #[test]
    fn confirmed_values() {
        let (m, h) = (Size::exponential(1.0), Size::hyper2(1.0, 5.0));
        near(fcfs_response(LAMBDA, &h), 8.0, 1e-9);
        near(ps_response(LAMBDA, &h), 10.0 / 3.0, 1e-9);
        near(las_response(LAMBDA, &h), 2.648, 5e-4);
        near(srpt_response(LAMBDA, &m), 1.875, 5e-4);
        near(srpt_response(LAMBDA, &h), 1.794, 5e-4);
        near(fcfs_wait(LAMBDA, &Size::Constant(1.0)), 7.0 / 6.0, 1e-9);
    }

    /// Blind policies have the same mean with exponential sizes.
    #[test]
    fn exponential_sizes_hide_the_policy() {
        let m = Size::exponential(1.0);
        for response in [fcfs_response(LAMBDA, &m), ps_response(LAMBDA, &m), las_response(LAMBDA, &m)] {
            near(response, mm1_response(LAMBDA, 1.0), 1e-6);
        }
    }

    /// Kleinrock, Muntz and Hsu (1971): a blind policy cannot change int E[T(x)] (1 - F(x)) dx = E[S^2] / (2
    /// (1 - rho)).
    #[test]
    fn the_conservation_law() {
        for size in [Size::exponential(1.0), Size::hyper2(1.0, 5.0)] {
            let integral = |response: &dyn Fn(f64) -> f64| {
                let step = 0.005;
                let points = (0..60_000).map(|i| step * (f64::from(i) + 0.5));
                points.map(|x| response(x) * size.tail(x) * step).sum::<f64>()
            };
            let law = size.second_moment() / (2.0 * (1.0 - LAMBDA));
            near(integral(&|x| las_response_of(LAMBDA, &size, x)), law, 1e-3 * law);
            near(integral(&|x| ps_response_of(LAMBDA, &size, x)), law, 1e-3 * law);
            near(integral(&|x| x + fcfs_wait(LAMBDA, &size)), law, 1e-3 * law);
        }
    }

    /// Sizes with falling hazard rate: the more a policy favours short jobs the better.
    #[test]
    fn the_order_of_policies() {
        let h = Size::hyper2(1.0, 5.0);
        let order = [
            srpt_response(LAMBDA, &h),
            psjf_response(LAMBDA, &h),
            las_response(LAMBDA, &h),
            ps_response(LAMBDA, &h),
            fcfs_response(LAMBDA, &h),
        ];
        assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "{order:?}");
        assert!(sjf_response(LAMBDA, &h) < fcfs_response(LAMBDA, &h));
    }

    /// An arrival finds an empty system in the limit of no load, and every policy gives `E[S]`.
    #[test]
    fn no_load() {
        for size in [Size::exponential(2.0), Size::hyper2(2.0, 5.0), Size::Constant(2.0)] {
            for policy in
                [fcfs_response, ps_response, las_response, srpt_response, psjf_response, sjf_response]
            {
                near(policy(1e-12, &size), 2.0, 1e-6);
            }
        }
    }

    #[test]
    fn slices_with_a_cost() {
        // Quanta much longer than jobs: one switch a job. Much shorter: mean over quantum of them.
        near(round_robin_utilization(0.5, 1.0, 1e3, 0.1), 0.55, 1e-9);
        near(round_robin_utilization(0.5, 1.0, 1e-3, 1e-5), 0.5 + 0.5 * 1e-5 * 1000.5, 1e-8);
    }
}
