//! Surplus fair scheduling by brute force: section 2.3 of the paper in exact fractions, which looks at every waiting task
//! for each choice. The policy is told the same events, whatever they are, and every choice of it is judged.

use std::cmp::Reverse;

use divvy_policy::{TaskId, Weight};
use divvy_sim::oracle::{Rational, fraction, whole};
use proptest::prelude::*;

use divvy_tests::cases::config;
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};

use crate::feasible::feasible;

/// Parameters of sfs, in its order
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    pub bias: i64,
    pub k: i64,
    pub update: i64,
    pub scale: i64,
    /// ns
    pub credit: i64,
}

pub(super) const EXACT: Params = Params { bias: 1, k: 0, update: 100, scale: 1, credit: 0 };

fn machine(params: Params, cpus: u32) -> Lockstep {
    let values = [params.bias, params.k, params.update, params.scale, params.credit];
    Lockstep::with_params("sfs", &values, cpus)
}

/// A thread as the formulas see it
#[derive(Clone, Default)]
pub(super) struct Thread {
    pub runnable: bool,
    /// Before readjustment
    nominal: u64,
    pub phi: u64,
    pub start_tag: Rational,
    finish_tag: Rational,
    /// Since when it runs uncharged, and where
    since_ns: u64,
    pub on: Option<usize>,
    last: Option<usize>,
    /// When it began to wait, in order; with credit, whether it is behind those that woke
    pub turn: (bool, u64),
    /// The tag by which it waits: the start tag, less a credit
    waits_at: Rational,
}

/// The policy, and the formulas beside it
pub(super) struct Judged {
    sfs: Lockstep,
    params: Params,
    /// By id; there is no task 0.
    pub threads: Vec<Thread>,
    virtual_time: Rational,
    turns: u64,
    now_ns: u64,
}

/// An event
#[derive(Clone, Debug)]
pub(super) enum Event {
    Arrive(u64),
    Block(usize),
    Exit(usize),
    Wake(usize),
    Reweigh(usize, u64),
    /// A CPU's turn is over: its task blocked, its quantum expired, it was idle.
    Decide(usize),
    Pass(u64),
}

impl Judged {
    pub(super) fn new(params: Params, cpus: u32) -> Judged {
        let sfs = machine(params, cpus);
        Judged { sfs, params, threads: vec![Thread::default()], virtual_time: whole(0), turns: 0, now_ns: 0 }
    }

    /// Virtual time stands at about `v` before anything else happens: a light thread was there, for long.
    fn at(params: Params, cpus: u32, v: u128) -> Judged {
        let mut judged = Judged::new(params, cpus);
        judged.arrive(1);
        judged.decide(0);
        let pace = u128::from(Weight::NICE_0.fixed() / judged.threads[1].phi) * params.scale as u128;
        let mut left = (v / pace) as u64;
        while left > 0 {
            let part = left.min((1u64 << 60) / pace as u64);
            judged.pass(part);
            judged.decide(0);
            left -= part;
        }
        judged.leave(1, true);
        judged
    }

    fn runnable(&self) -> impl Iterator<Item = &Thread> {
        self.threads.iter().filter(|t| t.runnable)
    }

    fn charge(&mut self, id: usize) {
        let (now, scale) = (self.now_ns, self.params.scale as u128);
        let thread = &mut self.threads[id];
        if thread.on.is_some() && now > thread.since_ns {
            let service = u128::from(now - thread.since_ns) * scale * u128::from(Weight::NICE_0.fixed());
            thread.finish_tag += fraction(service, thread.phi);
            thread.since_ns = now;
        }
    }

    /// v is the least start tag; it never goes back.
    fn see_virtual_time(&mut self) {
        if let Some(least) = self.runnable().map(|t| &t.start_tag).min() {
            assert!(*least >= self.virtual_time, "virtual time went back");
            self.virtual_time = least.clone();
        }
    }

