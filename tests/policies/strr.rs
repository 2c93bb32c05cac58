//! strr: papers/strr.md.

use divvy_tests::cases::{config, weights};
use divvy_tests::lockstep::Lockstep;
use divvy_tests::study::errors;
use proptest::prelude::*;

/// StRR from its rules, by a scan of all classes in each slot
fn strr(weights: &[u64], n: usize) -> Vec<u32> {
    let capacity = weights.iter().sum::<u64>().next_power_of_two().ilog2();
    let class = |w: u64| capacity - w.ilog2();
    // For each class that there is: its flows, how many were served and in which interval
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
    #![proptest_config(config(100, 32))]

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
