//! The study of section 5.1 of the GR3 paper, in exact integers: one client has a tenth of all shares, the others
//! random parts of the rest; all run always, in unit quanta, until each has had its share.

use divvy_policy::{CpuId, Machine, MachineConfig, TaskId, Weight};

use crate::lockstep::QUANTUM_NS;

/// Least and greatest service error of any client, in quanta
pub type Range = (f64, f64);

/// Parameters: policy, index, value
pub type Params = &'static [(&'static str, usize, i64)];

/// PCG-like and fixed: the same weights each time
pub struct Random(u64);

impl Random {
    /// The numbers that follow from this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// `n` weights that add up to `total`, the first `skew` percent of it. Of the others each has at least 1; what
/// roundings leave over goes round by cumulative rounding.
pub fn weight_set(random: &mut Random, n: usize, total: u64, skew: u64) -> Vec<u64> {
    let big = (total * skew + 50) / 100;
    let uniform: Vec<u64> = (1..n).map(|_| random.next()).collect();
    let sum: u128 = uniform.iter().map(|&u| u128::from(u)).sum();
    let mut weights = vec![big];
    let (mut upto, mut given) = (0_u128, 0_u64);
    for u in uniform {
        upto += u128::from(u);
        let due = (upto * u128::from(total - big) / sum) as u64;
        let weight = due.saturating_sub(given).max(1);
        weights.push(weight);
        given += weight;
    }
    settle(&mut weights, total);
    weights
}

/// Makes the sum `total`, by taking from or giving to those in the middle.
fn settle(weights: &mut [u64], total: u64) {
    let n = weights.len();
    let mut at = n / 2;
    while weights.iter().sum::<u64>() != total {
        let more = weights.iter().sum::<u64>() > total;
        if !more {
            weights[at] += 1;
        } else if weights[at] > 1 {
            weights[at] -= 1;
        }
        at = 1 + at % (n - 1);
    }
}

/// One whole period of a policy. Checks that each client has had its weight in the end if it `closes`.
pub fn errors(policy: &str, params: &[(&str, usize, i64)], weights: &[u64], closes: bool) -> Range {
    let total: u64 = weights.iter().sum();
    let mut machine = Machine::new(&MachineConfig::new(policy, 1, QUANTUM_NS).with_params(params)).unwrap();
    for (id, weight) in TaskId::all().zip(weights) {
        machine.add(id, id, weight * Weight::ONE, 0);
        machine.wake(id, true, 0);
    }
    let mut quanta = vec![0_i64; weights.len()];
    let (mut least, mut most) = (0, 0);
    let (mut now, mut on, mut since) = (0, None, 0);
    for t in 0..total as i64 {
        let chosen = machine.dispatch(CpuId::new(0), now).expect("somebody").task;
        if on != Some(chosen) {
            if let Some(on) = on {
                machine.requeue(on, now - since, now);
            }
            machine.running(chosen, now);
            (on, since) = (Some(chosen), now);
        }
        let client = chosen.index() - 1;
        let (weight, all) = (weights[client] as i64, total as i64);
        least = least.min(quanta[client] * all - t * weight);
        quanta[client] += 1;
        most = most.max(quanta[client] * all - (t + 1) * weight);
        now += QUANTUM_NS;
    }
    if closes {
        assert!(
            quanta.iter().zip(weights).all(|(&w, &phi)| w as u64 == phi),
            "{policy}: not each its weight"
        );
    }
    (least as f64 / total as f64, most as f64 / total as f64)
}

/// Over `sets` weight sets: the extremes, and the means of the extremes
pub fn cell(policy: &str, params: Params, n: usize, total: u64, skew: u64, sets: u32) -> (Range, Range) {
    let mut random = Random::new(n as u64 ^ total << 20 ^ skew);
    let mut worst = (f64::MAX, f64::MIN);
    let mut mean = (0.0, 0.0);
    for _ in 0..sets {
        let weights = weight_set(&mut random, n, total, skew);
        let (least, most) = errors(policy, params, &weights, false);
        worst = (worst.0.min(least), worst.1.max(most));
        mean = (mean.0 + least / f64::from(sets), mean.1 + most / f64::from(sets));
    }
    (worst, mean)
}
