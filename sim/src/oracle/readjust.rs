//! Feasible weights: on P CPUs nobody can have more than 1/P of the whole, so heavier weights are cut to
//! that.

use num_traits::Zero;

use super::{Rational, whole};

/// The recursion of Surplus Fair Scheduling (Chandra et al., 2000, Figure 2): from the heaviest down, whoever
/// asks for more than one of the CPUs left gets one, and the weight that amounts to it among those after.
///
/// With fewer tasks than CPUs each has its own CPU, and all end up with the least weight: the paper's
/// recursion, on as many CPUs as there are tasks.
///
/// # Panics
/// If a weight is not positive.
pub fn recursive(weights: &[Rational], cpus: u32) -> Vec<Rational> {
    assert!(weights.iter().all(|w| *w > Rational::zero()), "weights are positive");
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| weights[b].cmp(&weights[a]));
    let mut sorted: Vec<Rational> = order.iter().map(|&i| weights[i].clone()).collect();
    readjust(&mut sorted, (cpus as usize).min(weights.len()));
    let mut result = weights.to_vec();
    for (i, weight) in order.into_iter().zip(sorted) {
        result[i] = weight;
    }
    result
}

/// `readjust(w[i..], p)`, for weights in descending order.
fn readjust(w: &mut [Rational], p: usize) {
    let total: Rational = w.iter().sum();
    if p > 1 && &w[0] * whole(p) > total {
        readjust(&mut w[1..], p - 1);
        let rest: Rational = w[1..].iter().sum();
        w[0] = rest / whole(p - 1);
    }
}

/// The same from the definition, by trying every set of tasks that may have been cut: the weights are min(w,
/// x) for the greatest x at which x is 1/P of their sum. For up to a dozen tasks.
///
/// # Panics
/// If there are more than 20 tasks, which would take too long.
pub fn brute_force(weights: &[Rational], cpus: u32) -> Vec<Rational> {
    assert!(weights.len() <= 20, "2^n sets");
    let p = (cpus as usize).min(weights.len());
    let mut greatest: Option<Rational> = None;
    for set in 0..1_u32 << weights.len() {
        let cut = |i: usize| set >> i & 1 == 1;
        let (heavy, light): (Vec<usize>, Vec<usize>) = (0..weights.len()).partition(|&i| cut(i));
        let x = if heavy.len() < p {
            light.iter().map(|&i| &weights[i]).sum::<Rational>() / whole(p - heavy.len())
        } else if heavy.len() == p && light.is_empty() {
            // Everyone is cut, so any x up to the least weight will do.
            weights.iter().min().cloned().unwrap_or_else(Rational::zero)
        } else {
            continue;
        };
        let consistent = heavy.iter().all(|&i| weights[i] >= x) && light.iter().all(|&i| weights[i] <= x);
        if consistent && greatest.as_ref().is_none_or(|best| x > *best) {
            greatest = Some(x);
        }
    }
    match greatest {
        Some(x) => weights.iter().map(|w| w.clone().min(x.clone())).collect(),
        None => weights.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{fraction, gms};

    fn wholes(values: &[u64]) -> Vec<Rational> {
        values.iter().map(|&n| whole(n)).collect()
    }

    #[test]
    fn examples() {
        for (weights, cpus, expected) in [
            (&[10, 1][..], 2, &[1, 1][..]),
            (&[1, 10, 1], 2, &[1, 2, 1]),
            (&[100, 50, 1, 1, 1, 1, 1, 1], 4, &[3, 3, 1, 1, 1, 1, 1, 1]),
            (&[5, 2, 1], 1, &[5, 2, 1]),
            (&[3, 2, 1], 2, &[3, 2, 1]),
            (&[9, 4, 2], 8, &[2, 2, 2]),
            (&[9, 4, 2], 3, &[2, 2, 2]),
            (&[7], 4, &[7]),
            (&[], 2, &[]),
        ] {
            assert_eq!(recursive(&wholes(weights), cpus), wholes(expected), "{weights:?} on {cpus}");
        }
        assert_eq!(recursive(&wholes(&[9, 2, 1, 1, 1]), 3)[0], fraction(5, 2));
    }

    /// The recursion agrees with the definition, with GMS, and with what the papers say of it, on 6000 cases.
    #[test]
    fn properties() {
        let mut adjusted = 0;
        for case in 0..6000_u64 {
            let n = case % 7 + 1;
            let weights = (0..n).map(|i| {
                1 + (case * 2_654_435_761 + i * i * 40_503 + i * 977) % 4099 % (1 << (i % 4 * 3 + 1))
            });
            let weights: Vec<Rational> = weights.map(whole).collect();
            let cpus = (case / 7 % 9 + 1) as u32;
            let result = recursive(&weights, cpus);
            assert_eq!(result, brute_force(&weights, cpus), "{weights:?} on {cpus}");
            assert_eq!(recursive(&result, cpus), result, "idempotent");

            let p = whole(u64::from(cpus).min(n));
            let total: Rational = result.iter().sum();
            assert!(result.iter().all(|w| w * &p <= total), "feasible");
            let changed = (0..weights.len()).filter(|&i| result[i] != weights[i]).count();
            assert!(changed < cpus as usize, "fewer than P are cut");
            adjusted += usize::from(changed > 0);

            // Proportional sharing of the readjusted weights is GMS of the original ones.
            let shares: Vec<Rational> = result.iter().map(|w| w * &p / &total).collect();
            assert_eq!(shares, gms::rates(&weights, cpus), "{weights:?} on {cpus}");
        }
        assert!(adjusted > 1500, "only {adjusted} of the cases needed readjustment");
    }
}
