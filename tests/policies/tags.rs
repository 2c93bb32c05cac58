//! Policies that sort by service over weight: papers/sfq.md, papers/stride.md. Each is compared with its
//! formula in exact fractions, by brute force.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};

/// The clients of one CPU: who has the least (k + ahead)/phi, k quanta received, runs; among equals who waited
/// longest. SFQ has ahead = 0, its start tag; WFQ and stride have 1, the finish tag.
fn least_tag_first(weights: &[u64], ahead: u64, n: usize) -> Vec<u32> {
    let mut k = vec![0u64; weights.len()];
    let mut line: Vec<usize> = (0..weights.len()).collect();
    (0..n)
        .map(|_| {
            let place = (1..line.len()).fold(0, |best, i| {
                let (a, b) = (line[i], line[best]);
                if (k[a] + ahead) * weights[b] < (k[b] + ahead) * weights[a] { i } else { best }
            });
            let chosen = line.remove(place);
            line.push(chosen);
            k[chosen] += 1;
            chosen as u32 + 1
        })
        .collect()
}

fn config(seed: u64) -> ProptestConfig {
    ProptestConfig {
        cases: 100,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    }
}

fn weight_set() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![prop::collection::vec(1u64..13, 1..12), prop::collection::vec(1u64..100, 1..12)]
}

/// e_C Phi_T of each client after t quanta in total
fn errors(machine: &Lockstep, weights: &[u64], t: u64) -> Vec<i128> {
    let total: u64 = weights.iter().sum();
    let e = |(&w, &phi): (&u64, &u64)| i128::from(w * total) - i128::from(t * phi);
    machine.quanta[1..].iter().zip(weights).map(e).collect()
}

proptest! {
    #![proptest_config(config(3))]

    #[test]
    fn sfq_r2_r4_is_its_formula(weights in weight_set()) {
        prop_assert_eq!(Lockstep::with("sfq", 1, &weights).first_cpu(600), least_tag_first(&weights, 0, 600));
    }

    #[test]
    fn stride_r1_r2_r5_is_wfq(weights in weight_set()) {
        prop_assert_eq!(Lockstep::with("stride", 1, &weights).first_cpu(600), least_tag_first(&weights, 1, 600));
    }

    /// -(N-1) phi/Phi_T - 1 < e < 1 for each; |S_a - S_b| <= q/w_a + q/w_b for each two
    #[test]
    fn sfq_r2_errors(weights in weight_set()) {
        let (total, n) = (weights.iter().sum::<u64>() as i128, weights.len() as i128);
        let mut one = Lockstep::with("sfq", 1, &weights);
        for t in 1..=2 * total as u64 {
            one.step();
            for (e, &phi) in errors(&one, &weights, t).into_iter().zip(&weights) {
                prop_assert!(e < total);
                prop_assert!(e >= -(n - 1) * phi as i128);
            }
            for (i, a) in weights.iter().enumerate() {
                for (j, b) in weights.iter().enumerate() {
                    let (k, l) = (one.quanta[i + 1], one.quanta[j + 1]);
                    prop_assert!((k * b).abs_diff(l * a) <= a + b);
                }
            }
        }
    }

    /// e > -1 for each; of the quanta that two got together, each has its share to within one
    #[test]
    fn stride_r2_errors(weights in weight_set()) {
        let total = weights.iter().sum::<u64>();
        let mut one = Lockstep::with("stride", 1, &weights);
        for t in 1..=2 * total {
            one.step();
            prop_assert!(errors(&one, &weights, t).into_iter().all(|e| e > -i128::from(total)));
            for (i, a) in weights.iter().enumerate() {
                for (j, b) in weights.iter().enumerate() {
                    let (k, l) = (one.quanta[i + 1], one.quanta[j + 1]);
                    prop_assert!((k * b).abs_diff(l * a) <= a + b);
                }
            }
            if t % total == 0 {
                prop_assert_eq!(&errors(&one, &weights, t), &vec![0; weights.len()]);
            }
        }
    }
}

/// N + 1 clients, one N times as heavy as each other one, N = 16. WFQ lets the heavy one run ahead, by
/// (N + 1) phi/Phi_T - 1 quanta where ties go to who waited longest; SFQ lets it fall behind by as much.
#[test]
fn stride_r2_sfq_r2_the_n_plus_1_example() {
    let range = |policy: &str, weights: &[u64]| {
        let mut one = Lockstep::with(policy, 1, weights);
        let mut range = (0, 0);
        for t in 0..32 {
            let ran = one.step()[0] as usize - 1;
            let after = errors(&one, weights, t + 1)[ran];
            let before = after - (32 - i128::from(weights[ran]));
            range = (range.0.min(before), range.1.max(after));
        }
        (range.0 as f64 / 32.0, range.1 as f64 / 32.0)
    };
    let mut heavy_first = vec![1; 17];
    heavy_first[0] = 16;
    assert_eq!(range("stride", &heavy_first), (-0.9375, 7.5));
    assert_eq!(range("sfq", &heavy_first), (-7.5, 0.9375));
}

