//! Threads of processes that start, end, block and change, and the weights that modifiers give them.

use std::collections::BTreeMap;

use divvy_policy::{Machine, MachineConfig, TaskId, Weight};
use proptest::prelude::*;

use crate::lockstep::{Lockstep, QUANTUM_NS};

/// An event of a thread. A number selects one of the threads that there are.
#[derive(Clone, Debug)]
pub enum Event {
    /// A thread of this process starts, with this weight. Process 0 stands for one of its own.
    Starts(u32, u64),
    /// A thread becomes runnable.
    Wakes(usize),
    /// A thread blocks.
    Blocks(usize),
    /// A thread ends.
    Exits(usize),
    /// A thread gets another weight.
    Weighs(usize, u64),
    /// A thread goes to another process.
    Moves(usize, u32),
}

/// A random event.
pub fn event() -> impl Strategy<Value = Event> {
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
    process: TaskId,
    weight: u64,
    is_runnable: bool,
}

/// A machine, and an account of the threads that it was told of.
pub struct Told {
    machine: Machine,
    threads: BTreeMap<TaskId, Thread>,
    last: u32,
}

/// Ids of processes; those of threads are below.
const PROCESSES: u32 = 1000;

impl Told {
    /// A machine with this modifier, the parameter `all` of it, and no threads.
    pub fn new(modifier: &str, all: bool, cpus: u32) -> Told {
        let params = [(modifier, 0, i64::from(all))];
        let machine = Machine::new(
            &MachineConfig::new("rr", cpus, QUANTUM_NS).with_modifiers(&[modifier]).with_params(&params),
        )
        .unwrap();
        Told { machine, threads: BTreeMap::new(), last: 0 }
    }

    /// One event happens.
    pub fn tell(&mut self, event: &Event) {
        let ids: Vec<TaskId> = self.threads.keys().copied().collect();
        let chosen = |n: usize| ids[n % ids.len()];
        match *event {
            Event::Starts(process, units) => {
                self.last += 1;
                let thread = TaskId::new(self.last);
                let process = if process == 0 { thread } else { TaskId::new(PROCESSES + process) };
                let weight = units * Weight::ONE.fixed();
                self.machine.add(thread, process, Weight::from_fixed(weight), 0);
                self.threads.insert(thread, Thread { process, weight, is_runnable: false });
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
                let (task, process) = (chosen(n), TaskId::new(PROCESSES + process));
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

    /// Each runnable thread has the weight that a formula gives: of its own weight and the number of threads of its process.
    pub fn compare(&self, all: bool, formula: impl Fn(u128, u128) -> u128) {
        for (&id, thread) in self.threads.iter().filter(|(_, thread)| thread.is_runnable) {
            let counts = |other: &&Thread| other.process == thread.process && (all || other.is_runnable);
            let alpha = self.threads.values().filter(counts).count() as u128;
            let expected = formula(thread.weight.into(), alpha).max(1);
            assert_eq!(u128::from(self.machine.weight(id).fixed()), expected, "{thread:?} of {alpha}");
        }
    }
}

/// The numbers of the threads of a process that has so many of weight 12.
pub fn program(machine: &mut Lockstep, threads: usize) -> Vec<u32> {
    let first = machine.add(12);
    let others = (1..threads).map(|_| machine.add_to(first, 12));
    std::iter::once(first).chain(others).collect()
}
