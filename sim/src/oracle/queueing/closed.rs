//! Closed systems: N users who think, submit a job, wait for its end, and think again.

/// N users and m CPUs under PS (or any blind policy, if sizes are exponential); only the means of think time
/// and size matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closed {
    /// Number of users, N.
    pub users: u32,
    /// Mean think time, Z; more than 0.
    pub think: f64,
    /// Mean job size, `E[S]`.
    pub size: f64,
    /// Number of CPUs, m.
    pub cpus: u32,
}

/// The long-run behaviour of a closed system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Jobs per unit of time.
    pub throughput: f64,
    /// Mean response.
    pub response: f64,
}

impl Closed {
    /// Machine repair: k jobs are present with probability proportional to
    /// prod_{j=1..k} (N-j+1) `E[S]` / (Z min(j,m)); X = sum p(k) min(k,m) / `E[S]`; R = N/X - Z.
    pub fn steady(&self) -> Steady {
        let at_work = |k: u32| f64::from(k.min(self.cpus));
        let (mut p, mut total, mut busy) = (1.0, 1.0, 0.0);
        for k in 1..=self.users {
            p *= f64::from(self.users - k + 1) * self.size / (self.think * at_work(k));
            total += p;
            busy += p * at_work(k);
            // Only ratios count, so scale down before anything overflows.
            if p > 1e200 {
                (p, total, busy) = (p * 1e-200, total * 1e-200, busy * 1e-200);
            }
        }
        let throughput = busy / total / self.size;
        Steady { throughput, response: f64::from(self.users) / throughput - self.think }
    }

    /// Bounds on any policy: X <= min(m / `E[S]`, N / (`E[S]` + Z)) and R >= max(`E[S]`, N `E[S]` / m - Z).
    pub fn bounds(&self) -> Steady {
        let (n, m) = (f64::from(self.users), f64::from(self.cpus));
        Steady {
            throughput: (m / self.size).min(n / (self.size + self.think)),
            response: self.size.max(n * self.size / m - self.think),
        }
    }
}

/// One CPU by mean value analysis (Reiser and Lavenberg, 1980), which goes from n-1 users to n:
/// R(n) = S (1 + Q(n-1)), X = n / (Z + R), Q = X R.
pub fn mean_value_analysis(users: u32, think: f64, size: f64) -> Steady {
    let none = Steady { throughput: 0.0, response: size };
    let next = |(queue, _): (f64, Steady), n: u32| {
        let response = size * (1.0 + queue);
        let throughput = f64::from(n) / (think + response);
        (throughput * response, Steady { throughput, response })
    };
    (1..=users).fold((0.0, none), next).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ways that share nothing but the answer; the values were also found by simulation.
    #[test]
    fn known_values() {
        for (users, response) in [(10, 3.018_700), (20, 11.012_347)] {
            let closed = Closed { users, think: 9.0, size: 1.0, cpus: 1 };
            let mva = mean_value_analysis(users, 9.0, 1.0);
            assert!((closed.steady().response - response).abs() < 1e-6, "{:?}", closed.steady());
            assert!((mva.response - response).abs() < 1e-6, "{mva:?}");
            assert!((mva.throughput - closed.steady().throughput).abs() < 1e-12);
        }
    }

    /// With as many CPUs as users nobody waits.
    #[test]
    fn plenty_of_cpus() {
        let steady = Closed { users: 8, think: 5.0, size: 2.0, cpus: 8 }.steady();
        assert!((steady.response - 2.0).abs() < 1e-12 && (steady.throughput - 8.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn bounds_hold_and_are_met_in_the_limits() {
        for users in [1, 3, 10, 40, 5000] {
            for cpus in [1, 2, 4] {
                let closed = Closed { users, think: 9.0, size: 1.5, cpus };
                let (steady, bounds) = (closed.steady(), closed.bounds());
                assert!(steady.throughput <= bounds.throughput * (1.0 + 1e-12), "{closed:?}");
                assert!(steady.response >= bounds.response * (1.0 - 1e-9), "{closed:?}");
                if users == 1 || users == 5000 {
                    assert!((steady.response / bounds.response - 1.0).abs() < 1e-6, "{closed:?}");
                }
            }
        }
    }
}
