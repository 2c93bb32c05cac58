//! Group Ratio Round-Robin by its paper's pseudo-code (Caprita et al., USENIX 2005, sections 2.2 and 3.1).
//!
//! Where the paper leaves a choice, the one that reproduces its Figures 1 to 3: all deficits and all group
//! works start at 0, each ring's cursor before its first member, and groups of equal weight are in ascending
//! order of their orders.

use num_traits::{One, Zero};

use super::Schedule;
use crate::oracle::{Rational, fraction, whole};

/// The state of the uniprocessor scheduler.
#[derive(Clone, Debug)]
pub struct Gr3 {
    weights: Vec<u64>,
    /// D_C, in quanta.
    deficit: Vec<Rational>,
    /// Greatest group weight first.
    groups: Vec<Group>,
    /// The current group, i.
    current: usize,
}

#[derive(Clone, Debug)]
struct Group {
    /// sigma: weights are 2^sigma to 2^(sigma+1) - 1.
    order: u32,
    /// Phi_G.
    weight: u64,
    /// W_G.
    work: u64,
    members: Vec<usize>,
    /// k, the member that was chosen last.
    cursor: usize,
}

impl Gr3 {
    /// Clients with these weights, in groups whose members are in the order of `ring`, which names each
    /// client once.
    ///
    /// # Panics
    /// If a weight is 0.
    pub fn new(weights: &[u64], ring: &[usize]) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for &client in ring {
            let order = weights[client].ilog2();
            let index = groups.iter().position(|group| group.order == order).unwrap_or_else(|| {
                groups.push(Group { order, weight: 0, work: 0, members: Vec::new(), cursor: 0 });
                groups.len() - 1
            });
            groups[index].weight += weights[client];
            groups[index].members.push(client);
        }
        groups.sort_by_key(|group| (std::cmp::Reverse(group.weight), group.order));
        groups.iter_mut().for_each(|group| group.cursor = group.members.len() - 1);
        Self { weights: weights.to_vec(), deficit: vec![Rational::zero(); weights.len()], groups, current: 0 }
    }

    /// INTERGROUP-SCHEDULE: the client of the next quantum.
    pub fn next_client(&mut self) -> usize {
        let i = self.current;
        let client = self.intragroup(i);
        self.groups[i].work += 1;
        let steps_on = self.groups.get(i + 1).is_some_and(|next| {
            let group = &self.groups[i];
            fraction(group.work + 1, next.work + 1) > fraction(group.weight, next.weight)
        });
        self.current = if steps_on { i + 1 } else { 0 };
        client
    }

    /// INTRAGROUP-SCHEDULE.
    fn intragroup(&mut self, i: usize) -> usize {
        let group = &mut self.groups[i];
        let mut client = group.members[group.cursor];
        if self.deficit[client] < Rational::one() {
            group.cursor = (group.cursor + 1) % group.members.len();
            client = group.members[group.cursor];
            self.deficit[client] += fraction(self.weights[client], 1_u64 << group.order);
        }
        self.deficit[client] -= Rational::one();
        client
    }
}

/// One CPU: the clients of the first `quanta` quanta.
pub fn uniprocessor(weights: &[u64], ring: &[usize], quanta: usize) -> Vec<usize> {
    let mut gr3 = Gr3::new(weights, ring);
    (0..quanta).map(|_| gr3.next_client()).collect()
}

/// A schedule of GR3MP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multiprocessor {
    /// The tasks that ran.
    pub schedule: Schedule,
    /// Which of those quanta came from a frontlog.
    pub from_frontlog: Vec<Vec<bool>>,
    /// Most decisions of the central queue that a single choice took.
    pub most_decisions: u32,
    /// Greatest frontlog that any client had, in quanta.
    pub greatest_frontlog: u32,
}

/// MP-SCHEDULE on `cpus` CPUs in step.
pub fn multiprocessor(weights: &[u64], ring: &[usize], cpus: usize, quanta: usize) -> Multiprocessor {
    let mut result = Multiprocessor {
        schedule: Vec::new(),
        from_frontlog: Vec::new(),
        most_decisions: 0,
        greatest_frontlog: 0,
    };
    if weights.len() <= cpus {
        let own = (0..cpus).map(|cpu| ring.get(cpu).copied()).collect();
        result.schedule = vec![own; quanta];
        result.from_frontlog = vec![vec![false; cpus]; quanta];
        return result;
    }
    let mut gr3 = Gr3::new(weights, ring);
    let mut running: Vec<Option<usize>> = vec![None; cpus];
    let mut frontlog = vec![0_u32; weights.len()];
    for _ in 0..quanta {
        let mut from_frontlog = vec![false; cpus];
        for cpu in 0..cpus {
            if let Some(client) = running[cpu].filter(|&client| frontlog[client] > 0) {
                frontlog[client] -= 1;
                from_frontlog[cpu] = true;
                continue;
            }
            running[cpu] = None;
            let mut decisions = 1;
            let mut client = gr3.next_client();
            while running.contains(&Some(client)) {
                frontlog[client] += 1;
                result.greatest_frontlog = result.greatest_frontlog.max(frontlog[client]);
                decisions += 1;
                client = gr3.next_client();
            }
            running[cpu] = Some(client);
            result.most_decisions = result.most_decisions.max(decisions);
        }
        result.schedule.push(running.clone());
        result.from_frontlog.push(from_frontlog);
    }
    result
}

