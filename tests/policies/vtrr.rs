//! vtrr: papers/vtrr.md.

use divvy_tests::cases::{config, weights};
use divvy_tests::lockstep::Lockstep;
use divvy_tests::study::errors;
use proptest::prelude::*;

/// VTRR from its rules: numbers are places in the sorted queue, and names come last.
fn vtrr(weights: &[u64], n: usize) -> Vec<u32> {
    let total: u64 = weights.iter().sum();
    let mut queue: Vec<(u32, u64)> = (1..).zip(weights.iter().copied()).collect();
    queue.sort_by_key(|&(_, share)| std::cmp::Reverse(share));
    let share = |c: usize| queue[c].1;
    let mut had = vec![0; queue.len()];
    let (mut t, mut c) = (0, 0);
    (0..n)
        .map(|_| {
            let chosen = c;
            had[c] += 1;
            t += 1;
            if t == total {
                (t, c) = (0, 0);
                had.fill(0);
            } else {
                let next = c + 1;
                let goes_on = next < queue.len()
                    && (share(next) - had[next] > share(c) - had[c]
                        || had[next] * total < (t + 1) * share(next));
                c = if goes_on { next } else { 0 };
            }
            queue[chosen].0
        })
        .collect()
}

proptest! {
    #![proptest_config(config(100, 32))]

    #[test]
    fn vtrr_r1_r2_r3_is_its_formula(weights in weights()) {
        prop_assert_eq!(Lockstep::with("vtrr", 1, &weights).first_cpu(600), vtrr(&weights, 600));
    }

    #[test]
    fn vtrr_r3_closes(weights in weights()) {
        errors("vtrr", &[], &weights, true);
    }
}

#[test]
fn vtrr_r1_worked_example() {
    assert_eq!(Lockstep::with("vtrr", 1, &[3, 2, 1]).first_cpu(12), [1, 2, 3, 1, 2, 1, 1, 2, 3, 1, 2, 1]);
}

/// 4 comes in the middle of the third round and goes with the fourth: it has had a round's part of each, and what
/// the others had is as their shares.
#[test]
fn vtrr_r4_r5_keep_errors() {
    let mut one = Lockstep::with("vtrr", 1, &[6, 3, 3]);
    one.run(24 + 7);
    let before = one.quanta.clone();
    one.add(12);
    one.run(48);
    let got: Vec<i64> = (1..4).map(|i| (one.quanta[i] - before[i]) as i64).collect();
    assert!(got.iter().zip([12, 6, 6]).all(|(g, due)| (g - due).abs() <= 1), "{got:?}");
    assert!((one.quanta[4] as i64 - 24).abs() <= 1, "{:?}", one.quanta);
    // Away and back within the cycle gains nothing.
    one.leave(4, false);
    one.wake(4);
    one.set_weight(4, 6);
    let before = one.quanta.clone();
    one.run(36);
    let got: Vec<i64> = (1..5).map(|i| (one.quanta[i] - before[i]) as i64).collect();
    assert!(got.iter().zip([12, 6, 6, 12]).all(|(g, due)| (g - due).abs() <= 1), "{got:?}");
}
