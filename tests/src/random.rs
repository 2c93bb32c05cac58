//! Random numbers and programs, the same ones everywhere.

use crate::bench::Program;

/// SplitMix64: pinned, so that a failure is the same everywhere.
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// Programs that arrive, run, sleep and exit at odd times.
    pub fn programs(&mut self, tasks: u64, bursts: u64, longest: u64) -> Vec<Program> {
        (0..tasks)
            .map(|_| {
                let steps = 2 * self.within(0, bursts) + 1;
                let steps = (0..steps).map(|_| self.within(1, longest)).collect();
                Program { arrival: self.within(0, 5 * longest), weight: self.within(15, 4096), steps }
            })
            .collect()
    }
}
