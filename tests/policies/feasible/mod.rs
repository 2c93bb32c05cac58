//! feasible, the readjustment of weights (papers/sfs.md, papers/gr3.md), against the recursive algorithm of the SFS
//! paper in exact fractions.

use std::env;
use std::path::Path;
use std::process::Command;

use divvy_policy::{Machine, MachineConfig, TaskId, Weight};
use proptest::prelude::*;

use divvy_tests::cases::config;
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};

/// n/d with d > 0, in lowest terms
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fraction {
    n: i128,
    d: i128,
}

impl Fraction {
    fn new(n: i128, d: i128) -> Fraction {
        let gcd = |mut a: i128, mut b: i128| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let g = gcd(n, d).max(1);
        Fraction { n: n / g, d: d / g }
    }

    fn plus(self, other: Fraction) -> Fraction {
        Fraction::new(self.n * other.d + other.n * self.d, self.d * other.d)
    }

    fn over(self, k: usize) -> Fraction {
        Fraction::new(self.n, self.d * k as i128)
    }

    fn floor(self) -> u64 {
        (self.n / self.d) as u64
    }
}

/// readjust(i, p) of the SFS paper's Figure 2, on weights in descending order: if w_i / sum_{j >= i} w_j > 1/p,
/// then readjust(i + 1, p - 1) and w_i = (sum_{j > i} w_j) / (p - 1).
fn readjust(w: &mut [Fraction], p: usize) {
    let sum = |w: &[Fraction]| w.iter().fold(Fraction::new(0, 1), |a, &b| a.plus(b));
    if p < 2 || w.is_empty() {
        return;
    }
    let all = sum(w);
    if w[0].n * p as i128 * all.d > all.n * w[0].d {
        readjust(&mut w[1..], p - 1);
        w[0] = sum(&w[1..]).over(p - 1);
    }
}

/// The weights as they are to become, rounded down. With no more tasks than CPUs all get the least one (gr3 D4).
pub(super) fn feasible(weights: &[u64], p: usize) -> Vec<u64> {
    if weights.len() <= p {
        return vec![weights.iter().copied().min().unwrap_or(0); weights.len()];
    }
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(weights[i]));
    let mut w: Vec<Fraction> = order.iter().map(|&i| Fraction::new(weights[i].into(), 1)).collect();
    readjust(&mut w, p);
    let mut out = vec![0; weights.len()];
    for (i, w) in order.into_iter().zip(w) {
        out[i] = w.floor();
    }
    out
}

/// The reference against the paper's own examples
#[test]
fn sfs_r1_readjustment_examples() {
    assert_eq!(feasible(&[10, 1], 2), [1, 1]);
    assert_eq!(feasible(&[1, 10, 1], 2), [1, 2, 1]);
    assert_eq!(feasible(&[100, 50, 1, 1, 1, 1, 1, 1], 4), [3, 3, 1, 1, 1, 1, 1, 1]);
    assert_eq!(feasible(&[5, 5, 5], 2), [5, 5, 5]);
}

/// An event of one machine. After each all weights are compared.
#[derive(Clone, Debug)]
enum Event {
    Arrive(u64),
    /// A runnable task exits, or sleeps, and is back later.
    Exit(usize),
    Block(usize),
    Wake(usize),
    Reweigh(usize, u64),
    /// A CPU takes one up.
    Decide(usize),
}

/// Small ones often tie; large ones are several orders apart.
fn weight() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 1u64..7, 2 => 1u64..100, 1 => 1u64..100_000, 1 => (0u32..24).prop_map(|o| 1 << o)]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => weight().prop_map(Event::Arrive),
        1 => (0usize..99).prop_map(Event::Exit),
        2 => (0usize..99).prop_map(Event::Block),
        2 => (0usize..99).prop_map(Event::Wake),
        2 => (0usize..12).prop_map(Event::Decide),
        1 => (0usize..99, weight()).prop_map(|(n, w)| Event::Reweigh(n, w)),
    ]
}

