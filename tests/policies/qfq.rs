//! qfq: papers/qfq.md. The tests that it shares are in `virtual_time.rs`.

use divvy_policy::{CpuId, Event, Machine, MachineConfig, TaskId, Weight};
use divvy_tests::cases::{config, quanta, weights};
use divvy_tests::study::errors;
use proptest::prelude::*;

/// QFQ+: with aggregates of at most M tasks errors grow by M at most, and every task still has its part.
fn qfq_plus(m: i64, weights: &[u64]) -> (f64, f64) {
    errors("qfq", &[("qfq", 0, m)], weights, false)
}

proptest! {
    #![proptest_config(config(100, 34))]

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
        let mut lights = ran.split(|&id| id == 1).map(<[u32]>::len).filter(|n| *n > 0).collect::<Vec<_>>();
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

/// A task that ran on for 13 days has nothing for 1024 visits, which the search passes at once if nobody else waits.
#[test]
fn qfq_d5_an_overrun_is_owed_for_1024_visits() {
    let quantum_ns = 1000;
    let config = MachineConfig::new("qfq", 1, quantum_ns).with_params(&[("qfq", 0, 4)]);
    let mut machine = Machine::new(&config).unwrap();
    let cpu = CpuId::new(0);
    for id in [1, 2].map(TaskId::new) {
        machine.add(id, id, Weight::ONE, 0);
        machine.wake(id, true, 0);
    }
    let (mut now_ns, mut on) = (0, None);
    let mut run = |ran_ns: u64| {
        now_ns += ran_ns;
        let task = machine.tell(&Event::Dispatch { cpu }, now_ns).task.unwrap();
        if on != Some(task) {
            if let Some(task) = on.replace(task) {
                machine.tell(&Event::Stopping { task, ran_ns }, now_ns);
                machine.tell(&Event::Enqueue { task }, now_ns);
            }
            machine.tell(&Event::Running { task }, now_ns);
        }
        task
    };
    let first = run(0);
    assert_ne!(run(1 << 50), first);
    let turns: Vec<TaskId> = (0..2000).map(|_| run(quantum_ns)).collect();
    assert_eq!(turns.iter().position(|&id| id == first), Some(1023));
}
