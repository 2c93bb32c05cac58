//! Round-robins that spread each client's quanta: papers/vtrr.md, papers/srr.md, papers/strr.md.

use proptest::prelude::*;

use divvy_tests::cases::{config, weights};
use divvy_tests::lockstep::Lockstep;
use divvy_tests::study::errors;

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

/// StRR from its rules, by a scan of all classes in each slot
fn strr(weights: &[u64], n: usize) -> Vec<u32> {
    let capacity = weights.iter().sum::<u64>().next_power_of_two().ilog2();
    let class = |w: u64| capacity - w.ilog2();
    // Of each class that there is: its flows, how many were served and in which interval
    let mut classes: Vec<(u32, Vec<usize>, usize, u64)> = (0..=capacity)
        .map(|k| (k, (0..weights.len()).filter(|&i| class(weights[i]) == k).collect(), 0, 0))
        .filter(|(_, flows, ..): &(u32, Vec<usize>, usize, u64)| !flows.is_empty())
        .collect();
    let mut deficit = vec![0; weights.len()];
    let mut order = Vec::new();
    let mut slot = 0_u64;
    while order.len() < n {
        for (k, _, served, interval) in &mut classes {
            if slot >> *k != *interval {
                (*served, *interval) = (0, slot >> *k);
            }
        }
        if let Some((_, flows, served, _)) =
            classes.iter_mut().find(|(_, flows, served, _)| *served < flows.len())
        {
            *served += 1;
            let flow = flows.remove(0);
            flows.push(flow);
            let one = 1 << weights[flow].ilog2();
            deficit[flow] += weights[flow];
            order.extend(std::iter::repeat_n(flow as u32 + 1, (deficit[flow] / one) as usize));
            deficit[flow] %= one;
        }
        slot += 1;
    }
    order.truncate(n);
    order
}

proptest! {
    #![proptest_config(config(32))]

    #[test]
    fn vtrr_r1_r2_r3_is_its_formula(weights in weights()) {
        prop_assert_eq!(Lockstep::with("vtrr", 1, &weights).first_cpu(600), vtrr(&weights, 600));
    }

    #[test]
    fn vtrr_r3_closes(weights in weights()) {
        errors("vtrr", &[], &weights, true);
    }

    #[test]
    fn srr_r1_is_its_sequence(weights in weights()) {
        prop_assert_eq!(Lockstep::with("srr", 1, &weights).first_cpu(600), srr(&weights, 600));
    }

    #[test]
    fn strr_r1_r2_r3_is_its_formula(weights in weights()) {
        prop_assert_eq!(Lockstep::with("strr", 1, &weights).first_cpu(600), strr(&weights, 600));
    }

    /// Halves, each in two halves again as often as `cuts` says
    #[test]
    fn strr_r2_powers_of_two(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10)) {
        let mut weights = vec![1024_u64];
        for cut in cuts {
            let at = cut.index(weights.len());
            weights[at] /= 2;
            weights.push(weights[at]);
        }
        let ran = Lockstep::with("strr", 1, &weights).first_cpu(2048);
        for (id, weight) in (1..).zip(weights) {
            for interval in ran.chunks(1024 / weight as usize) {
                prop_assert_eq!(interval.iter().filter(|&&r| r == id).count(), 1);
            }
        }
    }

    #[test]
    fn srr_r1_closes(weights in weights()) {
        errors("srr", &[], &weights, true);
    }
}

#[test]
fn vtrr_r1_worked_example() {
    assert_eq!(Lockstep::with("vtrr", 1, &[3, 2, 1]).first_cpu(12), [1, 2, 3, 1, 2, 1, 1, 2, 3, 1, 2, 1]);
}

#[test]
fn srr_r1_worked_example() {
    let one = |n| Lockstep::with("srr", 1, &[5, 2, 2, 3, 1]).first_cpu(n);
    assert_eq!(one(13), [1, 2, 3, 4, 1, 1, 4, 5, 1, 2, 3, 4, 1]);
    assert_eq!(one(26)[13..], one(13));
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

/// Of 1, 2 and 3, 2 has just been served: the next term is 3 for bit 0 of all, whoever came and went meanwhile.
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

#[test]
fn strr_r1_r2_the_gr3_papers_example() {
    for m in [4, 7, 10] {
        let light = 1 << m;
        let mut weights = vec![1; light + 1];
        weights[0] = 2 * light as u64;
        let ran = Lockstep::with("strr", 1, &weights).first_cpu(3 * light);
        // When each light one has been served once: the heavy one had m quanta of 2m, and 2/3 are its part.
        let heavy = ran[..2 * light].iter().filter(|&&id| id == 1).count();
        assert_eq!(heavy, light);
        let (least, _) = errors("strr", &[], &weights, true);
        assert!((least + light as f64 / 3.0).abs() < 0.7, "{least}");
        let longest = ran.repeat(2).chunk_by(|a, b| a == b).map(<[u32]>::len).max();
        assert_eq!(longest, Some(light + 1));
    }
}

/// The sum goes from 4 to 8 and back: 1 of 4 has a quantum in each 4 slots, and goes on so.
#[test]
fn strr_r4_who_comes_and_goes() {
    let mut one = Lockstep::with("strr", 1, &[2, 1, 1]);
    assert_eq!(one.first_cpu(6), [1, 2, 1, 3, 1, 2]);
    let heavy = one.add(4);
    let ran = one.first_cpu(16);
    let count = |ran: &[u32], id| ran.iter().filter(|&&r| r == id).count() as i64;
    for (id, due) in [(heavy, 8), (1, 4), (2, 2), (3, 2)] {
        assert!((count(&ran, id) - due).abs() <= 1, "{ran:?}");
    }
    one.leave(heavy, false);
    let ran = one.first_cpu(16);
    for (id, due) in [(1, 8), (2, 4), (3, 4)] {
        assert!((count(&ran, id) - due).abs() <= 1, "{ran:?}");
    }
}
