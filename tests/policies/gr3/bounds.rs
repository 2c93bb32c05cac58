//! The bounds that section 4 of the GR3 paper proves, in exact arithmetic: errors are multiplied by what their
//! formula divides by. Tasks always run, and their weights stay.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;

use divvy_tests::cases::config;
use divvy_tests::lockstep::Lockstep;

/// The tasks' weights, and how they are grouped: Tables 1 and 2 of the paper.
struct Weights {
    phi: Vec<i128>,
    phi_t: i128,
    /// Phi_G, in the order of the group list
    groups: Vec<i128>,
    /// The group of each task, as an index of `groups`
    group: Vec<usize>,
}

impl Weights {
    fn new(weights: &[u64]) -> Weights {
        let mut by_order: BTreeMap<u32, i128> = BTreeMap::new();
        for &w in weights {
            *by_order.entry(w.ilog2()).or_default() += i128::from(w);
        }
        let mut list: Vec<(u32, i128)> = by_order.into_iter().collect();
        list.sort_by_key(|&(order, weight)| (Reverse(weight), order));
        let place = |w: &u64| list.iter().position(|&(order, _)| order == w.ilog2()).unwrap();
        Weights {
            phi: weights.iter().map(|&w| w.into()).collect(),
            phi_t: weights.iter().map(|&w| i128::from(w)).sum(),
            groups: list.iter().map(|&(_, weight)| weight).collect(),
            group: weights.iter().map(place).collect(),
        }
    }

    fn g(&self) -> i128 {
        self.groups.len() as i128
    }

    /// (g-1)(g-2)
    fn pairs(&self) -> i128 {
        (self.g() - 1) * (self.g() - 2)
    }
}

/// The service of all tasks in one period of the schedule
struct Service<'a> {
    of: &'a Weights,
    /// W_T, w_C and W_G
    total: i128,
    client: Vec<i128>,
    group: Vec<i128>,
}

