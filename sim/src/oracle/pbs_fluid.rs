//! The fluid limit of PBS (Feng and Misra, "PBS: A Unified Priority-Based CPU Scheduler"): quanta of no
//! length.
//!
//! A task that arrived at a has T = t - a and attained service S; whoever has the greatest T / S^alpha runs.
//! In the limit those that are scheduled have equal priorities, so S is proportional to T^(1/alpha) among
//! them; whoever has more than that waits. Over a step of any length the service is therefore water-filling
//! of levels: S becomes max(S, P T^(1/alpha)) with the P that uses up the step. Arrivals are exact. A task whose
//! share (Eq. 10) becomes 0 within a step drops out (alpha < 1): there the step is cut short.
//!
//! A weight kappa is an offset of alpha log kappa (Eq. 6), so S counts as S / kappa, and in Eqs. 7 to 10 each
//! T^(1/alpha) becomes kappa T^(1/alpha).

/// A task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// When it arrives, in seconds.
    pub arrival: f64,
    /// CPU time that it needs, in seconds.
    pub demand: f64,
}

/// PBS on one CPU, as time goes on.
#[derive(Clone, Debug)]
pub struct PbsFluid {
    alpha: f64,
    step: f64,
    now: f64,
    jobs: Vec<Job>,
    kappas: Vec<f64>,
    service: Vec<f64>,
    ends: Vec<Option<f64>>,
}

impl PbsFluid {
    /// At time 0. `alpha` is from 0 (first come, first served) to infinity (least attained service); `step`
    /// is the longest step in seconds, 0.0005 for six digits.
    pub fn new(jobs: &[Job], alpha: f64, step: f64) -> Self {
        Self::weighted(jobs, &vec![1.0; jobs.len()], alpha, step)
    }

    /// With weights, as multiples of the ordinary one.
    pub fn weighted(jobs: &[Job], kappas: &[f64], alpha: f64, step: f64) -> Self {
        let (n, jobs, kappas) = (jobs.len(), jobs.to_vec(), kappas.to_vec());
        Self { alpha, step, now: 0.0, jobs, kappas, service: vec![0.0; n], ends: vec![None; n] }
    }

    /// The part of the CPU that each job has from now on, by Eq. 10. For a positive finite alpha, and not at the instant
    /// of an arrival, where T = 0.
    pub fn shares(&self) -> Vec<f64> {
        let scheduled = self.scheduled();
        let mut shares = vec![0.0; self.jobs.len()];
        for &i in &scheduled {
            shares[i] = self.share(i, &scheduled);
        }
        shares
    }

    /// Those with the greatest priority, T / (S / kappa)^alpha; of them, those whose share is positive.
    fn scheduled(&self) -> Vec<usize> {
        let level = |i: usize| self.service[i] / self.kappas[i] / libm::pow(self.age(i), self.alpha.recip());
        let present: Vec<usize> = (0..self.jobs.len()).filter(|&i| self.is_present(i)).collect();
        let least = present.iter().map(|&i| level(i)).fold(f64::INFINITY, f64::min);
        let mut scheduled: Vec<usize> =
            present.into_iter().filter(|&i| level(i) <= least * (1.0 + 1e-9)).collect();
        // A task that would have a negative share is out: the oldest first, as its share is the least (property 9).
        scheduled.sort_by(|&a, &b| self.jobs[b].arrival.total_cmp(&self.jobs[a].arrival));
        while scheduled.last().is_some_and(|&oldest| self.share(oldest, &scheduled) < 0.0) {
            scheduled.pop();
        }
        scheduled
    }

