//! bvt: papers/bvt.md. The tests that it shares are in `virtual_time.rs`.

use divvy_policy::{CpuId, Machine, MachineConfig, TaskId, Weight};
use divvy_tests::cases::{config, quanta, run, weights};
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};
use proptest::prelude::*;

/// BVT from its rules, with C in quanta: the task that ran goes on while (k - C)/w is below the least k/w.
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

fn with_allowance(weights: &[u64], allowance: i64, n: u64) -> Vec<u32> {
    quanta("bvt", &[("bvt", 0, allowance * QUANTUM_NS as i64)], weights, n)
}

proptest! {
    #![proptest_config(config(100, 33))]

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
}

/// With W of 5 quanta a task that wakes is 5 quanta before the others until it has caught up. Over time it has its share.
#[test]
fn bvt_r4_borrows_and_pays() {
    let warped = |limit: i64| {
        let w = 5 * QUANTUM_NS as i64 * 1024;
        let mut machine = Machine::new(
            &MachineConfig::new("bvt", 1, QUANTUM_NS).with_params(&[("bvt", 1, w), ("bvt", 2, limit)]),
        )
        .unwrap();
        for id in 1..=2 {
            machine.add(TaskId::new(id), TaskId::new(id), Weight::ONE, 0);
            machine.wake(TaskId::new(id), true, 0);
        }
        machine.withdraw(TaskId::new(2), false, 0);
        machine.wake(TaskId::new(2), false, 0);
        run(&mut machine, 40)
    };
    let ran = warped(0);
    assert_eq!(ran[..6], [2; 6], "5 ahead, and C");
    let of_2 = ran.iter().filter(|&&id| id == 2).count();
    assert!((20..=23).contains(&of_2), "{ran:?}");
    // After L of 2 quanta it is 2 ahead, and pays that.
    assert_eq!(warped(2 * QUANTUM_NS as i64)[..5], [2, 2, 1, 1, 1]);
}

/// The running task gives way to one that wakes if it is more than C ahead.
#[test]
fn bvt_r5_preempts() {
    let mut machine = Machine::new(&MachineConfig::new("bvt", 1, QUANTUM_NS)).unwrap();
    for id in 1..=3 {
        machine.add(TaskId::new(id), TaskId::new(id), Weight::ONE, 0);
        machine.wake(TaskId::new(id), true, 0);
    }
    machine.withdraw(TaskId::new(3), false, 0);
    assert_eq!(machine.dispatch(CpuId::new(0), 0).unwrap().task, 1);
    machine.running(TaskId::new(1), 0);
    assert_eq!(machine.wake(TaskId::new(3), false, QUANTUM_NS), None, "1 is C ahead, not more");
    machine.withdraw(TaskId::new(3), false, QUANTUM_NS);
    assert_eq!(machine.wake(TaskId::new(3), false, QUANTUM_NS + 1), Some(CpuId::new(0)));
}

/// A slice that is as long as nice 19 is far ahead would be seconds: a thread that wakes meanwhile is not so far behind that it preempts,
/// and had 8 ms of the 290 ms that are its part.
#[test]
fn bvt_r3_a_sleeper_beside_a_heavy_and_a_light_thread() {
    let text = r#"
cpus = 1
duration = "3s"
quantum = "4ms"
task = [
  { name = "heavy", nice = -10, program = [ { run = "forever" } ] },
  { name = "sleeper", program = [ { loop = "forever", do = [ { run = "3900us" }, { sleep = "1us" } ] } ] },
  { name = "light", nice = 19, program = [ { run = "forever" } ] },
]"#;
    for spec in ["bvt", "bvt:allowance=8ms", "bvt+groups"] {
        let got = divvy_tests::example::run(text, spec).service_of_all("sleeper");
        let part = 3_000_000_000 * 1024 / (9548 + 1024 + 15);
        assert!(got >= part * 9 / 10, "{spec}: {got} of {part} ns");
    }
}