    /// Weights are those of the recursion of the paper's Figure 2.
    fn check_weights(&self) {
        let nominal: Vec<u64> = self.runnable().map(|thread| thread.nominal).collect();
        let phi: Vec<u64> = self.runnable().map(|thread| thread.phi).collect();
        assert_eq!(phi, feasible(&nominal, self.sfs.running().len()), "of {nominal:?}");
    }

    /// Charges by the weights until now, and takes the new ones, which `check_weights` judges.
    fn see_weights(&mut self) {
        for id in 1..self.threads.len() {
            let phi = self.sfs.machine.weight(TaskId::new(id as u32)).fixed();
            if self.threads[id].runnable && phi != self.threads[id].phi {
                self.charge(id);
                self.threads[id].phi = phi;
            }
        }
    }

    fn begin_to_wait(&mut self, id: usize, woke: bool) {
        self.turns += 1;
        let credit = if woke { self.params.credit } else { 0 };
        let thread = &mut self.threads[id];
        thread.turn = (credit == 0, self.turns);
        let tags = i128::from(credit * self.params.scale) * i128::from(Weight::NICE_0.fixed());
        let less = &thread.start_tag - fraction(tags, thread.phi).trunc();
        thread.waits_at =
            if credit == 0 { thread.start_tag.clone() } else { less.max(self.virtual_time.clone()) };
    }

    /// A thread becomes runnable, which the policy was told just now. Returns the choices, if a CPU decides because of it.
    fn join(&mut self, id: usize, woke: bool) -> Option<[Option<usize>; 2]> {
        self.see_weights();
        self.see_virtual_time();
        let v = self.virtual_time.clone();
        let phi = self.sfs.machine.weight(TaskId::new(id as u32)).fixed();
        let thread = &mut self.threads[id];
        thread.start_tag = thread.finish_tag.clone().max(v);
        thread.finish_tag = thread.start_tag.clone();
        thread.phi = phi;
        thread.runnable = true;
        self.begin_to_wait(id, woke);
        let asked = self.sfs.asked.map(|cpu| cpu.index());
        if asked.is_some_and(|cpu| self.on_cpu(cpu).is_none()) {
            return None; // it was idle
        }
        let expected = if self.params.credit > 0 && woke { self.gives_way(id) } else { None };
        assert_eq!(asked, expected, "the CPU that is preempted for {id}");
        expected.map(|cpu| self.decide(cpu))
    }

    fn on_cpu(&self, cpu: usize) -> Option<usize> {
        self.threads.iter().position(|t| t.on == Some(cpu))
    }

    /// The first CPU whose thread has more surplus than the one that woke, with what it used of its quantum
    fn gives_way(&mut self, woken: usize) -> Option<usize> {
        let own = self.rank(woken).0;
        (0..self.sfs.running().len()).find(|&cpu| {
            let Some(id) = self.on_cpu(cpu) else { return false };
            self.charge(id);
            (&self.threads[id].finish_tag - &self.virtual_time) * whole(self.threads[id].phi) > own
        })
    }

    pub(super) fn arrive(&mut self, weight: u64) {
        let id = self.sfs.add(weight) as usize;
        self.threads.push(Thread { nominal: weight * Weight::ONE.fixed(), ..Thread::default() });
        self.join(id, false);
    }

    fn leave(&mut self, id: usize, exits: bool) {
        self.charge(id);
        self.threads[id].runnable = false;
        self.threads[id].on = None;
        if self.runnable().next().is_none() {
            self.virtual_time = self.virtual_time.clone().max(self.threads[id].finish_tag.clone());
        }
        self.sfs.leave(id as u32, exits);
        self.see_weights();
    }

