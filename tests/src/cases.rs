//! Random cases, the same ones each time.

use divvy_policy::{CpuId, Machine, MachineConfig, TaskId, Weight};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use crate::lockstep::QUANTUM_NS;

/// The numbers of the tasks that a CPU runs in `n` quanta, with parameters of the policy
pub fn quanta(policy: &str, params: &[(&str, usize, i64)], weights: &[u64], n: u64) -> Vec<u32> {
    let mut machine = Machine::new(&MachineConfig::new(policy, 1, QUANTUM_NS).with_params(params)).unwrap();
    for (id, weight) in TaskId::all().zip(weights) {
        machine.add(id, id, weight * Weight::ONE, 0);
        machine.wake(id, true, 0);
    }
    run(&mut machine, n)
}

/// The numbers of the tasks that a machine which has not run yet runs in `n` quanta on its one CPU
pub fn run(machine: &mut Machine, n: u64) -> Vec<u32> {
    let (mut on, mut since) = (None, 0);
    let mut ran = Vec::new();
    for now in (0..n).map(|t| t * QUANTUM_NS) {
        let chosen = machine.dispatch(CpuId::new(0), now).unwrap().task;
        if on != Some(chosen) {
            if let Some(on) = on {
                machine.requeue(on, now - since, now);
            }
            machine.running(chosen, now);
            (on, since) = (Some(chosen), now);
        }
        ran.push(chosen.get());
    }
    ran
}

/// Settings of proptest: so many cases, from this seed, and no file of failures.
pub fn config(cases: u32, seed: u64) -> ProptestConfig {
    ProptestConfig {
        cases,
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

/// Calls `test` with random values, the same ones each time.
pub fn for_all<S: Strategy>(cases: u32, seed: u64, strategy: S, test: impl Fn(S::Value)) {
    let longer = ProptestConfig::default().cases.max(256) / 256;
    let told = TestRunner::new(config(cases * longer, seed)).run(&strategy, |value| {
        test(value);
        Ok(())
    });
    if let Err(error) = told {
        panic!("{error}");
    }
}
