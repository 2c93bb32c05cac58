//! Surplus fair scheduling and what it has over SFQ: papers/sfs.md.

mod example;
mod heuristic;
mod surplus;

use proptest::prelude::*;

use divvy_tests::cases::config;
use divvy_tests::lockstep::Lockstep;

/// Section 1.2, Example 1, on 2 CPUs: T1 (1) and T2 (10), and T3 (1) 1000 quanta later. The longest that T1 is
/// kept from running after that, in quanta.
fn example_1_starvation(spec: &str) -> u64 {
    let mut two = Lockstep::with(spec, 2, &[1, 10]);
    for _ in 0..1000 {
        assert_eq!(two.step(), [1, 2]);
    }
    two.add(1);
    let (mut longest, mut waits) = (0, 0);
    for _ in 0..3000 {
        waits = if two.step().contains(&1) { 0 } else { waits + 1 };
        longest = longest.max(waits);
    }
    longest
}

/// T1's tag is 1000 quanta at 1000, T2's 100, where T3 starts: T2 and T3 run until T3's has reached 1000.
#[test]
fn sfq_r2_r4_starves_in_example_1() {
    assert!((898..=902).contains(&example_1_starvation("sfq")));
}

#[test]
fn sfs_r1_example_1() {
    assert!(example_1_starvation("sfq+feasible") <= 2);
    assert!(example_1_starvation("sfs") <= 2);
    assert!(example_1_starvation("gr3") <= 2);
}

/// Section 1.2, Example 2, on 2 CPUs: T1 (10,000), 10,000 threads (1), and threads of weight 100 that come every 100 quanta,
/// each as the one before goes. After each thread has had a quantum, so that tags differ. Quanta that T1 and the first of the
/// short threads receive in 100, and what all of the short ones receive for each quantum of T1.
fn example_2(spec: &str) -> ([u64; 2], f64) {
    let mut two = Lockstep::new(spec, 2);
    two.add(10_000);
    for _ in 0..10_000 {
        two.add(1);
    }
    two.run(5_100);
    let before = two.quanta[1];
    let (mut first, mut short) = (None, 0);
    for _ in 0..100 {
        let id = two.add(100);
        two.run(100);
        short += two.quanta[id as usize];
        first = first.or(Some([two.quanta[1] - before, two.quanta[id as usize]]));
        two.leave(id, true);
    }
    (first.unwrap(), short as f64 / (two.quanta[1] - before) as f64)
}

/// "Each short-lived thread gets to run continuously on a processor until it departs. The thread with weight 10,000 runs on the
/// other. Thus each short-lived thread with weight 100 gets as much as the thread with weight 10,000 (instead of 1/100)."
/// Under SFS a short one may have one of its 100 quanta free, and its share is rounded up to a quantum.
#[test]
fn sfs_r5_example_2() {
    let (sfq, _) = example_2("sfq");
    assert!(sfq.iter().all(|&quanta| quanta >= 98), "T1, short: {sfq:?}");
    let ([t1, short], all) = example_2("sfs");
    assert!(t1 >= 98 && short <= 3 && all <= 0.03, "T1 {t1}, short {short}, all {all}");
}

/// Figure 4: T1 (1) and T2 (10) for 15 s, then T3 (1) for 15 s too, then T2 is gone, at quanta of 200 ms on 2
/// CPUs: 75 a phase. Quanta that T1, T2, T3 got in each phase.
fn figure_4(spec: &str) -> [[u64; 3]; 3] {
    let mut two = Lockstep::with(spec, 2, &[1, 10]);
    let phase = |two: &mut Lockstep| {
        let before = two.quanta.clone();
        two.run(75);
        std::array::from_fn(|i| two.quanta.get(i + 1).map_or(0, |q| q - before.get(i + 1).unwrap_or(&0)))
    };
    let first = phase(&mut two);
    two.add(1);
    let second = phase(&mut two);
    two.leave(2, true);
    [first, second, phase(&mut two)]
}

#[test]
fn sfs_r1_r5_figure_4() {
    for spec in ["sfs", "sfq+feasible"] {
        let [first, second, third] = figure_4(spec);
        assert_eq!(first, [75, 75, 0], "{spec}");
        for (got, due) in second.into_iter().zip([37.5, 75.0, 37.5]) {
            assert!((got as f64 - due).abs() <= 2.0, "{spec}: 1:2:1 in 150 quanta, {second:?}");
        }
        assert_eq!(third, [75, 0, 75], "{spec}");
    }
    // Without readjustment: T1's tag is 75, T3 starts at T2's, 7.5, and after 68 quanta alone is at 75.5; of the
    // 7 that are left T1 has the first.
    assert_eq!(figure_4("sfq")[1], [4, 75, 71]);
}

/// 1/2520 is a tag's unit, 2520 = lcm(1 .. 10).
const UNIT: i64 = 2520;

#[derive(Clone, Copy)]
struct Task {
    phi: i64,
    /// Start tag and finish tag, in quanta / 2520
    s: i64,
    f: i64,
    runnable: bool,
}

/// Section 2.3 by brute force in exact arithmetic, on CPUs in lockstep
struct Formula {
    task: Vec<Task>,
    /// The tasks that wait; the one that began first is in front
    line: Vec<usize>,
    on: Vec<Option<usize>>,
    v: i64,
}