    pub(super) fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
        self.sfs.pass(ns);
    }

    /// (surplus, turn) of a thread
    pub(super) fn rank(&self, id: usize) -> (Rational, (bool, u64)) {
        let thread = &self.threads[id];
        assert!(thread.start_tag >= self.virtual_time, "a surplus is negative");
        let ahead = (&thread.waits_at - &self.virtual_time).max(whole(0));
        (ahead * whole(thread.phi), thread.turn)
    }

    /// Threads that wait, in the order of section 2.3
    fn in_order(&self) -> Vec<usize> {
        let waits = |&id: &usize| self.threads[id].runnable && self.threads[id].on.is_none();
        let mut waiting: Vec<usize> = (1..self.threads.len()).filter(waits).collect();
        waiting.sort_by_cached_key(|&id| self.rank(id));
        waiting
    }

    /// Section 2.4: of the B least surpluses the first that was here before, else the least
    fn best(&self, in_order: &[usize], cpu: usize) -> Option<usize> {
        let few = &in_order[..in_order.len().min(self.params.bias as usize)];
        few.iter().copied().find(|&id| self.threads[id].last == Some(cpu)).or(few.first().copied())
    }

    /// A CPU decides. Returns the choice of the formulas and the policy's.
    pub(super) fn decide(&mut self, cpu: usize) -> [Option<usize>; 2] {
        if let Some(id) = self.on_cpu(cpu) {
            self.charge(id);
            self.threads[id].on = None;
            self.threads[id].start_tag = self.threads[id].finish_tag.clone();
            self.begin_to_wait(id, false);
        }
        self.see_virtual_time();
        assert!(
            self.runnable().next().is_none() || self.runnable().any(|t| t.start_tag == self.virtual_time),
            "nobody has no surplus"
        );
        let best = self.best(&self.in_order(), cpu);
        self.sfs.decide(cpu);
        let chosen = Some(self.sfs.running()[cpu] as usize).filter(|&id| id > 0);
        assert_eq!(best.is_some(), chosen.is_some(), "a CPU is idle and a task waits");
        if let Some(id) = chosen {
            assert!(self.threads[id].on.is_none(), "{id} runs elsewhere");
            self.threads[id].on = Some(cpu);
            self.threads[id].last = Some(cpu);
            self.threads[id].since_ns = self.now_ns;
        }
        assert_eq!(self.sfs.machine.faults(), 0);
        [best, chosen]
    }

    fn nth(&self, n: usize, runnable: bool) -> Option<usize> {
        let mut ids = self.sfs.tasks();
        ids.retain(|&id| self.sfs.is_runnable(id) == runnable);
        (!ids.is_empty()).then(|| ids[n % ids.len()] as usize)
    }

    /// Returns the choices, if it is one.
    pub(super) fn happens(&mut self, event: &Event) -> Option<[Option<usize>; 2]> {
        match *event {
            Event::Arrive(weight) => self.arrive(weight),
            Event::Block(n) | Event::Exit(n) => {
                if let Some(id) = self.nth(n, true) {
                    self.leave(id, matches!(event, Event::Exit(_)));
                }
            }
            Event::Wake(n) => {
                if let Some(id) = self.nth(n, false) {
                    self.sfs.wake(id as u32);
                    return self.join(id, true);
                }
            }
            Event::Reweigh(n, weight) => {
                if let Some(id) = self.nth(n, true) {
                    self.sfs.set_weight(id as u32, weight);
                    self.threads[id].nominal = weight * Weight::ONE.fixed();
                    self.see_weights();
                }
            }
            Event::Decide(cpu) => return Some(self.decide(cpu % self.sfs.running().len())),
            Event::Pass(ns) => self.pass(ns),
        }
        None
    }
}

fn weight() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 1u64..7, 2 => 1u64..100, 1 => 1u64..100_000]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => weight().prop_map(Event::Arrive),
        2 => (0usize..99).prop_map(Event::Block),
        1 => (0usize..99).prop_map(Event::Exit),
        3 => (0usize..99).prop_map(Event::Wake),
        1 => (0usize..99, weight()).prop_map(|(n, w)| Event::Reweigh(n, w)),
        12 => (0usize..8).prop_map(Event::Decide),
        8 => prop_oneof![Just(QUANTUM_NS), 1..2 * QUANTUM_NS, 1u64..1000].prop_map(Event::Pass),
    ]
}

