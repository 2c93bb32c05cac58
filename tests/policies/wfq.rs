//! wfq: papers/wfq.md. The tests that it shares are in `virtual_time.rs`.

use divvy_tests::cases::{config, weights};
use divvy_tests::lockstep::Lockstep;
use divvy_tests::tags::least_tag_first;
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(100, 33))]

    #[test]
    fn wfq_r1_is_its_formula(weights in weights()) {
        prop_assert_eq!(Lockstep::with("wfq", 1, &weights).first_cpu(600), least_tag_first(&weights, 1, 600));
    }
}
