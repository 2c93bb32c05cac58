//! stride: papers/stride.md.

use divvy_tests::cases::config;
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};
use divvy_tests::tags::{errors, least_tag_first, weight_set};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(100, 3))]

    #[test]
    fn stride_r1_r2_r5_is_wfq(weights in weight_set()) {
        prop_assert_eq!(Lockstep::with("stride", 1, &weights).first_cpu(600), least_tag_first(&weights, 1, 600));
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