proptest! {
    #![proptest_config(config(300, 11))]

    /// Arrivals, exits, sleeps, changes of weights, readjustment, quanta of any length, CPUs that decide when they like
    #[test]
    fn sfs_r2_r3_r4_r5_r6_whatever_happens(
        cpus in 1u32..6,
        bias in prop_oneof![3 => Just(1i64), 1 => 2i64..9],
        scale in prop_oneof![Just(1i64), Just(10_000)],
        events in prop::collection::vec(event(), 300),
    ) {
        let mut judged = Judged::new(Params { bias, scale, ..EXACT }, cpus);
        for event in &events {
            if let Some([best, chosen]) = judged.happens(event) {
                prop_assert_eq!(best, chosen);
            }
            judged.check_weights();
        }
    }

    /// The same while tags pass 2^63 or 2^64
    #[test]
    fn sfs_r8_tags_wrap_around(
        cpus in 1u32..4,
        bits in 63u32..65,
        before in 0u128..20_000_000_000,
        scale in prop_oneof![Just(1i64), Just(10_000)],
        events in prop::collection::vec(event(), 150),
    ) {
        let before = before * scale as u128;
        let mut judged = Judged::at(Params { scale, ..EXACT }, cpus, (1u128 << bits) - before);
        for event in &events {
            if let Some([best, chosen]) = judged.happens(event) {
                prop_assert_eq!(best, chosen);
            }
            judged.check_weights();
        }
    }
}

/// Whole quanta and simple parts of them, and small weights: then surpluses are often equal, and a rounding error shows.
fn event_with_ties() -> impl Strategy<Value = Event> {
    let weight = || prop_oneof![6 => 1u64..11, 1 => prop_oneof![Just(50u64), Just(100), Just(999)]];
    prop_oneof![
        3 => weight().prop_map(Event::Arrive),
        3 => (0usize..99).prop_map(Event::Block),
        1 => (0usize..99).prop_map(Event::Exit),
        4 => (0usize..99).prop_map(Event::Wake),
        1 => (0usize..99, weight()).prop_map(|(n, w)| Event::Reweigh(n, w)),
        16 => (0usize..8).prop_map(Event::Decide),
        8 => prop_oneof![4 => Just(1u64), 1 => 2u64..7].prop_map(|part| Event::Pass(1_000_000 / part)),
    ]
}

proptest! {
    #![proptest_config(config(12_000, 14))]

    /// Ties, above all: equal surpluses run in the order in which they began to wait, on 1 to 8 CPUs.
    #[test]
    fn sfs_r5_r9_ties_are_exact(
        cpus in 1u32..9,
        credit in prop_oneof![2 => Just(0i64), 1 => 1..3_000_000i64],
        events in prop::collection::vec(event_with_ties(), 50),
    ) {
        let mut judged = Judged::new(Params { credit, ..EXACT }, cpus);
        for weight in 1..=cpus as u64 + 1 {
            judged.arrive(weight);
        }
        for event in &events {
            if let Some([best, chosen]) = judged.happens(event) {
                prop_assert_eq!(best, chosen);
            }
            judged.check_weights();
        }
    }
}

/// Weights 5, 3, 1, 1 on 2 CPUs, by hand. After a quantum each of the first two, both have a surplus of a quantum, as v = 0,
/// and the first began to wait earlier. Three times a third of a ms must not be less than five times a fifth.
#[test]
fn sfs_r5_a_third_and_a_fifth() {
    let mut judged = Judged::new(EXACT, 2);
    [5, 3, 1, 1].into_iter().for_each(|weight| judged.arrive(weight));
    let mut got = Vec::new();
    for _ in 0..4 {
        got.push([0, 1].map(|cpu| judged.decide(cpu)[1].expect("a task waits")));
        judged.pass(1_000_000);
    }
    assert_eq!(got, [[1, 2], [3, 4], [1, 2], [1, 3]]);
}