proptest! {
    #![proptest_config(config(700, 5))]

    /// 700 machines x 60 events, by either search: at each change of the runnable set and of a weight
    #[test]
    fn sfs_r1_gr3_r8_r9_r10_is_the_recursion(
        cpus in 1u32..12,
        median in 0i64..2,
        events in prop::collection::vec(event(), 60),
    ) {
        let values = [("feasible", 0, median)];
        let mut machine =
            Lockstep::of(Machine::new(&MachineConfig::new("rr", cpus, QUANTUM_NS).with_modifiers(&["feasible"]).with_params(&values)).unwrap(), cpus);
        // (id, own weight) of all that have not exited
        let mut tasks: Vec<(u32, u64)> = Vec::new();
        let nth = |machine: &Lockstep, tasks: &[(u32, u64)], n: usize, runnable: bool| {
            let some: Vec<u32> = tasks.iter().map(|t| t.0).filter(|&t| machine.is_runnable(t) == runnable).collect();
            (!some.is_empty()).then(|| some[n % some.len()])
        };
        for event in events {
            match event {
                Event::Arrive(w) => tasks.push((machine.add(w), w * Weight::ONE.fixed())),
                Event::Exit(n) => {
                    if let Some(id) = nth(&machine, &tasks, n, true) {
                        machine.leave(id, true);
                        tasks.retain(|t| t.0 != id);
                    }
                }
                Event::Block(n) => {
                    if let Some(id) = nth(&machine, &tasks, n, true) {
                        machine.leave(id, false);
                    }
                }
                Event::Wake(n) => {
                    if let Some(id) = nth(&machine, &tasks, n, false) {
                        machine.wake(id);
                    }
                }
                Event::Reweigh(n, w) if !tasks.is_empty() => {
                    let n = n % tasks.len();
                    tasks[n].1 = w * Weight::ONE.fixed();
                    machine.set_weight(tasks[n].0, w);
                }
                Event::Reweigh(..) => {}
                Event::Decide(cpu) => machine.decide(cpu % cpus as usize),
            }
            let runnable = || tasks.iter().filter(|t| machine.is_runnable(t.0));
            let nominal: Vec<u64> = runnable().map(|t| t.1).collect();
            let effective: Vec<u64> = runnable().map(|t| machine.machine.weight(TaskId::new(t.0)).fixed()).collect();
            prop_assert_eq!(&effective, &feasible(&nominal, cpus as usize), "of {:?} on {}", nominal, cpus);
        }
    }
}

/// Five of 7 beside 4, 1, 1 on 6 CPUs ask for more than 6 each, the last of them too, 7/(7 + 6) of two CPUs. All are as
/// heavy as the median.
#[test]
fn gr3_r10_d5_ties_with_the_median_are_kept() {
    for weights in [[7, 7, 7, 7, 7, 4, 1, 1], [4, 7, 1, 7, 7, 1, 7, 7]] {
        let machine = Machine::new(
            &MachineConfig::new("rr", 6, QUANTUM_NS)
                .with_modifiers(&["feasible"])
                .with_params(&[("feasible", 0, 1)]),
        )
        .unwrap();
        let mut machine = Lockstep::of(machine, 6);
        for (weight, id) in weights.iter().zip(1..) {
            assert_eq!(machine.add(*weight), id);
        }
        for (weight, id) in weights.iter().zip(1..) {
            assert_eq!(
                machine.machine.weight(TaskId::new(id)),
                (*weight).min(6) * Weight::ONE,
                "task {id} of {weights:?}"
            );
        }
    }
}

/// Lemma 6: steps of all loops of a readjustment, with a group of 2P - 1 heavy tasks to search
#[test]
fn gr3_r9_r10_lemma_6() {
    let here = |file: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("feasible");
    let cc = env::var("CC").unwrap_or_else(|_| "cc".into());
    let run = |command: &mut Command| {
        let ran = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(ran.status.success(), "{said}");
        said
    };
    let mut build = Command::new(cc);
    build.args(["-O1", "-std=gnu11", "-fsanitize=undefined", "-fno-sanitize-recover"]);
    run(build
        .arg("-I")
        .arg(here("../policy"))
        .arg(here("policies/feasible/loops.c"))
        .arg("-o")
        .arg(&program));
    println!("{}", run(&mut Command::new(&program)));
}
