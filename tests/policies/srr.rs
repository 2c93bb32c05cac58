//! srr: papers/srr.md.

use divvy_tests::cases::{config, weights};
use divvy_tests::lockstep::Lockstep;
use divvy_tests::study::errors;
use proptest::prelude::*;

/// S_K by its recursion
fn spread_sequence(k: u32) -> Vec<u32> {
    if k == 0 {
        return Vec::new();
    }
    let half = spread_sequence(k - 1);
    [half.clone(), vec![k], half].concat()
}

fn srr(weights: &[u64], n: usize) -> Vec<u32> {
    let k = u64::BITS - weights.iter().max().unwrap().leading_zeros();
    let served = |v: u32| (1..).zip(weights).filter(move |(_, w)| *w >> (k - v) & 1 == 1).map(|(id, _)| id);
    spread_sequence(k)
        .into_iter()
        .flat_map(served)
        .collect::<Vec<u32>>()
        .into_iter()
        .cycle()
        .take(n)
        .collect()
}

proptest! {
    #![proptest_config(config(100, 32))]

    #[test]
    fn srr_r1_is_its_sequence(weights in weights()) {
        prop_assert_eq!(Lockstep::with("srr", 1, &weights).first_cpu(600), srr(&weights, 600));
    }

    #[test]
    fn srr_r1_closes(weights in weights()) {
        errors("srr", &[], &weights, true);
    }
}

#[test]
fn srr_r1_worked_example() {
    let one = |n| Lockstep::with("srr", 1, &[5, 2, 2, 3, 1]).first_cpu(n);
    assert_eq!(one(13), [1, 2, 3, 4, 1, 1, 4, 5, 1, 2, 3, 4, 1]);
    assert_eq!(one(26)[13..], one(13));
}

/// 2, of 1 to 3, has just been served: the next term is 3 for bit 0 of all, whichever tasks came and went meanwhile.
#[test]
fn srr_r2_r3_the_heaviest_comes_and_goes() {
    let mut plain = Lockstep::with("srr", 1, &[1, 2, 3]);
    let mut other = Lockstep::with("srr", 1, &[1, 2, 3]);
    let first = plain.first_cpu(4);
    assert_eq!(other.first_cpu(4), first);
    let heavy = other.add(64);
    other.leave(heavy, true);
    other.set_weight(1, 9);
    other.set_weight(1, 1);
    let (mut a, mut b) = (plain.first_cpu(120), other.first_cpu(120));
    assert_eq!(a.iter().filter(|&&t| t == 3).count(), b.iter().filter(|&&t| t == 3).count());
    a.sort_unstable();
    b.sort_unstable();
    assert_eq!(a, b);
}
