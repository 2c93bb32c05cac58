//! wf2q: papers/wf2q.md; and wf2qplus where it does the same: papers/wf2qplus.md. More is in `virtual_time.rs`.

use divvy_tests::cases::{config, weights};
use divvy_tests::lockstep::Lockstep;
use proptest::prelude::*;

/// Each choice has k/phi <= t/Phi, and the least (k + 1)/phi among those that have; equal ones come in any order.
fn is_wf2q(weights: &[u64], ran: &[u32]) -> Result<(), TestCaseError> {
    let total: u64 = weights.iter().sum();
    let mut k = vec![0; weights.len()];
    for (t, &id) in (0_u64..).zip(ran) {
        let eligible = |&i: &usize| k[i] * total <= t * weights[i];
        let chosen = id as usize - 1;
        prop_assert!(eligible(&chosen), "{t}: {id} has not started");
        let first = (0..weights.len())
            .filter(eligible)
            .all(|i| (k[chosen] + 1) * weights[i] <= (k[i] + 1) * weights[chosen]);
        prop_assert!(first, "{t}: {id} is not the first to finish");
        k[chosen] += 1;
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(100, 33))]

    #[test]
    fn wf2q_r1_wf2qplus_r1_is_its_formula(weights in weights()) {
        for policy in ["wf2q", "wf2qplus"] {
            is_wf2q(&weights, &Lockstep::with(policy, 1, &weights).first_cpu(600))?;
        }
    }
}