impl<'a> Service<'a> {
    fn new(of: &'a Weights) -> Service<'a> {
        Service { of, total: 0, client: vec![0; of.phi.len()], group: vec![0; of.groups.len()] }
    }

    /// A quantum of task `id`, which is 1 for the first
    fn add(&mut self, id: u32) {
        let c = id as usize - 1;
        self.total += 1;
        self.client[c] += 1;
        self.group[self.of.group[c]] += 1;
    }

    /// e_C Phi_T
    fn client_error(&self, c: usize) -> i128 {
        self.client[c] * self.of.phi_t - self.total * self.of.phi[c]
    }

    /// E_G Phi_T
    fn group_error(&self, k: usize) -> i128 {
        self.group[k] * self.of.phi_t - self.total * self.of.groups[k]
    }

    /// e_{C,G} Phi_G
    fn error_in_group(&self, c: usize) -> i128 {
        let k = self.of.group[c];
        self.client[c] * self.of.groups[k] - self.group[k] * self.of.phi[c]
    }

    /// Lemma 3, for integer ratios of group weights: -1 < E_k <= (g-k) Phi_k/Phi_T
    fn check_lemma_3(&self) {
        for (k, phi_k) in self.of.groups.iter().enumerate() {
            let (e, after) = (self.group_error(k), self.of.g() - 1 - k as i128);
            assert!(-self.of.phi_t < e && e <= after * phi_k, "group {k} at {}: {e}", self.total);
        }
    }

    /// Lemma 4: -(g-k)(g-k-1)/2 Phi_k/Phi_T - 1 < E_k < g - 1; a lone group has no error
    fn check_lemma_4(&self) {
        let (phi_t, g) = (self.of.phi_t, self.of.g());
        for (k, phi_k) in self.of.groups.iter().enumerate() {
            let (e, after) = (self.group_error(k), g - 1 - k as i128);
            assert!(2 * e > -after * (after - 1) * phi_k - 2 * phi_t, "group {k} at {}: {e}", self.total);
            assert!(e < (g - 1) * phi_t || g == 1 && e == 0, "group {k} at {}: {e}", self.total);
        }
    }

    /// Lemma 5: -3 < e_{C,G} < 4
    fn check_lemma_5(&self) {
        for c in 0..self.client.len() {
            let (e, phi_g) = (self.error_in_group(c), self.of.groups[self.of.group[c]]);
            assert!(-3 * phi_g < e && e < 4 * phi_g, "task {} at {}: {e}", c + 1, self.total);
        }
    }

    /// -(g-1)(g-2)/2 phi_C/Phi_T - 4 < e_C, of theorems 1 and 2
    fn check_from_below(&self) {
        for (c, phi) in self.of.phi.iter().enumerate() {
            let e = self.client_error(c);
            assert!(
                2 * e > -self.of.pairs() * phi - 8 * self.of.phi_t,
                "task {} at {}: {e}",
                c + 1,
                self.total
            );
        }
    }

    /// Theorem 1: e_C < g + 3
    fn check_theorem_1(&self) {
        self.check_from_below();
        for c in 0..self.client.len() {
            let e = self.client_error(c);
            assert!(e < (self.of.g() + 3) * self.of.phi_t, "task {} at {}: {e}", c + 1, self.total);
        }
    }

    /// Theorem 2: e_C < 2g + 10 + (g-1)(g-2)/2P
    fn check_theorem_2(&self, p: i128) {
        self.check_from_below();
        let bound = 2 * p * (2 * self.of.g() + 10) + self.of.pairs();
        for c in 0..self.client.len() {
            let e = self.client_error(c);
            assert!(2 * p * e < bound * self.of.phi_t, "task {} at {}: {e}", c + 1, self.total);
        }
    }
}

/// One period on one CPU, with `check` after each quantum. It closes: every task has had its weight.
fn period(weights: &[u64], check: impl Fn(&Service)) {
    let of = Weights::new(weights);
    let mut service = Service::new(&of);
    let mut one = Lockstep::with("gr3", 1, weights);
    for _ in 0..of.phi_t {
        service.add(one.step()[0]);
        check(&service);
    }
    assert_eq!(service.client, of.phi, "after Phi_T quanta everybody has had its weight");
}

/// MP-SCHEDULE of section 3.1 over a queue: its selections are those of one CPU.
struct Multi {
    queue: Lockstep,
    /// C(p)
    on: Vec<u32>,
    /// F_C
    frontlog: Vec<u64>,
    /// Most selections that one decision took
    most: usize,
    /// The greatest frontlog that a client had
    deepest: u64,
}

impl Multi {
    fn new(cpus: u32, queue: Lockstep) -> Multi {
        Multi {
            on: vec![0; cpus as usize],
            frontlog: vec![0; queue.quanta.len()],
            queue,
            most: 0,
            deepest: 0,
        }
    }

    fn decide(&mut self, cpu: usize) -> u32 {
        let prev = self.on[cpu] as usize;
        if self.frontlog[prev] > 0 {
            self.frontlog[prev] -= 1;
            return self.on[cpu];
        }
        self.on[cpu] = 0;
        for selections in 1.. {
            let c = self.queue.step()[0];
            self.most = self.most.max(selections);
            if !self.on.contains(&c) {
                self.on[cpu] = c;
                break;
            }
            self.frontlog[c as usize] += 1;
            self.deepest = self.deepest.max(self.frontlog[c as usize]);
        }
        self.on[cpu]
    }

