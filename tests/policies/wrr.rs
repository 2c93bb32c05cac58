//! wrr: papers/wrr.md; and drr where it does the same: papers/drr.md.

use divvy_policy::CpuId;
use divvy_tests::cases::{config, weights};
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};
use divvy_tests::study::errors;
use proptest::prelude::*;

/// Each client's quanta in a row, in turn
fn in_a_row(weights: &[u64], n: usize) -> Vec<u32> {
    let round = (1..).zip(weights).flat_map(|(id, &phi)| std::iter::repeat_n(id, phi as usize));
    round.collect::<Vec<u32>>().into_iter().cycle().take(n).collect()
}

/// phi_1 (1 - phi_1/Phi) is one of the maxima phi_i (1 - (prefix_i + phi_i)/Phi), -phi_i prefix_i/Phi are the minima.
fn closed_form(weights: &[u64]) -> (f64, f64) {
    let total: u64 = weights.iter().sum();
    let (mut least, mut most, mut prefix) = (0_i64, 0_i64, 0_i64);
    for &phi in weights {
        let (phi, total) = (phi as i64, total as i64);
        least = least.min(-phi * prefix);
        prefix += phi;
        most = most.max(phi * (total - prefix));
    }
    (least as f64 / total as f64, most as f64 / total as f64)
}

proptest! {
    #![proptest_config(config(100, 31))]

    #[test]
    fn wrr_r1_drr_r1_in_a_row(weights in weights()) {
        for policy in ["wrr", "drr"] {
            prop_assert_eq!(Lockstep::with(policy, 1, &weights).first_cpu(600), in_a_row(&weights, 600), "{}", policy);
        }
    }

    #[test]
    fn wrr_r1_drr_r1_errors_are_the_closed_form(weights in weights()) {
        for policy in ["wrr", "drr"] {
            prop_assert_eq!(errors(policy, &[], &weights, true), closed_form(&weights), "{}", policy);
        }
    }
}

/// Weights 3 and 5 are 1 1/2 and 2 1/2 quanta, for the unit is 2: the halves are carried.
#[test]
fn wrr_d1_fractions_are_carried() {
    assert_eq!(Lockstep::with("wrr", 1, &[3, 5]).first_cpu(8), [1, 2, 2, 1, 1, 2, 2, 2]);
}

/// 2 goes in the middle of its turn, and is last with a whole one when it is back.
#[test]
fn wrr_r2_drr_r3_who_comes_back_begins_anew() {
    for policy in ["wrr", "drr"] {
        let mut one = Lockstep::with(policy, 1, &[1, 3, 1]);
        assert_eq!(one.first_cpu(3), [1, 2, 2], "{policy}");
        one.leave(2, false);
        one.wake(2);
        assert_eq!(one.first_cpu(7), [3, 1, 2, 2, 2, 3, 1], "{policy}");
    }
}

#[test]
fn wrr_r3_drr_r4_who_yields_gives_up_the_rest() {
    for policy in ["wrr", "drr"] {
        let mut one = Lockstep::with(policy, 1, &[3, 1]);
        assert_eq!(one.first_cpu(1), [1], "{policy}");
        one.machine.yielding(CpuId::new(0));
        assert_eq!(one.first_cpu(5), [2, 1, 1, 1, 2], "{policy}");
    }
}

/// In its turn of 3 a weight of 2 leaves at most 2 more; and then it has 2.
#[test]
fn wrr_r4_a_new_weight() {
    let mut one = Lockstep::with("wrr", 1, &[5, 1]);
    assert_eq!(one.first_cpu(1), [1]);
    one.decide(0);
    one.set_weight(1, 2);
    one.pass(QUANTUM_NS);
    assert_eq!(one.first_cpu(6), [1, 1, 2, 1, 1, 2]);
}

#[test]
fn wrr_d3_drr_d3_one_line_for_two_cpus() {
    for policy in ["wrr", "drr"] {
        let mut two = Lockstep::with(policy, 2, &[2, 1, 1]);
        let ran: Vec<_> = (0..4).map(|_| two.step()).collect();
        assert_eq!(ran, [[1, 2], [1, 3], [2, 1], [3, 1]], "{policy}");
    }
}
