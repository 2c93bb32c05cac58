//! sfq: papers/sfq.md.

use divvy_tests::cases::config;
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};
use divvy_tests::tags::{errors, least_tag_first, weight_set};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(100, 3))]

    #[test]
    fn sfq_r2_r4_is_its_formula(weights in weight_set()) {
        prop_assert_eq!(Lockstep::with("sfq", 1, &weights).first_cpu(600), least_tag_first(&weights, 0, 600));
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
}

/// N + 1 clients, one N times as heavy as each other one, N = 16. WFQ lets the heavy one run ahead, by
/// (N + 1) phi/Phi_T - 1 quanta where ties go to the one that waited longest; SFQ lets it fall behind by as much.
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

/// S = max(F, v): a task that is ahead when it blocks is so when it is back. A has used a quarter of a quantum, B a
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