    fn step(&mut self) -> Vec<u32> {
        (0..self.on.len()).map(|cpu| self.decide(cpu)).collect()
    }
}

/// Tasks whose weights were feasible ever since they came: until all are there, so are nine much heavier ones.
fn all_at_once(cpus: u32, weights: &[u64]) -> Lockstep {
    let mut machine = Lockstep::with("gr3", cpus, &[1 << 12; 9]);
    weights.iter().for_each(|&w| {
        machine.add(w);
    });
    (1..=9).for_each(|id| machine.leave(id, true));
    machine
}

/// Theorem 3: the least of (g-k)(g-k+1)/2 + (k+1)(g-k+1)P + 1 over k from 1 to g
fn theorem_3(g: usize, p: usize) -> usize {
    (1..=g).map(|k| (g - k) * (g - k + 1) / 2 + (k + 1) * (g - k + 1) * p + 1).min().unwrap()
}

/// The default of gr3's parameter `frontlog`
fn frontlog_limit() -> u64 {
    let gr3 = divvy_policy::all().iter().find(|policy| policy.name == "gr3").expect("gr3");
    gr3.params.iter().find(|param| param.name == "frontlog").expect("its parameter").default.cast_unsigned()
}

/// Weights of a few magnitudes, so that there are several groups
fn weight_set(most: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec((0u32..9, 0u64..256).prop_map(|(o, x)| (1 << o) + x % (1 << o)), 1..most)
}

/// As many more of the heaviest as make the weights feasible on P CPUs, and one client more than those
fn made_feasible(mut weights: Vec<u64>, p: u32) -> Vec<u64> {
    while weights.len() <= p as usize {
        weights.push(1);
    }
    let most = *weights.iter().max().unwrap();
    while most * u64::from(p) > weights.iter().sum() {
        weights.push(most);
    }
    weights
}

/// Groups of equal clients whose weights are 16, or 32, and so on, each an integer times the next. From the
/// lightest, a group has `order` and is `ratio` times as heavy as the one before.
fn integer_ratios(groups: Vec<(u32, u64)>) -> Vec<u64> {
    let mut weights = Vec::new();
    let mut seen = Vec::new();
    let mut total = 16;
    for (order, ratio) in groups {
        if seen.contains(&order) {
            continue;
        }
        seen.push(order);
        total *= ratio;
        weights.extend(vec![1 << order; total as usize >> order]);
    }
    weights
}

proptest! {
    #![proptest_config(config(150, 1))]

    #[test]
    fn gr3_r1_r2_r3_r4_theorem_1(weights in weight_set(12)) {
        period(&weights, |service| service.check_theorem_1());
    }

    #[test]
    fn gr3_r1_r2_r3_lemma_4(weights in weight_set(12)) {
        period(&weights, |service| service.check_lemma_4());
    }

    #[test]
    fn gr3_r1_r4_lemma_5(weights in weight_set(12)) {
        period(&weights, |service| service.check_lemma_5());
    }

    #[test]
    fn gr3_r1_r2_r3_lemma_3(groups in prop::collection::vec((0u32..5, 1u64..5), 1..5)) {
        period(&integer_ratios(groups), |service| service.check_lemma_3());
    }
}

proptest! {
    #![proptest_config(config(100, 2))]

    /// Weights feasible; P quanta at a time, for one period
    #[test]
    fn gr3_r7_theorem_2(weights in weight_set(24), cpus in 2u32..9) {
        let weights = made_feasible(weights, cpus);
        let of = Weights::new(&weights);
        let mut service = Service::new(&of);
        let mut machine = Lockstep::with("gr3", cpus, &weights);
        for _ in 0..of.phi_t {
            machine.step().into_iter().for_each(|id| service.add(id));
            service.check_theorem_2(i128::from(cpus));
        }
    }

    /// P CPUs take what one would run next, but for those that already run; and they never take for long.
    #[test]
    fn gr3_r7_theorem_3(weights in weight_set(24), cpus in 2u32..9) {
        let weights = made_feasible(weights, cpus);
        let mut machine = all_at_once(cpus, &weights);
        let mut multi = Multi::new(cpus, all_at_once(1, &weights));
        for round in 0..weights.iter().sum::<u64>() {
            prop_assert_eq!(machine.step(), multi.step(), "round {}", round);
        }
        prop_assert!(multi.most <= theorem_3(Weights::new(&weights).groups.len(), cpus as usize));
        // D2: with whole quanta frontlogs stay below half of the default limit, so that no selection is lost.
        prop_assert!(2 * multi.deepest <= frontlog_limit(), "{} quanta", multi.deepest);
    }
}

/// The bounds are not so loose that any order would do.
#[test]
#[should_panic(expected = "task 1 at")]
fn round_robin_is_not_within_theorem_1() {
    let of = Weights::new(&[100, 1, 1, 1]);
    let mut service = Service::new(&of);
    for t in 0..100 {
        service.add(1 + t % 4);
        service.check_theorem_1();
    }
}