    /// Eq. 10: S'_k = S_k [1 / sum S + 1/alpha (1 / T_k - sum T^(1/alpha - 1) / sum T^(1/alpha))].
    fn share(&self, k: usize, scheduled: &[usize]) -> f64 {
        let power = self.alpha.recip();
        let oldest = scheduled.iter().map(|&i| self.age(i)).fold(0.0, f64::max);
        let width = |i: usize| self.kappas[i] * libm::pow(self.age(i) / oldest, power);
        let sum_s: f64 = scheduled.iter().map(|&i| self.service[i]).sum();
        let widths: f64 = scheduled.iter().map(|&i| width(i)).sum();
        let slopes: f64 = scheduled.iter().map(|&i| width(i) / self.age(i)).sum();
        self.service[k] * (1.0 / sum_s + power * (1.0 / self.age(k) - slopes / widths))
    }

    fn age(&self, i: usize) -> f64 {
        self.now - self.jobs[i].arrival
    }

    /// Attained service of each job, in seconds.
    pub fn service(&self) -> &[f64] {
        &self.service
    }

    /// When each job ended, if it has.
    pub fn ends(&self) -> &[Option<f64>] {
        &self.ends
    }

    /// Lets time pass.
    pub fn advance_to(&mut self, time: f64) {
        while self.now < time {
            let next = self.jobs.iter().map(|job| job.arrival).filter(|&a| a > self.now).fold(time, f64::min);
            let present: Vec<usize> = (0..self.jobs.len()).filter(|&i| self.is_present(i)).collect();
            if present.is_empty() {
                self.now = next;
            } else {
                self.step_to(next.min(self.now + self.step), &present);
            }
        }
    }

    fn is_present(&self, i: usize) -> bool {
        self.jobs[i].arrival <= self.now && self.ends[i].is_none()
    }

    /// One step, cut short where the first job ends or drops out.
    fn step_to(&mut self, time: f64, present: &[usize]) {
        let drops = self.may_drop_out(time);
        let over = |fluid: &Self, service: &[f64], at: f64| {
            present.iter().any(|&i| service[i] >= fluid.jobs[i].demand)
                || drops.as_ref().is_some_and(|scheduled| fluid.has_dropped_out(service, at, scheduled))
        };
        let mut end = time;
        let mut service = self.filled(time, present);
        if over(self, &service, time) {
            let (mut low, mut high) = (self.now, time);
            while high - low > f64::EPSILON * high {
                let middle = low + (high - low) / 2.0;
                if middle <= low || middle >= high {
                    break;
                }
                if over(self, &self.filled(middle, present), middle) { high = middle } else { low = middle }
            }
            end = high;
            service = self.filled(high, present);
        }
        self.service = service;
        self.now = end;
        for &i in present {
            if self.service[i] >= self.jobs[i].demand {
                self.service[i] = self.jobs[i].demand;
                self.ends[i] = Some(end);
            }
        }
    }

    /// The scheduled jobs, if one of them would have a negative share at `time`. Not if T is 0 for any.
    fn may_drop_out(&self, time: f64) -> Option<Vec<usize>> {
        if !(self.alpha > 0.0 && self.alpha < 1.0)
            || (0..self.jobs.len()).any(|i| self.is_present(i) && self.age(i) <= 0.0)
        {
            return None;
        }
        let scheduled = self.scheduled();
        let service = self.filled(time, &scheduled);
        self.has_dropped_out(&service, time, &scheduled).then_some(scheduled)
    }

    /// Whether Eq. 10 is negative for one of those that were scheduled, at `time` with that service.
    fn has_dropped_out(&self, service: &[f64], time: f64, scheduled: &[usize]) -> bool {
        let then = Self { now: time, service: service.to_vec(), ..self.clone() };
        scheduled.iter().any(|&i| then.share(i, scheduled) < 0.0)
    }