/// Bounds of Theorem 1 on a client's service error: above -(g-1)(g-2)/2 phi/Phi - 4 and below g + 3.
pub fn error_bounds(weights: &[u64], client: usize) -> (Rational, Rational) {
    let orders: std::collections::BTreeSet<u32> = weights.iter().map(|weight| weight.ilog2()).collect();
    let g = orders.len() as u64;
    let share = fraction(weights[client], weights.iter().sum::<u64>());
    let pairs = fraction((g - 1) * g.saturating_sub(2), 2);
    (-(pairs * share) - whole(4), whole(g + 3))
}

#[cfg(test)]
mod tests {
    use super::super::service_error;
    use super::*;

    fn in_order(n: usize) -> Vec<usize> {
        (0..n).collect()
    }

    fn one_cpu(weights: &[u64], quanta: usize) -> Vec<usize> {
        uniprocessor(weights, &in_order(weights.len()), quanta)
    }

    /// The paper's worked example (Figure 1), and the period after it.
    #[test]
    fn figure_1() {
        let period = [0, 0, 1, 0, 0, 0, 1, 2];
        assert_eq!(one_cpu(&[5, 2, 1], 16), [period, period].concat());
    }

    #[test]
    fn figure_2() {
        let expected = [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 1, 0, 1, 0, 2, 0, 2, 0, 3, 0, 4, 0, 5, 0];
        assert_eq!(one_cpu(&[12, 3, 3, 2, 2, 2], 24), expected);
    }

    /// Three clients on two CPUs; the second of them is before the first in their group's ring.
    #[test]
    fn figure_3() {
        let (weights, ring) = ([3, 2, 1], [1, 0, 2]);
        assert_eq!(uniprocessor(&weights, &ring, 6), [1, 0, 1, 0, 0, 2]);
        let mp = multiprocessor(&weights, &ring, 2, 6);
        let period = [[1, 0], [1, 0], [2, 0]].map(|quantum| quantum.map(Some).to_vec());
        assert_eq!(mp.schedule, [period.clone(), period].concat());
        let frontlog: Vec<bool> = mp.from_frontlog.concat();
        let expected = [[false, false], [false, false], [false, true]].concat();
        assert_eq!(frontlog, [expected.clone(), expected].concat());
        assert_eq!((mp.greatest_frontlog, mp.most_decisions), (1, 2));
    }

    #[test]
    fn everyone_has_a_cpu() {
        let mp = multiprocessor(&[9, 1], &[0, 1], 3, 2);
        assert_eq!(mp.schedule, vec![vec![Some(0), Some(1), None]; 2]);
    }

    /// Equal weights are plain round-robin if they are a power of two; otherwise what is left over makes for
    /// second turns.
    #[test]
    fn round_robin() {
        assert_eq!(one_cpu(&[4, 4, 4], 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(one_cpu(&[7, 7, 7], 9), [0, 1, 2, 0, 0, 1, 1, 2, 2]);
    }

    fn errors(weights: &[u64]) -> (f64, f64) {
        use num_traits::ToPrimitive as _;
        let total: u64 = weights.iter().sum();
        let schedule: Schedule =
            one_cpu(weights, total as usize).into_iter().map(|c| vec![Some(c)]).collect();
        for (client, &weight) in weights.iter().enumerate() {
            let quanta = schedule.iter().filter(|quantum| quantum[0] == Some(client)).count();
            assert_eq!(quanta as u64, weight, "the schedule closes after all weights' worth of quanta");
        }
        let (least, greatest) = service_error(&schedule, weights);
        for client in 0..weights.len() {
            let (low, high) = error_bounds(weights, client);
            assert!(low < least && greatest < high, "Theorem 1");
        }
        (least.to_f64().unwrap_or(f64::NAN), greatest.to_f64().unwrap_or(f64::NAN))
    }

    /// Extremes found by an independent search over 400 000 sets of weights.
    #[test]
    fn extreme_sets() {
        let (_, greatest) = errors(&[502, 4, 33, 1, 73, 4, 2, 21, 13, 1]);
        assert!((greatest - 5.37).abs() < 0.005, "{greatest}");
        let (least, _) = errors(&[20, 11, 1, 5, 34, 3, 471, 11, 6, 6, 1, 3]);
        assert!((least + 3.62).abs() < 0.005, "{least}");
        let heavy: Vec<u64> = std::iter::once(16).chain([1; 16]).collect();
        let (least, greatest) = errors(&heavy);
        assert!((least + 0.94).abs() < 0.005 && (greatest - 0.97).abs() < 0.005, "{least} {greatest}");
    }

    /// On several CPUs nobody runs twice at once, every quantum is used, and over whole periods all get their
    /// weight.
    #[test]
    fn several_cpus() {
        let weights = [9, 7, 5, 5, 3, 2, 2, 1, 1, 1];
        let total: u64 = weights.iter().sum();
        for cpus in 2..=4 {
            // Readjustment has nothing to do here.
            assert!(weights[0] * cpus as u64 <= total);
            let mp = multiprocessor(&weights, &in_order(10), cpus, 3 * total as usize);
            for quantum in &mp.schedule {
                let distinct: std::collections::BTreeSet<_> = quantum.iter().flatten().collect();
                assert_eq!(distinct.len(), cpus);
            }
            let (least, greatest) = service_error(&mp.schedule, &weights);
            assert!(least > whole(-5) && greatest < whole(7), "{cpus}: {least} {greatest}");
            assert!(mp.most_decisions <= 1 + 2 * cpus as u32);
        }
    }
}
