//! Random cases, the same ones each time.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

pub fn config(seed: u64) -> ProptestConfig {
    ProptestConfig {
        cases: 100,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    }
}

/// Integer weights, the least of which is 1
pub fn weights() -> impl Strategy<Value = Vec<u64>> {
    let set = prop_oneof![prop::collection::vec(1u64..13, 1..12), prop::collection::vec(1u64..100, 1..12)];
    (set, any::<prop::sample::Index>()).prop_map(|(mut weights, one)| {
        let at = one.index(weights.len());
        weights[at] = 1;
        weights
    })
}