impl Formula {
    fn new(weights: &[u64], cpus: usize) -> Formula {
        let task = |&phi: &u64| Task { phi: phi as i64, s: 0, f: 0, runnable: true };
        Formula {
            task: weights.iter().map(task).collect(),
            line: (0..weights.len()).collect(),
            on: vec![None; cpus],
            v: 0,
        }
    }

    fn virtual_time(&mut self) {
        if let Some(least) = self.task.iter().filter(|t| t.runnable).map(|t| t.s).min() {
            self.v = least;
        }
    }

    fn leave(&mut self, i: usize) {
        self.task[i].runnable = false;
        self.line.retain(|&j| j != i);
        for cpu in &mut self.on {
            *cpu = cpu.filter(|&j| j != i);
        }
        if !self.task.iter().any(|t| t.runnable) {
            self.v = self.v.max(self.task[i].f);
        }
    }

    fn wake(&mut self, i: usize) {
        self.virtual_time();
        let start = self.task[i].f.max(self.v);
        self.task[i] = Task { s: start, f: start, runnable: true, ..self.task[i] };
        self.line.push(i);
    }

    fn step(&mut self) -> Vec<u32> {
        for cpu in 0..self.on.len() {
            if let Some(i) = self.on[cpu].take() {
                self.task[i].s = self.task[i].f;
                self.line.push(i);
            }
            self.virtual_time();
            let surplus = |i: &usize| self.task[*i].phi * (self.task[*i].s - self.v);
            // min_by_key takes the first of equals.
            if let Some(&least) = self.line.iter().min_by_key(|i| surplus(i)) {
                self.line.retain(|&j| j != least);
                self.on[cpu] = Some(least);
            }
        }
        for i in self.on.clone().into_iter().flatten() {
            self.task[i].f += UNIT / self.task[i].phi;
        }
        self.on.iter().map(|cpu| cpu.map_or(0, |i| i as u32 + 1)).collect()
    }
}

proptest! {
    #![proptest_config(config(200, 4))]

    /// All runnable, weights feasible
    #[test]
    fn sfs_r2_r4_r5_is_its_formula(mut weights in prop::collection::vec(1u64..11, 1..16), cpus in 1usize..5) {
        while weights.len() <= cpus || weights.iter().max().unwrap() * cpus as u64 > weights.iter().sum() {
            weights.push(*weights.iter().max().unwrap());
        }
        let mut formula = Formula::new(&weights, cpus);
        let mut sfs = Lockstep::with("sfs", cpus as u32, &weights);
        for _ in 0..300 {
            prop_assert_eq!(sfs.step(), formula.step());
        }
    }

    /// Tasks block and wake, on one CPU, where all weights are feasible
    #[test]
    fn sfs_r2_r3_r4_r5_sleepers(
        weights in prop::collection::vec(1u64..11, 1..8),
        toggles in prop::collection::vec((0usize..8, 0usize..3), 1..200),
    ) {
        let mut formula = Formula::new(&weights, 1);
        let mut sfs = Lockstep::with("sfs", 1, &weights);
        for (n, steps) in toggles {
            let i = n % weights.len();
            if formula.task[i].runnable {
                formula.leave(i);
                sfs.leave(i as u32 + 1, false);
            } else {
                formula.wake(i);
                sfs.wake(i as u32 + 1);
            }
            for _ in 0..steps {
                prop_assert_eq!(sfs.step(), formula.step());
            }
        }
    }
}

/// A (1), B (4), C (5) on 2 CPUs. After a quantum each of A and B their tags are 1 and 1/4; v = 0, for C's sake.
/// Both have a surplus of 1, and A waited longer; SFQ looks at the tags only.
#[test]
fn sfs_r4_r5_surplus_is_not_the_tag() {
    let (a, b, c) = (1, 2, 3);
    let two_rounds = |policy| {
        let mut two = Lockstep::with(policy, 2, &[1, 4, 5]);
        [two.step(), two.step()]
    };
    assert_eq!(two_rounds("sfs"), [[a, b], [c, a]]);
    assert_eq!(two_rounds("sfq"), [[a, b], [c, b]]);
}

/// On one CPU the task that holds v has no surplus, and waits: it is SFQ.
#[test]
fn sfs_r5_on_one_cpu_is_sfq() {
    let weights = [7, 3, 3, 1, 10, 2];
    let schedule = |policy| Lockstep::with(policy, 1, &weights).first_cpu(500);
    assert_eq!(schedule("sfs"), schedule("sfq"));
}

/// Four is fair. The short threads follow each other, and as published each has a part of its first quantum for nothing.
#[test]
fn sfs_d6_figure_5_with_the_debit() {
    let text = include_str!("../../../lab/workloads/sfs-5.toml");
    let ratio = |spec: &str| {
        let example = divvy_tests::example::run(text, spec);
        example.service_of_all("T1") as f64 / example.service_of_all("short") as f64
    };
    for (spec, expected) in [("sfs", 4.00), ("sfq", 3.35), ("sfs:debit=off", 1.73)] {
        assert!((ratio(spec) - expected).abs() < 0.005, "{spec}: {}", ratio(spec));
    }
}
