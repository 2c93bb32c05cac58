//! Policies with virtual times: papers/wfq.md, papers/wf2q.md, papers/wf2qplus.md, papers/qfq.md, papers/bvt.md; and papers/eevdf.md
//! as published.

use divvy_policy::{Machine, MachineConfig, TaskId, Weight};
use proptest::prelude::*;

use crate::cases::{config, quanta, run, weights};
use crate::lockstep::{Lockstep, QUANTUM_NS};
use crate::study::{Params, Random, errors, weight_set};

const ALL: [&str; 6] = ["wfq", "wf2q", "wf2qplus", "qfq", "qfq:M=8", "bvt"];

/// Who has the least (k + 1)/phi, k quanta received; among equals who waited longest
fn wfq(weights: &[u64], n: usize) -> Vec<u32> {
    let mut k = vec![0; weights.len()];
    let mut line: Vec<usize> = (0..weights.len()).collect();
    (0..n)
        .map(|_| {
            let place = (1..line.len()).fold(0, |best, i| {
                let (a, b) = (line[i], line[best]);
                if (k[a] + 1) * weights[b] < (k[b] + 1) * weights[a] { i } else { best }
            });
            let chosen = line.remove(place);
            line.push(chosen);
            k[chosen] += 1;
            chosen as u32 + 1
        })
        .collect()
}

/// Whether each choice has k/phi <= t/Phi, and of those that have the least (k + 1)/phi; equal ones in any order
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

/// BVT from its rules, with C in quanta: who ran goes on while (k - C)/w is below the least k/w.
fn bvt(weights: &[u64], allowance: i64, n: usize) -> Vec<u32> {
    let w = |i: usize| weights[i] as i64;
    let mut k = vec![0_i64; weights.len()];
    let mut line: Vec<usize> = (0..weights.len()).collect();
    (0..n)
        .map(|_| {
            let first = (1..line.len()).fold(0, |best, i| {
                let (a, b) = (line[i], line[best]);
                if k[a] * w(b) < k[b] * w(a) { i } else { best }
            });
            let (least, last) = (line[first], line[line.len() - 1]);
            let ran_before = k.iter().any(|&k| k > 0);
            let goes_on = ran_before && (k[last] - allowance) * w(least) < k[least] * w(last);
            let chosen = line.remove(if goes_on { line.len() - 1 } else { first });
            line.push(chosen);
            k[chosen] += 1;
            chosen as u32 + 1
        })
        .collect()
}

fn with_allowance(weights: &[u64], allowance: i64, n: u64) -> Vec<TaskId> {
    quanta("bvt", &[("bvt", 0, allowance * QUANTUM_NS as i64)], weights, n)
}