    /// Attained service at `time` if nobody ends or arrives before: levels are filled up to P T^(1/alpha).
    fn filled(&self, time: f64, present: &[usize]) -> Vec<f64> {
        let mut service = self.service.clone();
        let given = time - self.now;
        if self.alpha == 0.0 {
            let first = present
                .iter()
                .copied()
                .min_by(|&a, &b| self.jobs[a].arrival.total_cmp(&self.jobs[b].arrival));
            first.into_iter().for_each(|i| service[i] += given);
            return service;
        }
        // T^(1/alpha) over the greatest, as T^100 by itself may not fit.
        let age = |i: usize| time - self.jobs[i].arrival;
        let oldest = present.iter().map(|&i| age(i)).fold(0.0, f64::max);
        let width = |i: usize| self.kappas[i] * libm::pow(age(i) / oldest, self.alpha.recip());
        // (level at which it begins to be served, width), from the lowest level up.
        // A width that underflows is that of a task whose turn is not before the end of this step.
        let wide = present.iter().map(|&i| (width(i), i)).filter(|&(width, _)| width > 0.0);
        let mut tubs: Vec<(f64, f64, usize)> =
            wide.map(|(width, i)| (service[i] / width, width, i)).collect();
        tubs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut poured, mut widths) = (given, 0.0);
        let mut level = 0.0;
        for (k, &(_, width, i)) in tubs.iter().enumerate() {
            poured += service[i];
            widths += width;
            level = poured / widths;
            // Done if the level does not reach the next one.
            if tubs.get(k + 1).is_none_or(|next| level <= next.0) {
                break;
            }
        }
        for (bottom, width, i) in tubs {
            if level > bottom {
                service[i] = level * width;
            }
        }
        service
    }
}

