//! Fluid fair sharing: GPS on one CPU, GMS on several.
//!
//! Generalised processor sharing gives each runnable task CPU time in proportion to its weight at every
//! instant (Parekh and Gallager, 1993). On P CPUs no task can use more than one; generalised multiprocessor
//! sharing gives those that would a CPU of their own and shares the rest out in the same way (Chandra et al.,
//! "Surplus Fair Scheduling", 2000, section 2.2). So rates are min(1, theta w) for the one theta at which
//! they use up the CPUs: water-filling.

use std::collections::BTreeMap;

use num_traits::{One, Zero};

use super::{Rational, fraction, whole};

/// The rate of each task, in CPUs: min(1, theta w), in all min(`cpus`, number of tasks).
///
/// # Panics
/// If a weight is not positive.
pub fn rates(weights: &[Rational], cpus: u32) -> Vec<Rational> {
    assert!(weights.iter().all(|w| *w > Rational::zero()), "weights are positive");
    let cpus = whole(cpus);
    if whole(weights.len()) <= cpus {
        return vec![Rational::one(); weights.len()];
    }
    let used =
        |theta: &Rational| -> Rational { weights.iter().map(|w| (w * theta).min(Rational::one())).sum() };
    // Used CPUs grow with theta, linearly between the values 1/w at which tasks reach a whole CPU.
    let mut bends: Vec<Rational> = weights.iter().map(|w| w.recip()).collect();
    bends.sort();
    let mut low = Rational::zero();
    let mut low_used = Rational::zero();
    for high in bends {
        let high_used = used(&high);
        if high_used >= cpus {
            let theta = &low + (&cpus - &low_used) * (&high - &low) / (high_used - &low_used);
            return weights.iter().map(|w| (w * &theta).min(Rational::one())).collect();
        }
        (low, low_used) = (high, high_used);
    }
    unreachable!("at the last bend every task uses a CPU, and there are more tasks than CPUs")
}

/// The share of one CPU that each task gets under GPS: w / sum of w.
pub fn gps_shares(weights: &[Rational]) -> Vec<Rational> {
    let total: Rational = weights.iter().sum();
    weights.iter().map(|w| w / &total).collect()
}

/// The GMS fluid as time goes on: the runnable tasks with their weights, and the entitled service of each.
#[derive(Clone, Debug)]
pub struct Fluid {
    cpus: u32,
    now: Rational,
    weights: BTreeMap<usize, Rational>,
    service: BTreeMap<usize, Rational>,
}

impl Fluid {
    /// No task is runnable, at time 0.
    pub fn new(cpus: u32) -> Self {
        Self { cpus, now: Rational::zero(), weights: BTreeMap::new(), service: BTreeMap::new() }
    }

    /// From now on this task is runnable with this weight, whatever it was before.
    ///
    /// # Panics
    /// If the weight is not positive.
    pub fn set(&mut self, task: usize, weight: Rational) {
        assert!(weight > Rational::zero(), "weights are positive");
        self.weights.insert(task, weight);
    }

    /// From now on this task is not runnable. Its service so far is kept.
    pub fn remove(&mut self, task: usize) {
        self.weights.remove(&task);
    }

    /// Lets time pass, in any unit.
    ///
    /// # Panics
    /// If time would go backwards.
    pub fn advance_to(&mut self, time: Rational) {
        assert!(time >= self.now, "time goes forwards");
        let passed = &time - &self.now;
        for (task, rate) in self.rates() {
            *self.service.entry(task).or_insert_with(Rational::zero) += rate * &passed;
        }
        self.now = time;
    }

    /// Service that the task was entitled to so far, in units of time.
    pub fn service(&self, task: usize) -> Rational {
        self.service.get(&task).cloned().unwrap_or_else(Rational::zero)
    }

    fn rates(&self) -> Vec<(usize, Rational)> {
        let weights: Vec<Rational> = self.weights.values().cloned().collect();
        self.weights.keys().copied().zip(rates(&weights, self.cpus)).collect()
    }
}

/// A task that arrives, needs so much service, and leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// When it becomes runnable.
    pub arrival: Rational,
    /// Service that it needs, more than 0.
    pub demand: Rational,
    /// Its weight, more than 0.
    pub weight: Rational,
}

/// When each job ends in the GMS fluid.
pub fn completions(jobs: &[Job], cpus: u32) -> Vec<Rational> {
    let mut fluid = Fluid::new(cpus);
    let mut arrivals: Vec<usize> = (0..jobs.len()).collect();
    arrivals.sort_by(|&a, &b| jobs[b].arrival.cmp(&jobs[a].arrival).then(b.cmp(&a)));
    let mut ends = vec![Rational::zero(); jobs.len()];
    loop {
        let next_end = fluid.rates().into_iter().map(|(job, rate)| {
            let left = &jobs[job].demand - fluid.service(job);
            (&fluid.now + left / rate, job)
        });
        let next_end = next_end.min();
        let next_arrival = arrivals.last().copied();
        match (next_end, next_arrival) {
            (None, None) => return ends,
            (Some((end, job)), next) if next.is_none_or(|next| end <= jobs[next].arrival) => {
                fluid.advance_to(end.clone());
                fluid.remove(job);
                ends[job] = end;
            }
            (_, Some(job)) => {
                fluid.advance_to(jobs[job].arrival.clone());
                fluid.set(job, jobs[job].weight.clone());
                arrivals.pop();
            }
            (Some(_), None) => unreachable!("without arrivals the next event is an end"),
        }
    }
}

