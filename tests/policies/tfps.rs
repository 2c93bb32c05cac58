//! tfps: papers/tfps.md. A test that it shares with procfair is in `procfair/mod.rs`.

use divvy_policy::{TaskId, Weight};
use divvy_tests::cases::config;
use divvy_tests::lockstep::Lockstep;
use divvy_tests::threads::{Told, event, program};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(300, 6))]

    #[test]
    fn tfps_r1_r2_is_its_formula(
        cpus in 1u32..9,
        all in any::<bool>(),
        events in prop::collection::vec(event(), 60),
    ) {
        let mut told = Told::new("tfps", all, cpus);
        for event in &events {
            told.tell(event);
            told.compare(all, |weight, alpha| weight * alpha.min(cpus.into()) / alpha);
        }
    }
}

/// Programs of 1, 4 and 16 threads on 4 CPUs: 1:4:4. By the weights, and by what they get.
#[test]
fn tfps_r1_r2_figure_10() {
    for policy in ["sfq", "stride", "sfs", "gr3"] {
        let mut four = Lockstep::new(&format!("{policy}+tfps"), 4);
        let programs: Vec<Vec<u32>> = [1, 4, 16].map(|n| program(&mut four, n)).into();
        let weight =
            |threads: &Vec<u32>| threads.iter().map(|&t| four.machine.weight(TaskId::new(t))).sum::<Weight>();
        assert_eq!(programs.iter().map(weight).collect::<Vec<_>>(), [12, 48, 48].map(|w| w * Weight::ONE));
        four.run(9 * 500);
        let got = |threads: &Vec<u32>| threads.iter().map(|&t| four.quanta[t as usize]).sum::<u64>();
        let got: Vec<u64> = programs.iter().map(got).collect();
        for (got, expected) in got.iter().zip([2000_u64, 8000, 8000]) {
            assert!(got.abs_diff(expected) * 100 <= expected, "{policy}: {got} of {expected} quanta");
        }
    }
}
