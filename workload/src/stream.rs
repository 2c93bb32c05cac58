//! Random streams that are the same on every machine, and the same for every policy.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

/// The purpose of a stream's numbers: each purpose has its own, so that a longer run time here never shifts
/// an arrival there, and all policies see the same jobs (common random numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// CPU demands.
    Run = 1,
    /// Sleep and think times.
    Sleep = 2,
    /// Times between arrivals.
    Arrival = 3,
    /// Random numbers of a policy.
    Policy = 4,
}

/// A stream of random numbers: PCG-XSL-RR 128/64 (MCG), pinned by name because its values are part of results.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

/// The stream of one purpose of one task instance in one repetition.
pub fn stream(seed: u64, rep: u32, instance: u64, purpose: Purpose) -> Stream {
    let mut state = seed;
    for word in [u64::from(rep), instance, purpose as u64] {
        state = splitmix64(state) ^ word;
    }
    let low = splitmix64(state);
    let high = splitmix64(low ^ state);
    Stream(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
}

/// The instance of [`stream`]: number `number` of the workload's task `class`, in the order of their births. That of
/// the first is also the class's own, for its arrivals.
pub fn instance(class: usize, number: u32) -> u64 {
    (class as u64) << 32 | u64::from(number)
}

/// The finaliser of splitmix64 after one step: a bijection that spreads each input bit over all output bits.
fn splitmix64(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in the open interval (0, 1), a multiple of 2^-53: never 0 or 1, so its logarithm is finite.
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
    }

    /// Uniform in 0..`bound`, unbiased (Lemire, "Fast Random Integer Generation in an Interval", 2019). 0 for 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let threshold = bound.wrapping_neg().checked_rem(bound).unwrap_or(0);
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first two outputs of splitmix64 from state 0, as published with it.
    #[test]
    fn splitmix64_matches_its_reference() {
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    /// Expected values from a second implementation of the generator and its seeding, in another language.
    #[test]
    fn streams_are_pinned() {
        let mut s = stream(1, 0, 0, Purpose::Run);
        let values: Vec<u64> = (0..4).map(|_| s.next_u64()).collect();
        let pinned: [u64; 4] =
            [6684522396539303710, 12192573514312415917, 9652745873759521019, 14737127359945251325];
        assert_eq!(values, pinned);
    }

    #[test]
    fn every_part_of_the_key_changes_the_stream() {
        let firsts = [
            stream(1, 0, 0, Purpose::Run),
            stream(2, 0, 0, Purpose::Run),
            stream(1, 1, 0, Purpose::Run),
            stream(1, 0, 1, Purpose::Run),
            stream(1, 0, 0, Purpose::Sleep),
            stream(1, 0, 0, Purpose::Arrival),
            stream(1, 0, 0, Purpose::Policy),
        ]
        .map(|mut s| s.next_u64());
        let distinct: std::collections::BTreeSet<u64> = firsts.into_iter().collect();
        assert_eq!(distinct.len(), firsts.len());
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut s = stream(7, 0, 0, Purpose::Run);
        let mut seen = [0_u32; 5];
        for _ in 0..50_000 {
            seen[s.below(5) as usize] += 1;
        }
        // Binomial(50000, 1/5): standard deviation 89.
        assert!(seen.iter().all(|&n| n.abs_diff(10_000) < 360), "{seen:?}");
        assert_eq!((s.below(0), s.below(1)), (0, 0));
    }
}
