//! procfair and tfps, alone and before readjustment, as a second program: alpha is counted in a list, and the heaviest
//! threads are capped one after the other, while threads start, run for parts of quanta, block, wake, weigh otherwise, go to
//! other groups, and end.

use divvy_policy::{Machine, MachineConfig, TaskId, Weight};
use divvy_tests::cases::config;
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Event {
    /// A thread of this process and group starts with this weight. 0 is a process of its own, and no group.
    Starts {
        process: u32,
        group: u32,
        weight: u64,
    },
    /// One of the runnable threads blocks, or ends.
    Leaves {
        n: usize,
        ends: bool,
    },
    Wakes(usize),
    Weighs(usize, u64),
    Enters(usize, u32),
    Decides(usize),
    Passes(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let weight = || prop_oneof![3 => 1u64..7, 2 => 1u64..100, 1 => 1u64..100_000];
    let starts = (0u32..4, 0u32..3, weight());
    prop_oneof![
        5 => starts.prop_map(|(process, group, weight)| Event::Starts { process, group, weight }),
        3 => (0usize..99, prop::bool::weighted(0.3)).prop_map(|(n, ends)| Event::Leaves { n, ends }),
        2 => (0usize..99).prop_map(Event::Wakes),
        1 => (0usize..99, weight()).prop_map(|(n, w)| Event::Weighs(n, w)),
        1 => (0usize..99, 0u32..3).prop_map(|(n, g)| Event::Enters(n, g)),
        3 => (0usize..8).prop_map(Event::Decides),
        2 => (1..=QUANTUM_NS).prop_map(Event::Passes),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    modifier: &'static str,
    all: bool,
    by_group: bool,
    feasible: bool,
    cpus: u32,
}

fn rule() -> impl Strategy<Value = Rule> {
    let modifier = prop_oneof![Just("procfair"), Just("tfps")];
    (modifier, any::<[bool; 3]>(), 1u32..=8).prop_map(|(modifier, [all, by_group, feasible], cpus)| Rule {
        modifier,
        all,
        by_group,
        feasible,
        cpus,
    })
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    id: u32,
    process: u32,
    group: u32,
    weight: u64,
}

struct Model {
    rule: Rule,
    /// Those that exist.
    threads: Vec<Thread>,
    machine: Lockstep,
}

/// Ids of processes; those of threads are below.
const PROCESSES: u32 = 1000;

impl Model {
    fn new(rule: Rule, policy: &str) -> Model {
        let modifiers: &[&str] = if rule.feasible { &[rule.modifier, "feasible"] } else { &[rule.modifier] };
        let params = [(rule.modifier, 0, rule.all.into()), (rule.modifier, 1, rule.by_group.into())];
        let config = MachineConfig::new(policy, rule.cpus, QUANTUM_NS);
        let machine = Machine::new(&config.with_modifiers(modifiers).with_params(&params)).unwrap();
        Model { rule, threads: Vec::new(), machine: Lockstep::of(machine, rule.cpus) }
    }

    fn nth(&self, n: usize, runnable: bool) -> Option<u32> {
        let ids = self.threads.iter().map(|thread| thread.id);
        let some: Vec<u32> = ids.filter(|&id| self.machine.is_runnable(id) == runnable).collect();
        (!some.is_empty()).then(|| some[n % some.len()])
    }

    fn tell(&mut self, event: &Event) {
        match *event {
            Event::Starts { process, group, weight } => {
                let id = match process {
                    0 => self.machine.add(weight),
                    _ => self.machine.add_to(PROCESSES + process, weight),
                };
                let process = if process == 0 { id } else { PROCESSES + process };
                self.machine.machine.enter_group(TaskId::new(id), group, 0);
                self.threads.push(Thread { id, process, group, weight: weight * Weight::ONE.fixed() });
            }
            Event::Leaves { n, ends } => {
                let Some(id) = self.nth(n, true) else { return };
                self.machine.leave(id, ends);
                self.threads.retain(|thread| !ends || thread.id != id);
            }
            Event::Wakes(n) => {
                let Some(id) = self.nth(n, false) else { return };
                self.machine.wake(id);
            }
            Event::Decides(cpu) => self.machine.decide(cpu % self.rule.cpus as usize),
            Event::Passes(ns) => self.machine.pass(ns),
            _ if self.threads.is_empty() => {}
            Event::Weighs(n, weight) => {
                let n = n % self.threads.len();
                self.threads[n].weight = weight * Weight::ONE.fixed();
                self.machine.set_weight(self.threads[n].id, weight);
            }
            Event::Enters(n, group) => {
                let n = n % self.threads.len();
                self.threads[n].group = group;
                self.machine.machine.enter_group(TaskId::new(self.threads[n].id), group, 0);
            }
        }
    }

    fn runnable(&self) -> impl Iterator<Item = &Thread> {
        self.threads.iter().filter(|thread| self.machine.is_runnable(thread.id))
    }

    /// Weights of the runnable threads, before readjustment
    fn asked(&self) -> Vec<u64> {
        let owner = |thread: &Thread| match thread.group {
            group if self.rule.by_group && group > 0 => (0, group),
            _ => (1, thread.process),
        };
        let asked = |thread: &Thread| {
            let counts = |other: &&Thread| self.rule.all || self.machine.is_runnable(other.id);
            let alpha =
                self.threads.iter().filter(counts).filter(|other| owner(other) == owner(thread)).count()
                    as u64;
            let parts = if self.rule.modifier == "tfps" { alpha.min(self.rule.cpus.into()) } else { 1 };
            (thread.weight * parts / alpha).max(1)
        };
        self.runnable().map(asked).collect()
    }

    /// With more threads than CPUs: whoever asks for more than one of the CPUs that are left gets one, from the heaviest on.
    fn readjusted(&self, asked: Vec<u64>) -> Vec<u64> {
        let (mut cpus, mut rest) = (u64::from(self.rule.cpus), asked.iter().sum::<u64>());
        let mut sorted = asked.clone();
        sorted.sort_unstable();
        while sorted.last().is_some_and(|heaviest| heaviest * cpus > rest) {
            rest -= sorted.pop().unwrap();
            cpus -= 1;
        }
        let most = rest / cpus;
        asked.into_iter().map(|weight| weight.min(most.max(*sorted.last().unwrap()))).collect()
    }

    fn check(&self) {
        let asked = self.asked();
        // With no more tasks than CPUs all are alike; their weights are for feasible's own tests.
        if self.rule.feasible && asked.len() <= self.rule.cpus as usize {
            return;
        }
        let expected = if self.rule.feasible { self.readjusted(asked) } else { asked };
        let got: Vec<u64> = self
            .runnable()
            .map(|thread| self.machine.machine.weight(TaskId::new(thread.id)).fixed())
            .collect();
        assert_eq!(got, expected, "{:?}: {:?}", self.rule, self.threads);
    }
}

proptest! {
    #![proptest_config(config(40_000, 8))]

    /// Half of the cases are procfair, half tfps, and half of each are readjusted as well.
    #[test]
    fn procfair_tfps_r1_r2_weigh_as_a_second_program(
        rule in rule(),
        policy in prop_oneof![Just("rr"), Just("sfq"), Just("stride")],
        events in prop::collection::vec(event(), 4..24),
    ) {
        let mut model = Model::new(rule, policy);
        for event in &events {
            model.tell(event);
            model.check();
        }
    }
}
