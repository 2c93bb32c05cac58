//! Policies that sort by service over weight: their formula by brute force, and errors of service.

use proptest::prelude::*;

use crate::lockstep::Lockstep;

/// The choices of one CPU. The client with the least (k + ahead)/phi runs, after k quanta received; among equals the one
/// that waited longest. SFQ has ahead = 0, its start tag; WFQ and stride have 1, the finish tag.
pub fn least_tag_first(weights: &[u64], ahead: u64, n: usize) -> Vec<u32> {
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

/// Up to 11 integer weights.
pub fn weight_set() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![prop::collection::vec(1u64..13, 1..12), prop::collection::vec(1u64..100, 1..12)]
}

/// e_C Phi_T of each client after t quanta in total
pub fn errors(machine: &Lockstep, weights: &[u64], t: u64) -> Vec<i128> {
    let total: u64 = weights.iter().sum();
    let e = |(&w, &phi): (&u64, &u64)| i128::from(w * total) - i128::from(t * phi);
    machine.quanta[1..].iter().zip(weights).map(e).collect()
}
