//! The properties of the paper's section 3.2, on quanta of 0.1 ms. Properties 3, 9 and 11 are in `pbs.rs`.

use divvy_policy::TaskId;

use super::formula::pbs;
use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC, State, Watch};
use divvy_tests::random::Rng;

const INF: f64 = f64::INFINITY;
const Q: u64 = MS / 10;

fn long(arrivals_ms: &[u64]) -> Vec<Program> {
    arrivals_ms.iter().map(|a| Program::new(a * MS, 1024, &[1000 * SEC])).collect()
}

fn started<W: Watch>(alpha: f64, programs: &[Program], watch: W) -> Bench<W> {
    pbs(&[alpha], 1, Q, programs, watch)
}

/// Preemptions: a task without service takes the CPU from every task with some (properties 1 and 4).
#[derive(Default)]
struct Newcomers(u64);

impl Watch for Newcomers {
    fn preempts(&mut self, _woken: TaskId, cpu: Option<usize>, now: u64) {
        assert_eq!(cpu, Some(0), "a newcomer waits at {now}");
        self.0 += 1;
    }
}

/// Property 1: a task that has had a ns of service has a finite priority, so a newcomer goes first, at any alpha and age.
/// Property 4: so it is served at once.
#[test]
fn pbs_c7_p1_p4_a_newcomer_is_served_at_once() {
    for alpha in [0.02, 0.5, 1.0, 2.0, 32768.0, INF, -0.5, -2.0, -INF] {
        // The first has served 1 ns when the second comes.
        let mut programs = vec![Program::new(0, 1024, &[1000 * SEC])];
        programs.extend([1, 2 * MS, SEC + 1, 77 * SEC].map(|a| Program::new(a, 1024, &[SEC])));
        let mut bench = started(alpha, &programs, Newcomers::default());
        bench.run(100 * SEC);
        assert_eq!(bench.watch.0, 4, "alpha {alpha}");
    }
}

/// Property 2 and section 3.3: the priority of a task that waits grows without bound, so short tasks that fill the CPU
/// cannot keep a long one from it, unless alpha is infinite.
#[test]
fn pbs_c8_p2_who_waits_is_served_in_the_end() {
    let mut programs = vec![Program::new(0, 1024, &[1000 * SEC])];
    programs.extend((0..4000).map(|i| Program::new(10 * SEC + i * 20 * MS, 1024, &[20 * MS])));
    for (alpha, served) in [(0.5, true), (1.0, true), (1.25, true), (INF, false)] {
        let mut bench = pbs(&[alpha], 1, 4 * MS, &programs, Nobody);
        bench.run(10 * SEC);
        let before = bench.tasks[1].service;
        bench.run(80 * SEC);
        assert_eq!(bench.tasks[1].service > before, served, "alpha {alpha}");
    }
}

/// Service of the tasks of `programs` at `at`, and of those of `others`.
fn service(alpha: f64, programs: &[Program], at: u64) -> Vec<u64> {
    let mut bench = started(alpha, programs, Nobody);
    bench.run(at);
    bench.tasks[1..].iter().map(|t| t.service).collect()
}

/// Property 5: at an arrival every task that is scheduled gives something, and none gets more than without it.
#[test]
fn pbs_c9_p5_everybody_contributes_to_the_newcomer() {
    let old = long(&[0, 200, 400, 600]);
    let with = [old.clone(), long(&[5000])].concat();
    for alpha in [0.5, 1.0, 2.0, INF] {
        for at in [5500 * MS, 6 * SEC, 7 * SEC] {
            let (less, more) = (service(alpha, &with, at), service(alpha, &old, at));
            for id in 0..4 {
                assert!(less[id] + 5 * Q < more[id], "alpha {alpha}, {at}: {less:?}, without it {more:?}");
            }
        }
    }
}

