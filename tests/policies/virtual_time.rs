//! The policies with virtual times have this in common: wfq, wf2q, wf2qplus, qfq and bvt.

use divvy_tests::cases::{config, weights};
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};
use divvy_tests::study::errors;
use proptest::prelude::*;

const ALL: [&str; 6] = ["wfq", "wf2q", "wf2qplus", "qfq", "qfq:M=8", "bvt"];

proptest! {
    #![proptest_config(config(100, 33))]

    #[test]
    fn wf2q_r1_wf2qplus_r1_qfq_r1_errors(weights in weights()) {
        for policy in ["wf2q", "wf2qplus"] {
            let (least, most) = errors(policy, &[], &weights, true);
            prop_assert!(least > -1.0 && most < 1.0, "{}: {} .. {}", policy, least, most);
        }
        let (least, most) = errors("qfq", &[], &weights, false);
        prop_assert!(least > -4.0 && most < 3.0, "qfq: {} .. {}", least, most);
    }
}

/// 16 light ones and one as heavy as all of them: WFQ lets it run ahead, WF2Q, WF2Q+ and QFQ do not.
#[test]
fn wfq_r1_wf2q_r1_qfq_r3_the_n_plus_1_example() {
    let mut heavy_first = vec![1; 17];
    heavy_first[0] = 16;
    assert_eq!(errors("wfq", &[], &heavy_first, true), (-0.9375, 7.5));
    for policy in ["wf2q", "wf2qplus"] {
        let (least, most) = errors(policy, &[], &heavy_first, true);
        assert!(least > -1.0 && most < 1.0, "{policy}: {least} .. {most}");
    }
    let (least, most) = errors("qfq", &[], &heavy_first, false);
    assert!(least > -3.0 && most < 2.0, "{least} .. {most}");
}

/// A has its quantum and leaves, ahead of the fluid system, which serves it on: with B's quantum V is 2/280 of one when E of
/// weight 48 comes, and its F of 2/280 + 1/48 is before B's of 2/70. Without A V would be 1/280 + 1/210, and E after B.
#[test]
fn wfq_r3_wf2q_r3_who_left_is_served_on() {
    for policy in ["wfq", "wf2q"] {
        let mut one = Lockstep::with(policy, 1, &[70; 4]);
        assert_eq!(one.first_cpu(1), [1], "{policy}");
        one.leave(1, false);
        assert_eq!(one.first_cpu(2), [2, 3], "{policy}");
        let e = one.add(48);
        assert_eq!(one.first_cpu(3), [4, e, 2], "{policy}");
    }
}

/// 200 tasks have a quantum each and leave, ahead of the fluid system. They end there together, which is more than one event has time
/// for. Some quanta later V is where it would be without that limit, so a new task has no advantage over the one that went on.
#[test]
fn wfq_d3_wf2q_d3_many_leave_the_fluid_system_at_once() {
    for policy in ["wfq", "wf2q"] {
        let mut one = Lockstep::with(policy, 1, &[1; 201]);
        for id in 1..=200 {
            assert_eq!(one.first_cpu(1), [id], "{policy}");
            one.leave(id, false);
        }
        assert_eq!(one.first_cpu(5), [201; 5], "{policy}");
        let new = one.add(1);
        let ran = one.first_cpu(8);
        assert_eq!(ran.iter().filter(|&&id| id == new).count(), 4, "{policy}: {ran:?}");
    }
}

/// While no task is runnable the fluid system is empty: the tasks that come first after that begin with equal tags.
#[test]
fn wfq_r3_wf2q_r3_an_idle_time_is_a_new_beginning() {
    for policy in ["wfq", "wf2q"] {
        let mut one = Lockstep::with(policy, 1, &[1, 1]);
        one.run(3);
        one.leave(1, false);
        one.leave(2, false);
        assert_eq!(one.step(), [0]);
        one.wake(2);
        one.wake(1);
        let ran = one.first_cpu(4);
        assert_eq!(ran[..2], [2, 1], "{policy}");
        assert_eq!(ran[2] + ran[3], 3, "{policy}: {ran:?}");
    }
}

/// B slept while A had 20 quanta, and then they take turns.
#[test]
fn wfq_r2_wf2q_r2_wf2qplus_r2_qfq_r6_bvt_r2_no_claim_after_a_sleep() {
    for policy in ALL {
        let mut one = Lockstep::with(policy, 1, &[1, 1]);
        one.run(2);
        one.leave(2, false);
        one.run(20);
        one.wake(2);
        let ran = one.first_cpu(12);
        let of_b = ran.iter().filter(|&&id| id == 2).count();
        assert!((5..=7).contains(&of_b), "{policy}: {ran:?}");
    }
}

/// A task that is ahead when it leaves is so when it is back: leaving and coming back at once gains nothing.
#[test]
fn wfq_r2_wf2q_r2_wf2qplus_r2_qfq_r6_bvt_r2_nothing_is_gained_by_leaving() {
    for policy in ALL {
        let mut one = Lockstep::with(policy, 1, &[1, 1, 1]);
        for _ in 0..90 {
            let ran = one.step()[0];
            if ran == 1 {
                one.leave(1, false);
                one.wake(1);
            }
        }
        assert!(one.quanta[1] <= 31, "{policy}: {:?}", one.quanta);
    }
}

#[test]
fn wfq_r4_wf2q_r4_wf2qplus_r4_qfq_r6_a_new_weight() {
    for policy in ALL {
        let mut one = Lockstep::with(policy, 1, &[1, 1, 2]);
        one.run(9);
        one.decide(0);
        one.set_weight(1, 4);
        one.set_weight(3, 1);
        let before = one.quanta.clone();
        one.run(60);
        for (id, due) in [(1, 40), (2, 10), (3, 10)] {
            let got = (one.quanta[id] - before[id]) as i64;
            assert!((got - due).abs() <= 4, "{policy}, {id}: {got}");
        }
    }
}

/// A turn that the host cuts to a quarter costs a quarter, and one that lasts three quanta costs three.
#[test]
fn qfq_r2_r4_r5_r7_time_counts_not_turns() {
    for policy in ["qfq", "qfq:M=8", "wf2qplus", "wf2q", "wfq"] {
        let mut one = Lockstep::with(policy, 1, &[1, 1, 2]);
        let mut service = [0; 4];
        for _ in 0..400 {
            one.decide(0);
            let task = one.running()[0];
            let ran = [0, QUANTUM_NS / 4, 3 * QUANTUM_NS, QUANTUM_NS][task as usize];
            service[task as usize] += ran;
            one.pass(ran);
        }
        let total: u64 = service.iter().sum();
        for (id, part) in [(1, 4), (2, 4), (3, 2)] {
            let off = service[id].abs_diff(total / part);
            assert!(off <= 5 * QUANTUM_NS, "{policy}, {id}: {service:?}");
        }
    }
}

/// Two CPUs: equal shares, where no weight asks for more than a CPU.
#[test]
fn qfq_d3_wf2q_d2_wf2qplus_d2_wfq_d2_bvt_d2_two_cpus() {
    for policy in ALL {
        let weights = [3, 2, 2, 1, 1, 1];
        let mut two = Lockstep::with(policy, 2, &weights);
        two.run(500);
        for (quanta, weight) in two.quanta[1..].iter().zip(weights) {
            assert!(quanta.abs_diff(weight * 100) <= 6, "{policy}: {:?}", two.quanta);
        }
    }
}