/// A sleeper starts at v, not at its own old tag: it has no claim on the time that it slept. B slept while A
/// had 5 quanta; then they take turns at once.
#[test]
fn sfq_r1_r3_no_claim_after_a_sleep() {
    let (a, b) = (1, 2);
    let mut one = Lockstep::with("sfq", 1, &[1, 1]);
    assert_eq!(one.first_cpu(2), [a, b]);
    one.leave(b, false);
    assert_eq!(one.first_cpu(5), [a; 5]);
    one.wake(b);
    assert_eq!(one.first_cpu(5), [b, a, b, a, b]);
}

/// S = max(F, v): who is ahead when it blocks is so when it is back. A has used a quarter of a quantum, B a
/// whole one; A uses quarters from then on, and has four before B's tag of 1 is the least that waits longest.
#[test]
fn sfq_r1_r2_keeps_what_it_is_ahead() {
    let (a, b) = (1, 2);
    let mut one = Lockstep::with("sfq", 1, &[1, 1]);
    let turn = |one: &mut Lockstep| {
        one.decide(0);
        let task = one.running()[0];
        one.pass(if task == a { QUANTUM_NS / 4 } else { QUANTUM_NS });
        task
    };
    assert_eq!([turn(&mut one), turn(&mut one)], [a, b]);
    one.leave(b, false);
    one.wake(b);
    let ran: Vec<_> = (0..8).map(|_| turn(&mut one)).collect();
    assert_eq!(ran, [a, a, a, b, a, a, a, a]);
}

/// When all have blocked v is the finish tag of the last: the next busy period begins with equal tags.
#[test]
fn sfq_r3_idle_keeps_the_last_finish_tag() {
    let (a, b, c) = (1, 2, 3);
    let mut one = Lockstep::with("sfq", 1, &[1, 1]);
    assert_eq!(one.first_cpu(5), [a, b, a, b, a]);
    one.leave(b, false);
    one.leave(a, false);
    assert_eq!(one.step(), [0]);
    one.add(1);
    one.wake(b);
    one.wake(a);
    // v = 3 = F_a; b had 2 and is given 3, as c is.
    assert_eq!(one.first_cpu(6), [c, b, a, c, b, a]);
}

/// A (1) and B (1) have had 2 quanta each; B is away for 6 of A's. It comes back as far from the global pass as
/// it left it, one stride ahead of 2: so the turns go on, and nothing is made up for.
#[test]
fn stride_r3_remain() {
    let (a, b) = (1, 2);
    let mut one = Lockstep::with("stride", 1, &[1, 1]);
    assert_eq!(one.first_cpu(4), [a, b, a, b]);
    one.leave(b, false);
    assert_eq!(one.first_cpu(6), [a; 6]);
    one.wake(b);
    let mut got = one.first_cpu(6);
    got.sort_unstable();
    assert_eq!(got, [a, a, a, b, b, b]);
}

/// The heavy one (4 of 8) has run ahead to pass 1 when the global pass is 3/8. It blocks and is back at once: still
/// at 1, where the light ones have waited longer.
#[test]
fn stride_r3_ahead_stays_ahead() {
    let mut one = Lockstep::with("stride", 1, &[4, 1, 1, 1, 1]);
    assert_eq!(one.first_cpu(3), [1, 1, 1]);
    one.leave(1, false);
    one.wake(1);
    assert_eq!(one.first_cpu(5), [2, 3, 4, 5, 1]);
}

/// Both have pass 3 at global pass 2 when A's weight becomes 4: its stride is 1/4, so remain 1 becomes 1/4, and
/// its pass 2 1/4. It runs at that, at 2 1/2 and 2 3/4, and at 3 not before B.
#[test]
fn stride_r4_a_new_weight_scales_remain() {
    let (a, b) = (1, 2);
    let mut one = Lockstep::with("stride", 1, &[1, 1]);
    assert_eq!(one.first_cpu(4), [a, b, a, b]);
    one.decide(0);
    assert_eq!(one.running(), [a]);
    one.set_weight(a, 4);
    one.pass(QUANTUM_NS);
    assert_eq!(one.first_cpu(9), [a, a, b, a, a, a, a, b, a]);
}

/// B waits at pass 1 when its weight becomes 4: 1/4, before A.
#[test]
fn stride_r4_a_new_weight_of_one_that_waits() {
    let (a, b) = (1, 2);
    let mut one = Lockstep::with("stride", 1, &[1, 1]);
    one.set_weight(b, 4);
    assert_eq!(one.first_cpu(10), [b, b, b, a, b, b, b, b, a, b]);
}

/// Half a quantum used moves the pass by half a stride: A has pass 1, 1 1/2, 2, .., B 1, 2, ..
#[test]
fn stride_r2_partial_quanta() {
    let (a, b) = (1, 2);
    let mut one = Lockstep::with("stride", 1, &[1, 1]);
    let mut got = Vec::new();
    for _ in 0..10 {
        one.decide(0);
        let task = one.running()[0];
        one.pass(if task == a { QUANTUM_NS / 2 } else { QUANTUM_NS });
        got.push(task);
    }
    assert_eq!(got, [a, b, a, b, a, a, b, a, a, b]);
}
