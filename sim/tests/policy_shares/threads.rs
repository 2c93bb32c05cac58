//! The modifiers that count threads, procfair (papers/procfair.md) and tfps (papers/tfps.md), against their formulas in
//! 128 bits, and what the papers show of them.

use std::collections::BTreeMap;

use divvy_policy::{Machine, MachineConfig, TaskId, Weight};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::lockstep::{Lockstep, QUANTUM_NS};

#[derive(Clone, Debug)]
enum Event {
    /// A thread of a process, with its weight; of process 0, in one of its own.
    Starts(u32, u64),
    Wakes(usize),
    Blocks(usize),
    Exits(usize),
    Weighs(usize, u64),
    Moves(usize, u32),
}

fn event() -> impl Strategy<Value = Event> {
    let weight = || prop_oneof![2 => 1u64..20, 1 => 1u64..100_000_000];
    prop_oneof![
        4 => (0u32..5, weight()).prop_map(|(p, w)| Event::Starts(p, w)),
        3 => (0usize..99).prop_map(Event::Wakes),
        3 => (0usize..99).prop_map(Event::Blocks),
        1 => (0usize..99).prop_map(Event::Exits),
        1 => (0usize..99, weight()).prop_map(|(n, w)| Event::Weighs(n, w)),
        1 => (0usize..99, 0u32..5).prop_map(|(n, p)| Event::Moves(n, p)),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    process: u32,
    weight: u64,
    is_runnable: bool,
}

/// What is told to a machine, and kept beside it.
struct Told {
    machine: Machine,
    threads: BTreeMap<TaskId, Thread>,
    last: TaskId,
}

/// Ids of processes; those of threads are below.
const PROCESSES: u32 = 1000;

impl Told {
    fn new(modifier: &str, all: bool, cpus: u32) -> Told {
        let params = [(modifier, 0, i64::from(all))];
        let machine = Machine::new(
            &MachineConfig::new("rr", cpus, QUANTUM_NS).with_modifiers(&[modifier]).with_params(&params),
        )
        .unwrap();
        Told { machine, threads: BTreeMap::new(), last: 0 }
    }

    fn tell(&mut self, event: &Event) {
        let ids: Vec<TaskId> = self.threads.keys().copied().collect();
        let chosen = |n: usize| ids[n % ids.len()];
        match *event {
            Event::Starts(process, units) => {
                self.last += 1;
                let process = if process == 0 { self.last } else { PROCESSES + process };
                let weight = units * Weight::ONE.fixed();
                self.machine.add(self.last, process, Weight::from_fixed(weight), 0);
                self.threads.insert(self.last, Thread { process, weight, is_runnable: false });
            }
            _ if ids.is_empty() => {}
            Event::Wakes(n) => self.set_runnable(chosen(n), true),
            Event::Blocks(n) => self.set_runnable(chosen(n), false),
            Event::Exits(n) => {
                self.set_runnable(chosen(n), false);
                self.machine.remove(chosen(n), 0);
                self.threads.remove(&chosen(n));
            }
            Event::Weighs(n, units) => {
                self.machine.set_weight(chosen(n), units * Weight::ONE, 0);
                self.threads.get_mut(&chosen(n)).unwrap().weight = units * Weight::ONE.fixed();
            }
            Event::Moves(n, process) => {
                let (task, process) = (chosen(n), PROCESSES + process);
                self.machine.tell(&divvy_policy::Event::SetProcess { task, process }, 0);
                self.threads.get_mut(&task).unwrap().process = process;
            }
        }
    }

    fn set_runnable(&mut self, task: TaskId, is_runnable: bool) {
        let thread = self.threads.get_mut(&task).unwrap();
        if std::mem::replace(&mut thread.is_runnable, is_runnable) == is_runnable {
            return;
        }
        if is_runnable {
            self.machine.wake(task, false, 0);
        } else {
            self.machine.withdraw(task, false, 0);
        }
    }

    /// Of each runnable thread: its weight in the machine, and by a formula of (own weight, threads of its process).
    fn compare(&self, all: bool, formula: impl Fn(u128, u128) -> u128) {
        for (&id, thread) in self.threads.iter().filter(|(_, thread)| thread.is_runnable) {
            let counts = |other: &&Thread| other.process == thread.process && (all || other.is_runnable);
            let alpha = self.threads.values().filter(counts).count() as u128;
            let expected = formula(thread.weight.into(), alpha).max(1);
            assert_eq!(u128::from(self.machine.weight(id).fixed()), expected, "{thread:?} of {alpha}");
        }
    }
}

fn config(seed: u64) -> ProptestConfig {
    ProptestConfig {
        cases: 300,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(6))]

    #[test]
    fn procfair_r1_r2_is_its_formula(
        all in any::<bool>(),
        events in prop::collection::vec(event(), 60),
    ) {
        let mut told = Told::new("procfair", all, 2);
        for event in &events {
            told.tell(event);
            told.compare(all, |weight, alpha| weight / alpha);
        }
    }

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
        let programs: Vec<Vec<TaskId>> = [1, 4, 16].map(|n| program(&mut four, n)).into();
        let weight =
            |threads: &Vec<TaskId>| threads.iter().map(|&t| four.machine.weight(t).fixed()).sum::<u64>();
        assert_eq!(
            programs.iter().map(weight).collect::<Vec<_>>(),
            [12, 48, 48].map(|w| w * Weight::ONE.fixed())
        );
        four.run(9 * 500);
        let got = |threads: &Vec<TaskId>| threads.iter().map(|&t| four.quanta[t as usize]).sum::<u64>();
        let got: Vec<u64> = programs.iter().map(got).collect();
        for (got, expected) in got.iter().zip([2000_u64, 8000, 8000]) {
            assert!(got.abs_diff(expected) * 100 <= expected, "{policy}: {got} of {expected} quanta");
        }
    }
}

/// A process of so many threads of weight 12
fn program(machine: &mut Lockstep, threads: usize) -> Vec<TaskId> {
    let first = machine.add(12);
    let others = (1..threads).map(|_| machine.add_to(first, 12));
    std::iter::once(first).chain(others).collect()
}

/// A process that a divided one forks weighs what was asked for, and so do the threads of the first when they are few
/// again: nothing is divided twice.
#[test]
fn procfair_r3_children_do_not_inherit_the_division() {
    for (modifier, divided) in [("procfair", 3), ("tfps", 6)] {
        let mut two = Lockstep::new(&format!("rr+{modifier}"), 2);
        let parent = program(&mut two, 4);
        assert!(
            parent.iter().all(|&t| two.machine.weight(t).fixed() == divided * Weight::ONE.fixed()),
            "{modifier}"
        );
        let child = two.add(12);
        assert_eq!(two.machine.weight(child).fixed(), 12 * Weight::ONE.fixed(), "{modifier}");
        for &thread in &parent[1..] {
            two.leave(thread, true);
        }
        assert_eq!(two.machine.weight(parent[0]).fixed(), 12 * Weight::ONE.fixed(), "{modifier}");
    }
}