/// When each job ends, in seconds.
pub fn completions(jobs: &[Job], alpha: f64, step: f64) -> Vec<f64> {
    let last_arrival = jobs.iter().map(|job| job.arrival).fold(0.0, f64::max);
    let work: f64 = jobs.iter().map(|job| job.demand).sum();
    let mut fluid = PbsFluid::new(jobs, alpha, step);
    // All work is done by the last arrival plus all work; a little more, for rounding.
    fluid.advance_to((last_arrival + work) * (1.0 + 1e-9));
    fluid.ends.iter().map(|end| end.unwrap_or(f64::INFINITY)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 0.0005;

    fn four() -> [Job; 4] {
        [(0.0, 4.5), (1.0, 2.5), (3.0, 3.0), (5.0, 2.0)].map(|(arrival, demand)| Job { arrival, demand })
    }

    /// Completion times computed by an independent program, to six decimals.
    #[test]
    fn completion_times() {
        for (alpha, expected) in [
            (0.0, [4.5, 7.0, 10.0, 12.0]),
            (0.01, [4.5, 7.0, 10.0, 12.0]),
            (0.1, [4.978414, 7.045046, 10.110335, 12.0]),
            (0.4, [9.392796, 7.273593, 11.539590, 12.0]),
            (0.5, [10.549980, 7.368978, 11.790141, 12.0]),
            (0.7, [11.981300, 7.752610, 12.0, 11.790824]),
            (1.0, [12.0, 8.283882, 11.552343, 10.880678]),
            (2.0, [12.0, 9.097682, 11.016806, 9.749642]),
            (100.0, [12.0, 9.496082, 10.510100, 8.046481]),
            (f64::INFINITY, [12.0, 9.5, 10.5, 8.0]),
        ] {
            for (found, expected) in completions(&four(), alpha, STEP).into_iter().zip(expected) {
                assert!((found - expected).abs() < 2e-6, "alpha {alpha}: {found} {expected}");
            }
        }
    }

    /// At alpha = 1 with two tasks, T and S are proportional: S1 = t^2 / (2t - 1), S2 = t (t - 1) / (2t - 1).
    #[test]
    fn analytic_anchor() {
        let mut fluid = PbsFluid::new(&four(), 1.0, STEP);
        for t in [1.5, 2.0, 2.9] {
            fluid.advance_to(t);
            let expected = [t * t / (2.0 * t - 1.0), t * (t - 1.0) / (2.0 * t - 1.0)];
            assert!((fluid.service()[0] - expected[0]).abs() < 1e-9, "{t}: {:?}", fluid.service());
            assert!((fluid.service()[1] - expected[1]).abs() < 1e-9, "{t}: {:?}", fluid.service());
        }
    }

    /// Four younger tasks push the first out for a while at alpha = 0.4 (the paper's Figure 3): from 5.41 to
    /// 6.51 s.
    #[test]
    fn an_old_task_drops_out_and_returns() {
        let jobs = [0.0, 2.5, 3.0, 3.5, 4.0].map(|arrival| Job { arrival, demand: 100.0 });
        let mut fluid = PbsFluid::new(&jobs, 0.4, STEP);
        let mut at = |t: f64| {
            fluid.advance_to(t);
            fluid.service()[0]
        };
        let (before, out, still_out, back) = (at(5.38), at(5.43), at(6.49), at(6.55));
        assert!(before < out, "still served at 5.38: {before} {out}");
        assert_eq!(out, still_out);
        assert!(back > still_out);
    }

    /// Eq. 10 is the slope of what the steps attain, also while the first task is out (5.41 to 6.51 s).
    #[test]
    fn shares_are_the_slopes_of_service() {
        let jobs = [0.0, 2.5, 3.0, 3.5, 4.0].map(|arrival| Job { arrival, demand: 100.0 });
        for alpha in [0.4, 1.0, 2.0] {
            for t in [2.0, 3.2, 4.5, 5.0, 6.0, 7.0, 13.0] {
                let mut fluid = PbsFluid::new(&jobs, alpha, 1e-4);
                fluid.advance_to(t);
                let (shares, before) = (fluid.shares(), fluid.service().to_vec());
                assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
                assert_eq!(alpha == 0.4 && t == 6.0, alpha == 0.4 && t > 5.41 && shares[0] == 0.0);
                fluid.advance_to(t + 1e-4);
                for (i, share) in shares.iter().enumerate() {
                    let slope = (fluid.service()[i] - before[i]) / 1e-4;
                    assert!((slope - share).abs() < 1e-3, "alpha {alpha}, {t}: {slope} {share}");
                }
            }
        }
    }

    /// Where a task drops out is found exactly: steps of 50 ms end as steps of 0.1 ms do.
    #[test]
    fn a_drop_out_cuts_a_step_short() {
        let jobs = [0.0, 2.5, 3.0, 3.5, 4.0].map(|arrival| Job { arrival, demand: 100.0 });
        let first = |step| {
            let mut fluid = PbsFluid::new(&jobs, 0.4, step);
            fluid.advance_to(6.0);
            fluid.service()[0]
        };
        assert!((first(0.05) - first(1e-4)).abs() < 1e-7, "{} {}", first(0.05), first(1e-4));
    }

    /// Equal arrivals: services are in the ratio of the weights at all times; else they come to it.
    #[test]
    fn weights_are_ratios_of_service() {
        let jobs = [0.0, 0.0, 5.0].map(|arrival| Job { arrival, demand: 1e9 });
        for alpha in [0.5, 1.0, 3.0] {
            let mut fluid = PbsFluid::weighted(&jobs, &[3.0, 1.0, 2.0], alpha, 0.01);
            fluid.advance_to(4.0);
            assert!((fluid.service()[0] - 3.0).abs() < 1e-9);
            fluid.advance_to(400.0);
            let expected = [0.5, 1.0 / 6.0, 1.0 / 3.0];
            for (share, expected) in fluid.shares().into_iter().zip(expected) {
                assert!((share - expected).abs() < 0.005, "alpha {alpha}: {share} {expected}");
            }
        }
    }

    #[test]
    fn idle_time_and_simultaneous_arrivals() {
        let jobs = [(1.0, 1.0), (1.0, 1.0), (9.0, 1.0)].map(|(arrival, demand)| Job { arrival, demand });
        for (alpha, expected) in
            [(1.0, [3.0, 3.0, 10.0]), (0.0, [2.0, 3.0, 10.0]), (f64::INFINITY, [3.0, 3.0, 10.0])]
        {
            let found = completions(&jobs, alpha, STEP);
            assert!(
                found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-9),
                "alpha {alpha}: {found:?}"
            );
        }
    }
}
