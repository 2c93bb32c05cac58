//! The fluid limit of PBS (Feng and Misra, "PBS: A Unified Priority-Based CPU Scheduler"): quanta of no
//! length.
//!
//! A task that arrived at a has T = t - a and attained service S; whoever has the greatest T / S^alpha runs.
//! In the limit those that are scheduled have equal priorities, so S is proportional to T^(1/alpha) among
//! them; whoever has more than that waits. Over a step of any length the service is therefore water-filling
//! of levels: S becomes max(S, P T^(1/alpha)) with the P that uses up the step. Arrivals are exact; only a
//! task that stops being scheduled within a step (alpha < 1) is a little late in doing so, by an error of
//! second order.

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
    service: Vec<f64>,
    ends: Vec<Option<f64>>,
}

impl PbsFluid {
    /// At time 0. `alpha` is from 0 (first come, first served) to infinity (least attained service); `step`
    /// is the longest step in seconds, 0.0005 for six digits.
    pub fn new(jobs: &[Job], alpha: f64, step: f64) -> Self {
        let n = jobs.len();
        Self { alpha, step, now: 0.0, jobs: jobs.to_vec(), service: vec![0.0; n], ends: vec![None; n] }
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

    /// One step, cut short where the first job ends.
    fn step_to(&mut self, time: f64, present: &[usize]) {
        let over = |service: &[f64]| present.iter().any(|&i| service[i] >= self.jobs[i].demand);
        let mut end = time;
        let mut service = self.filled(time, present);
        if over(&service) {
            let (mut low, mut high) = (self.now, time);
            while high - low > f64::EPSILON * high {
                let middle = low + (high - low) / 2.0;
                if middle <= low || middle >= high {
                    break;
                }
                if over(&self.filled(middle, present)) { high = middle } else { low = middle }
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
        let width = |i: usize| libm::pow(age(i) / oldest, self.alpha.recip());
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