proptest! {
    #![proptest_config(config(33))]

    #[test]
    fn wfq_r1_is_its_formula(weights in weights()) {
        prop_assert_eq!(Lockstep::with("wfq", 1, &weights).first_cpu(600), wfq(&weights, 600));
    }

    #[test]
    fn wf2q_r1_wf2qplus_r1_is_its_formula(weights in weights()) {
        for policy in ["wf2q", "wf2qplus"] {
            is_wf2q(&weights, &Lockstep::with(policy, 1, &weights).first_cpu(600))?;
        }
    }

    #[test]
    fn bvt_r1_r3_is_its_formula(weights in prop::collection::vec(1_u64..13, 1..12), allowance in 1_i64..5) {
        prop_assert_eq!(with_allowance(&weights, allowance, 600), bvt(&weights, allowance, 600));
    }

    /// |A_a - A_b| <= (C + q)/w_a + (C + q)/w_b for each two
    #[test]
    fn bvt_r1_r3_errors(weights in weights()) {
        let mut one = Lockstep::with("bvt", 1, &weights);
        for _ in 0..600 {
            one.step();
            for (i, a) in weights.iter().enumerate() {
                for (j, b) in weights.iter().enumerate() {
                    let (k, l) = (one.quanta[i + 1], one.quanta[j + 1]);
                    prop_assert!((k * b).abs_diff(l * a) <= 2 * (a + b));
                }
            }
        }
    }

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

/// QFQ+: with aggregates of at most M tasks errors grow by M at most, and everybody still has its part.
fn qfq_plus(m: i64, weights: &[u64]) -> (f64, f64) {
    errors("qfq", &[("qfq", 0, m)], weights, false)
}

proptest! {
    #![proptest_config(config(34))]

    #[test]
    fn qfq_r7_errors(weights in weights(), m in 2_i64..17) {
        let (least, most) = qfq_plus(m, &weights);
        let more = (m as f64).min(weights.len() as f64);
        prop_assert!(least > -4.0 - more && most < 3.0 + more, "M={}: {} .. {}", m, least, most);
    }

    /// Where no two weights are the same there is nothing to put together.
    #[test]
    fn qfq_r7_different_weights_are_alone(weights in prop::collection::btree_set(1_u64..200, 1..12)) {
        let weights: Vec<u64> = weights.into_iter().collect();
        let with = |m: i64| quanta("qfq", &[("qfq", 0, m)], &weights, 600);
        prop_assert_eq!(with(8), with(1));
    }
}

/// One of weight 4 and four of weight 1, which with M = 4 are an aggregate of the same weight: it has four quanta, a quantum
/// each of its tasks, where the heavy one has one at a time.
#[test]
fn qfq_r7_an_aggregate_is_served_at_once() {
    let runs = |m: i64| {
        let ran = quanta("qfq", &[("qfq", 0, m)], &[4, 1, 1, 1, 1], 80);
        let mut lights = ran.split(|&id| id == 1).map(<[TaskId]>::len).filter(|n| *n > 0).collect::<Vec<_>>();
        // The first and the last run may be cut.
        lights.pop();
        lights.split_off(1)
    };
    assert!(runs(4).iter().all(|n| *n == 4), "{:?}", runs(4));
    assert!(runs(1).iter().all(|n| *n < 4), "{:?}", runs(1));
    let ran = quanta("qfq", &[("qfq", 0, 4)], &[4, 1, 1, 1, 1], 80);
    for id in 2..=5 {
        assert_eq!(ran.iter().filter(|&&r| r == id).count(), 10, "{ran:?}");
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

/// A and B have their quanta, C and D leave without theirs: V jumps to 1/20 of a quantum. E of weight 17 that comes
/// then is due at 1/20 + 1/17, after B at 2/20; without the jump it would be before.
#[test]
fn wf2qplus_r3_jumps() {
    let mut one = Lockstep::with("wf2qplus", 1, &[20; 4]);
    assert_eq!(one.first_cpu(2), [1, 2]);
    one.leave(3, false);
    one.leave(4, false);
    assert_eq!(one.first_cpu(1), [1]);
    let e = one.add(17);
    assert_eq!(one.first_cpu(2), [2, e]);
}

/// Where nobody is runnable the fluid system is empty: who comes first after that begins with equal tags.
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

/// Who is ahead when it leaves is so when it is back: leaving and coming back at once gains nothing.
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

/// With W of 5 quanta who wakes is 5 quanta before the others until it has caught up; over time it has its share.
#[test]
fn bvt_r4_borrows_and_pays() {
    let warped = |limit: i64| {
        let w = 5 * QUANTUM_NS as i64 * 1024;
        let mut machine = Machine::new(
            &MachineConfig::new("bvt", 1, QUANTUM_NS).with_params(&[("bvt", 1, w), ("bvt", 2, limit)]),
        )
        .unwrap();
        for id in 1..=2 {
            machine.add(id, id, Weight::ONE, 0);
            machine.wake(id, true, 0);
        }
        machine.withdraw(2, false, 0);
        machine.wake(2, false, 0);
        run(&mut machine, 40)
    };
    let ran = warped(0);
    assert_eq!(ran[..6], [2; 6], "5 ahead, and C");
    let of_2 = ran.iter().filter(|&&id| id == 2).count();
    assert!((20..=23).contains(&of_2), "{ran:?}");
    // After L of 2 quanta it is 2 ahead, and pays that.
    assert_eq!(warped(2 * QUANTUM_NS as i64)[..5], [2, 2, 1, 1, 1]);
}

/// Who runs gives way to who wakes if it is more than C ahead.
#[test]
fn bvt_r5_preempts() {
    let mut machine = Machine::new(&MachineConfig::new("bvt", 1, QUANTUM_NS)).unwrap();
    for id in 1..=3 {
        machine.add(id, id, Weight::ONE, 0);
        machine.wake(id, true, 0);
    }
    machine.withdraw(3, false, 0);
    assert_eq!(machine.dispatch(0, 0).unwrap().task, 1);
    machine.running(1, 0);
    assert_eq!(machine.wake(3, false, QUANTUM_NS), None, "1 is C ahead, not more");
    machine.withdraw(3, false, QUANTUM_NS);
    assert_eq!(machine.wake(3, false, QUANTUM_NS + 1), Some(0));
}

/// Stoica and Abdel-Wahab's bound, a request; Linux's half first request breaks it when many start at once.
#[test]
fn eevdf_r9_as_published_no_error_is_above_a_quantum() {
    const PUBLISHED: Params =
        &[("eevdf", 0, QUANTUM_NS as i64), ("eevdf", 1, 0), ("eevdf", 3, 0), ("eevdf", 4, 0)];
    const LINUX: Params = &[("eevdf", 0, QUANTUM_NS as i64)];
    let mut random = Random::new(9);
    for n in [8, 64, 256] {
        let weights = weight_set(&mut random, n, 64 * n as u64, 50);
        let (least, most) = errors("eevdf", PUBLISHED, &weights, true);
        assert!(least >= -1.0 && most <= 1.0, "{n} clients: {least} .. {most}");
        let (least, _) = errors("eevdf", LINUX, &weights, true);
        assert!(n < 64 || least < -1.0, "{n} clients, as Linux: {least}");
    }
}