/// The wrap is met, and not only approached.
#[test]
fn sfs_r8_the_tags_did_wrap() {
    let mut judged = Judged::at(EXACT, 2, (1 << 64) - 10_000_000_000);
    for weight in [3, 1, 2, 1] {
        judged.arrive(weight);
    }
    for step in 0..200 {
        for cpu in 0..2 {
            let [best, chosen] = judged.decide(cpu);
            assert_eq!(best, chosen, "step {step}");
        }
        judged.pass(QUANTUM_NS);
    }
    assert!(judged.virtual_time > whole(1u128 << 64), "{}", judged.virtual_time);
}

/// Weights of `n` threads, all runnable, that are feasible on 4 CPUs: 1 to 20, mixed
pub(super) fn mixed(n: usize) -> impl Iterator<Item = u64> {
    (0..n as u64).map(|i| (i * i * 31 + i * 17) % 20 + 1)
}

/// Section 2.4: with a bias fewer threads change CPUs, and shares stay what they are.
#[test]
fn sfs_r6_a_bias_keeps_threads_where_they_were() {
    let moves = |bias| {
        let mut judged = Judged::new(Params { bias, ..EXACT }, 4);
        mixed(40).for_each(|weight| judged.arrive(weight));
        let (mut last, mut moves) = (vec![None; 41], 0);
        for i in 0..8000 {
            let [_, chosen] = judged.decide(i % 4);
            let id = chosen.unwrap();
            moves += u32::from(last[id].is_some_and(|cpu| cpu != i % 4));
            last[id] = Some(i % 4);
            judged.pass(QUANTUM_NS / 4);
        }
        moves
    };
    let (pure, biased, more) = (moves(1), moves(4), moves(16));
    assert!(2 * biased < pure && more <= biased, "{pure}, {biased}, {more} moves");
}

/// With equal weights the surplus is the tag: SFS and SFQ choose alike, sleepers and all.
#[test]
fn sfs_r5_equal_weights_are_served_as_by_sfq() {
    let shares = |policy| {
        let mut three = Lockstep::with(policy, 3, &[4; 10]);
        three.run(300);
        for id in [2, 5, 7] {
            three.leave(id, false);
        }
        three.run(100);
        for id in [7, 2, 5] {
            three.wake(id);
        }
        three.run(350);
        three.quanta.clone()
    };
    let (sfs, sfq) = (shares("sfs"), shares("sfq"));
    let apart = sfs.iter().zip(&sfq).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(apart <= Some(1), "{sfs:?}, {sfq:?}");
}

/// Virtual time stays at the last finish tag while there is no task. A newcomer begins there, a sleeper at its own tag.
#[test]
fn sfs_r3_r4_across_an_idle_time() {
    let mut judged = Judged::new(EXACT, 1);
    judged.arrive(1);
    judged.arrive(2);
    for _ in 0..5 {
        judged.decide(0);
        judged.pass(QUANTUM_NS);
    }
    judged.leave(2, false);
    judged.leave(1, false);
    let mut tags: Vec<Rational> = [1, 2].map(|id: usize| judged.threads[id].finish_tag.clone()).to_vec();
    tags.sort_by_key(|tag| Reverse(tag.clone()));
    judged.arrive(1);
    judged.happens(&Event::Wake(0));
    judged.happens(&Event::Wake(0));
    for _ in 0..20 {
        let [best, chosen] = judged.decide(0);
        assert_eq!(best, chosen);
        judged.pass(QUANTUM_NS);
    }
    assert!(judged.virtual_time >= tags[0]);
}