/// Property 8: at a departure every task that is scheduled gets more than it would have.
#[test]
fn pbs_c12_p8_everybody_benefits_from_the_departed() {
    let stays = long(&[0, 200, 400, 600, 800]);
    let mut leaves = stays.clone();
    leaves[2].steps = vec![SEC];
    for alpha in [0.5, 1.0, 2.0, INF] {
        let (more, less) = (service(alpha, &leaves, 8 * SEC), service(alpha, &stays, 8 * SEC));
        assert_eq!(more[2], SEC);
        for id in [0, 1, 3, 4] {
            assert!(more[id] > less[id] + 5 * Q, "alpha {alpha}: {more:?}, with it {less:?}");
        }
    }
}

/// Property 6: for alpha > 1 a newcomer has the CPU for itself until its priority T / S^alpha = S^(1 - alpha) is that of
/// the others: with three at 10 s, until S = (3^-alpha 10^(alpha - 1))^(1 / (alpha - 1)).
#[test]
fn pbs_c10_p6_a_large_alpha_starts_quickly() {
    let programs = long(&[0, 0, 0, 10_000]);
    for alpha in [1.5_f64, 2.0, 4.0] {
        let mut bench = started(alpha, &programs, Nobody);
        bench.run(14 * SEC);
        let first = bench.segments.iter().find(|s| s.task == 4).unwrap();
        let alone = (first.to - first.from) as f64 / SEC as f64;
        // The others' T grows meanwhile: (10 + S) / (10 / 3)^alpha = S^(1 - alpha)
        let s = |s: f64| (10.0 + s) / (10.0_f64 / 3.0).powf(alpha) - s.powf(1.0 - alpha);
        assert_eq!(first.from, 10 * SEC);
        assert!(s(alone - 0.001) < 0.0 && s(alone + 0.001) > 0.0, "alpha {alpha}: alone for {alone} s");
    }
}

/// Property 7: for alpha < 1 a newcomer has S = (T / P)^(1 / alpha) at first, less than any part of T.
#[test]
fn pbs_c11_p7_a_small_alpha_starts_slowly() {
    let programs = long(&[0, 0, 0, 10_000]);
    for alpha in [0.3_f64, 0.5, 0.7] {
        for after_ms in [20, 50, 100] {
            let newcomer = service(alpha, &programs, 10 * SEC + after_ms * MS)[3] as f64 / SEC as f64;
            let others = 10.0 / (10.0_f64 / 3.0).powf(alpha);
            let due = (after_ms as f64 / 1000.0 / others).powf(1.0 / alpha);
            assert!(newcomer <= due * 1.05 + 2e-4, "alpha {alpha}, {after_ms} ms: {newcomer}, not {due}");
            assert!(newcomer + 2e-4 >= due * 0.95, "alpha {alpha}, {after_ms} ms: {newcomer}, not {due}");
        }
    }
}

/// Property 10: for alpha >= 1, after the last arrival, a task that is scheduled stays so.
#[test]
fn pbs_c13_p10_a_large_alpha_deprives_nobody() {
    let mut rng = Rng(9);
    for round in 0..12 {
        let alpha = [1.0, 1.5, 2.0, 10.0][round % 4];
        let mut arrivals: Vec<u64> = (0..5).map(|_| rng.within(0, 4000)).collect();
        if round < 4 {
            arrivals = vec![0, 2500, 3000, 3500, 4000]; // Figure 3, where the first drops out if alpha is 0.5
        }
        let last = arrivals.iter().max().unwrap() * MS;
        let mut bench = started(alpha, &long(&arrivals), Nobody);
        bench.run(last);
        let mut before: Vec<u64> = bench.tasks.iter().map(|t| t.service).collect();
        let mut scheduled = [false; 6];
        for step in 1..60 {
            bench.run(last + step * 500 * MS);
            for id in 1..=5 {
                let got = bench.tasks[id].service - before[id];
                assert!(got > 0 || !scheduled[id], "alpha {alpha}, {arrivals:?}: {id} is out at step {step}");
                // More than the turn in which the last one came
                scheduled[id] |= got > MS;
                before[id] = bench.tasks[id].service;
            }
        }
        assert!(scheduled[1..].iter().all(|s| *s), "alpha {alpha}, {arrivals:?}");
        assert!(bench.tasks[1..].iter().all(|t| t.state != State::Done));
    }
}