/// Jobs of weight 1 from (arrival, demand) in thousandths.
pub fn plain_jobs(jobs: &[(u64, u64)]) -> Vec<Job> {
    let job = |&(arrival, demand): &(u64, u64)| Job {
        arrival: fraction(arrival, 1000),
        demand: fraction(demand, 1000),
        weight: Rational::one(),
    };
    jobs.iter().map(job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wholes(values: &[u64]) -> Vec<Rational> {
        values.iter().map(|&n| whole(n)).collect()
    }

    fn fractions(values: &[(u64, u64)]) -> Vec<Rational> {
        values.iter().map(|&(n, d)| fraction(n, d)).collect()
    }

    #[test]
    fn examples() {
        assert_eq!(rates(&wholes(&[10, 1, 1]), 2), fractions(&[(1, 1), (1, 2), (1, 2)]));
        assert_eq!(rates(&wholes(&[1, 1, 1]), 2), fractions(&[(2, 3), (2, 3), (2, 3)]));
        assert_eq!(rates(&wholes(&[5, 2, 1]), 1), fractions(&[(5, 8), (2, 8), (1, 8)]));
        assert_eq!(rates(&wholes(&[5, 2, 1]), 1), gps_shares(&wholes(&[5, 2, 1])));
        assert_eq!(rates(&wholes(&[7, 1]), 2), wholes(&[1, 1]));
        assert_eq!(rates(&wholes(&[7]), 4), wholes(&[1]));
        assert_eq!(rates(&[], 4), []);
        // Two levels: 100 takes a CPU, then 50 of 56 on three would too.
        assert_eq!(
            rates(&wholes(&[100, 50, 1, 1, 1, 1, 1, 1]), 4)[..3],
            fractions(&[(1, 1), (1, 1), (1, 3)])
        );
    }

    /// The definition, for many small cases: the CPUs are used up, nobody has more than one, and whoever has
    /// less has the same rate for its weight as every other such task, and at least that of those with a
    /// whole CPU.
    #[test]
    fn the_definition_holds() {
        for case in 0..2000_u64 {
            let n = case % 6 + 1;
            let weights: Vec<u64> =
                (0..n).map(|i| (case * 7919 + i * i * 104_729) % 13 * (i % 3 * 5 + 1) + 1).collect();
            let cpus = (case / 6 % 5 + 1) as u32;
            let weights = wholes(&weights);
            let rates = rates(&weights, cpus);
            assert_eq!(rates.iter().sum::<Rational>(), whole(n.min(cpus.into())));
            assert!(rates.iter().all(|r| *r <= Rational::one()));
            let normalised = || rates.iter().zip(&weights).map(|(r, w)| (r, r / w));
            let level = normalised().filter(|(r, _)| **r < Rational::one()).map(|(_, level)| level).max();
            for (rate, own) in normalised() {
                let fair = level.as_ref().is_none_or(|level| own == *level || rate.is_one() && own <= *level);
                assert!(fair, "{weights:?} on {cpus}: {rates:?}");
            }
        }
    }

    #[test]
    fn service_accumulates_over_changes() {
        let mut fluid = Fluid::new(2);
        fluid.set(1, whole(1));
        fluid.set(2, whole(10));
        fluid.advance_to(whole(4));
        fluid.set(3, whole(1));
        fluid.advance_to(whole(6));
        fluid.remove(2);
        fluid.set(3, whole(3));
        fluid.set(4, whole(2));
        fluid.advance_to(whole(12));
        // 4 alone, then half a CPU for 2, then weights 1, 3, 2 on two CPUs: 1/3, 1, 2/3.
        assert_eq!(fluid.service(1), whole(4 + 1 + 2));
        assert_eq!(fluid.service(2), whole(6));
        assert_eq!(fluid.service(3), whole(1 + 6));
        assert_eq!(fluid.service(4), whole(4));
        assert_eq!(fluid.service(9), whole(0));
    }

    /// Processor sharing of four tasks, worked out by hand.
    #[test]
    fn processor_sharing_completions() {
        let jobs = plain_jobs(&[(0, 4500), (1000, 2500), (3000, 3000), (5000, 2000)]);
        let expected = fractions(&[(34, 3), (25, 3), (12, 1), (35, 3)]);
        assert_eq!(completions(&jobs, 1), expected);
    }

    #[test]
    fn idle_time_between_jobs() {
        let jobs = plain_jobs(&[(10_000, 1000), (0, 1000), (10_000, 1000)]);
        assert_eq!(completions(&jobs, 1), wholes(&[12, 1, 12]));
        assert_eq!(completions(&jobs, 2), wholes(&[11, 1, 11]));
    }
}
