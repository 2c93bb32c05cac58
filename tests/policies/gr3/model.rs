//! GR3MP written a second time, from the rules of papers/gr3.md, and compared with the policy decision by decision while
//! tasks come, block, wake, end, get other weights, use parts of quanta, and ask for more than a CPU.

use std::collections::BTreeMap;

use divvy_policy::{Machine, MachineConfig, TaskId, Weight};
use proptest::prelude::*;

use divvy_tests::cases::config;
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};

use super::queue::{Queue, Selected};
use super::readjust::Readjustment;

/// P CPUs, their frontlog queues, and the tasks that are runnable and wait
struct Model {
    queue: Queue,
    weights: Readjustment,
    /// +procfair: a thread's weight is its own over the number of its process's threads in the queue.
    procfair: bool,
    /// Process and weight of each task that is in the queue, in the order in which they came
    threads: Vec<(u32, u32, u64)>,
    /// A frontlog grows to no more (D2).
    most: u64,
    /// Quanta that each client has begun, less the times that it was selected; and the least that this was
    credit: BTreeMap<u32, (i64, i64)>,
    on: Vec<u32>,
    fronts: Vec<Vec<u32>>,
    waiting: Vec<u32>,
    /// During this selection
    has_removed: bool,
    /// Processes with fewer threads in the queue than their threads' weights say
    shrunk: Vec<u32>,
}

impl Model {
    fn new(rule: Rule) -> Model {
        Model {
            queue: Queue::new(rule.literal),
            weights: Readjustment::new(u64::from(rule.cpus)),
            procfair: rule.procfair,
            threads: Vec::new(),
            most: rule.frontlog,
            credit: BTreeMap::new(),
            on: vec![0; rule.cpus as usize],
            fronts: vec![Vec::new(); rule.cpus as usize],
            waiting: Vec::new(),
            has_removed: false,
            shrunk: Vec::new(),
        }
    }

    fn frontlog(&self, id: u32) -> u64 {
        self.queue.clients.get(&id).map_or(0, |c| c.frontlog)
    }

    fn frontlog_of_cpu(&self, cpu: usize) -> u64 {
        self.fronts[cpu].iter().map(|&id| self.frontlog(id)).sum::<u64>() + self.frontlog(self.on[cpu])
    }

    /// Threads of processes first; R8 to R11: those that were infeasible, then those that are
    fn readjust(&mut self) {
        std::mem::take(&mut self.shrunk).into_iter().for_each(|process| self.ask_threads(process));
        let were = self.weights.infeasible.clone();
        self.weights.readjust();
        for id in were.iter().chain(&self.weights.infeasible) {
            if self.queue.clients.contains_key(id) {
                let is_capped = were.contains(id) && self.weights.infeasible.contains(id);
                self.queue.reweigh(*id, self.weights.weight(*id), is_capped);
            }
        }
    }

    /// A task's weight before readjustment
    fn asked(&self, id: u32) -> u64 {
        let &(_, process, weight) = self.threads.iter().find(|thread| thread.0 == id).unwrap();
        let alpha = self.threads.iter().filter(|thread| thread.1 == process).count() as u64;
        if self.procfair { (weight / alpha).max(1) } else { weight }
    }

    /// The weight before readjustment of one in the queue changes.
    fn ask(&mut self, id: u32) {
        let asked = self.asked(id);
        self.weights.remove(id);
        self.weights.insert(id, asked);
        if !self.weights.infeasible.contains(&id) {
            self.queue.reweigh(id, asked, false);
        }
    }

    fn ask_threads(&mut self, process: u32) {
        let mates = self.threads.iter().filter(|thread| thread.1 == process).map(|thread| thread.0);
        let mates: Vec<u32> = mates.filter(|id| self.queue.clients.contains_key(id)).collect();
        if self.procfair {
            mates.into_iter().for_each(|id| self.ask(id));
        }
    }

    /// R5, R6, R12
    fn wake(&mut self, id: u32, process: u32, weight: u64) {
        if let Some(client) = self.queue.clients.get_mut(&id) {
            client.away = false;
        } else {
            self.arrive(id, process, weight);
        }
        if self.frontlog(id) > 0 {
            let cpu = (0..self.on.len()).min_by_key(|&cpu| self.frontlog_of_cpu(cpu)).unwrap();
            self.fronts[cpu].push(id);
        }
        self.waiting.push(id);
    }

    fn arrive(&mut self, id: u32, process: u32, weight: u64) {
        self.threads.push((id, process, weight));
        self.ask_threads(process);
        self.weights.insert(id, self.asked(id));
        self.readjust();
        let total: u64 = self.queue.clients.values().map(|c| c.frontlog).sum();
        let phi = self.weights.weight(id);
        self.queue.insert(id, phi);
        let share = u128::from(total) * u128::from(phi) / u128::from(self.queue.total());
        let client = self.queue.clients.get_mut(&id).unwrap();
        client.frontlog = u64::try_from(share).unwrap().min(self.most);
    }

    /// R6, D3
    fn leave(&mut self, id: u32, exits: bool) {
        self.forget(id);
        self.on.iter_mut().filter(|on| **on == id).for_each(|on| *on = 0);
        let client = self.queue.clients.get_mut(&id).unwrap();
        client.deficit = client.deficit.min(1.into());
        client.away = true;
        if let Some(group) = self.queue.groups.iter_mut().find(|g| g.members[0] == id) {
            group.turn_is_over = true;
        }
        if exits {
            self.end(id);
        }
    }

    /// Removed, if it is still in the queue
    fn end(&mut self, id: u32) {
        if self.queue.clients.contains_key(&id) {
            self.queue.remove(id);
            self.removed(id);
            self.readjust();
        }
    }

    /// D2: in no stretch of time does a client begin more quanta than it was selected for, and those of its limit.
    fn counts(&mut self, id: u32, quanta: i64) {
        let (is, least) = self.credit.entry(id).or_default();
        *is += quanta;
        *least = (*least).min(*is);
        assert!(*is - *least <= self.most as i64, "{id}: {is} after {least}");
    }

    fn removed(&mut self, id: u32) {
        self.credit.remove(&id);
        self.weights.remove(id);
        let at = self.threads.iter().position(|thread| thread.0 == id).unwrap();
        let (_, process, _) = self.threads.remove(at);
        if !self.shrunk.contains(&process) {
            self.shrunk.push(process);
        }
    }

    fn set_weight(&mut self, id: u32, weight: u64) {
        if let Some(thread) = self.threads.iter_mut().find(|thread| thread.0 == id) {
            thread.2 = weight;
            self.ask(id);
        }
        self.readjust();
    }

    /// It waits no more.
    fn forget(&mut self, id: u32) {
        self.waiting.retain(|&waits| waits != id);
        self.fronts.iter_mut().for_each(|front| front.retain(|&waits| waits != id));
    }

    /// R7, R12; one readjustment for all removals of a selection (D8)
    fn decide(&mut self, cpu: usize) {
        let prev = std::mem::take(&mut self.on[cpu]);
        if prev != 0 {
            self.waiting.push(prev);
        }
        if self.frontlog(prev) > 0 {
            self.fronts[cpu].push(prev);
        }
        if self.waiting.is_empty() {
            return;
        }
        let id = if let Some(&id) = self.fronts[cpu].first() {
            self.queue.clients.get_mut(&id).unwrap().frontlog -= 1;
            self.counts(id, 1);
            id
        } else {
            self.select()
        };
        self.forget(id);
        self.on[cpu] = id;
        if std::mem::take(&mut self.has_removed) {
            self.readjust();
        }
    }

    fn runnable(&self) -> usize {
        self.queue.clients.values().filter(|c| !c.away).count()
    }

    /// R7, R13, D2
    fn select(&mut self) -> u32 {
        let (mut selections, mut removals) = (0, 0);
        while selections < 1024 && removals < 16 && (self.on.len() == 1 || self.runnable() > self.on.len()) {
            match self.queue.intergroup() {
                Selected::Removed(id) => {
                    self.removed(id);
                    self.has_removed = true;
                    selections = 0;
                    removals += 1;
                }
                Selected::Client(id) if self.on.contains(&id) => {
                    let client = self.queue.clients.get_mut(&id).unwrap();
                    client.frontlog = (client.frontlog + 1).min(self.most);
                    self.counts(id, -1);
                    selections += 1;
                }
                Selected::Client(id) => return id,
            }
        }
        self.waiting[0]
    }
}

/// An event between two quanta, for the n-th task
#[derive(Clone, Copy, Debug)]
enum Event {
    /// In a process of its own, or in one of three
    Arrive(u64, u32),
    Leave(usize),
    Wake(usize),
    Exit(usize),
    /// It ends while it is not runnable, and its id is that of a new one.
    Replace(usize, u64),
    Reweigh(usize, u64),
    /// One CPU decides before the others, a part of a quantum later
    Decide(usize),
}

/// A weight of one of `orders` magnitudes
fn weight(orders: u32) -> impl Strategy<Value = u64> {
    (0..orders, 0u64..64).prop_map(|(o, x)| (1 << o) + x % (1 << o))
}

fn event(orders: u32) -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => (weight(orders), 0u32..4).prop_map(|(w, process)| Event::Arrive(w, process)),
        5 => (0usize..99).prop_map(Event::Leave),
        5 => (0usize..99).prop_map(Event::Wake),
        1 => (0usize..99).prop_map(Event::Exit),
        1 => (0usize..99, weight(orders)).prop_map(|(n, w)| Event::Replace(n, w)),
        2 => (0usize..99, weight(orders)).prop_map(|(n, w)| Event::Reweigh(n, w)),
        5 => (0usize..99).prop_map(Event::Decide),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    cpus: u32,
    literal: bool,
    frontlog: u64,
    procfair: bool,
}

impl Rule {
    /// Infeasible clients are searched for one by one, heaviest first: then it is known in which order they are found,
    /// which is that in which they come to another group.
    fn machine(self) -> Lockstep {
        let params =
            [("gr3", 0, i64::from(self.literal)), ("gr3", 1, self.frontlog as i64), ("feasible", 0, 0)];
        let modifiers: &[&str] = if self.procfair { &["procfair"] } else { &[] };
        let config = MachineConfig::new("gr3", self.cpus, QUANTUM_NS).with_params(&params);
        Lockstep::of(Machine::new(&config.with_modifiers(modifiers)).unwrap(), self.cpus)
    }
}

/// Ids of processes; those of tasks are below.
const PROCESSES: u32 = 1000;

/// As the machine counts it
fn fixed(weight: u64) -> u64 {
    (weight * Weight::ONE).fixed()
}

/// The policy and the model, told the same
struct Both {
    policy: Lockstep,
    model: Model,
    /// Process, and weight as set, of each task
    tasks: BTreeMap<u32, (u32, u64)>,
}

impl Both {
    fn new(rule: Rule, weights: &[u64]) -> Both {
        let mut both = Both { policy: rule.machine(), model: Model::new(rule), tasks: BTreeMap::new() };
        weights.iter().for_each(|&w| both.arrive(w, 0));
        both
    }

    fn arrive(&mut self, weight: u64, process: u32) {
        let (id, process) = match process {
            0 => {
                let id = self.policy.add(weight);
                (id, id)
            }
            _ => (self.policy.add_to(PROCESSES + process, weight), PROCESSES + process),
        };
        self.tasks.insert(id, (process, fixed(weight)));
        self.model.wake(id, process, fixed(weight));
    }

    fn happens(&mut self, event: Event) {
        let tasks = self.policy.tasks();
        let task = |n: usize| tasks[n % tasks.len()];
        match event {
            Event::Arrive(w, process) => self.arrive(w, process),
            Event::Decide(n) => {
                let cpu = n % self.model.on.len();
                self.policy.decide(cpu);
                self.model.decide(cpu);
            }
            _ if tasks.is_empty() => {}
            Event::Leave(n) if self.policy.is_runnable(task(n)) => self.leave(task(n), false),
            Event::Exit(n) if self.policy.is_runnable(task(n)) => self.leave(task(n), true),
            Event::Wake(n) if !self.policy.is_runnable(task(n)) => self.wake(task(n)),
            Event::Replace(n, w) if !self.policy.is_runnable(task(n)) => {
                self.policy.replace(task(n), w);
                self.tasks.insert(task(n), (task(n), fixed(w)));
                self.model.end(task(n));
                self.model.wake(task(n), task(n), fixed(w));
            }
            Event::Reweigh(n, w) => {
                self.tasks.get_mut(&task(n)).unwrap().1 = fixed(w);
                self.policy.set_weight(task(n), w);
                self.model.set_weight(task(n), fixed(w));
            }
            _ => {}
        }
    }

    fn wake(&mut self, id: u32) {
        self.policy.wake(id);
        let (process, weight) = self.tasks[&id];
        self.model.wake(id, process, weight);
    }

    fn leave(&mut self, id: u32, exits: bool) {
        self.policy.leave(id, exits);
        self.model.leave(id, exits);
    }

    fn step(&mut self) {
        let ran = self.policy.step();
        (0..ran.len()).for_each(|cpu| self.model.decide(cpu));
        let Model { queue, weights, on, .. } = &self.model;
        assert_eq!(&ran, on, "clients {:?}, groups {:?}, {weights:?}", queue.clients, queue.groups);
        for (&id, client) in &queue.clients {
            assert_eq!(self.policy.machine.weight(TaskId::new(id)).fixed(), weights.weight(id), "task {id}");
            assert_eq!(self.policy.machine.value(1, TaskId::new(id), 0), client.frontlog as i64, "task {id}");
        }
    }

    fn storm(&mut self, events: Vec<Vec<Event>>, calm: usize) {
        for events in events {
            events.into_iter().for_each(|event| self.happens(event));
            self.step();
        }
        (0..calm).for_each(|_| self.step());
    }
}

fn storms(orders: u32, most: usize) -> impl Strategy<Value = Vec<Vec<Event>>> {
    prop::collection::vec(prop::collection::vec(event(orders), 0..5), 1..most)
}

/// The clients that are blocked and in the queue of all, fewer after each decision, by no more than the limit
#[test]
fn gr3_d2_a_decision_removes_a_few() {
    let mut both = Both::new(PAPER, &[1; 60]);
    both.step();
    for id in both.policy.tasks().into_iter().skip(1) {
        both.leave(id, false);
    }
    let mut kept = vec![both.model.queue.clients.len()];
    while *kept.last().unwrap() > 1 {
        both.step();
        kept.push(both.model.queue.clients.len());
    }
    assert_eq!(kept, [60, 44, 28, 12, 1]);
}

/// A client that was not removed yet has its old place when it wakes, and one that was removed comes last.
#[test]
fn gr3_d2_what_a_decision_leaves_keeps_its_place() {
    let mut both = Both::new(PAPER, &[1; 60]);
    both.step();
    let blocked: Vec<u32> = both.policy.tasks().into_iter().skip(1).collect();
    for &id in &blocked {
        both.leave(id, false);
    }
    both.step();
    for &id in blocked.iter().rev() {
        both.wake(id);
    }
    for _ in 0..200 {
        both.step();
    }
}

const PAPER: Rule = Rule { cpus: 1, literal: false, frontlog: 1 << 20, procfair: false };

proptest! {
    #![proptest_config(config(1000, 3))]

    #[test]
    fn gr3_r3_r4_r5_r6_r11_d3_decides_as_the_rules_say(events in storms(7, 80)) {
        Both::new(PAPER, &[3, 2, 1]).storm(events, 50);
    }

    #[test]
    fn gr3_d6_r5_r6_decides_as_the_paper_says_literally(cpus in 1u32..=8, events in storms(7, 80)) {
        Both::new(Rule { cpus, literal: true, ..PAPER }, &[3, 2, 1]).storm(events, 50);
    }

    /// Heavy tasks that are selected again and again while they run, beside light ones
    #[test]
    fn gr3_r7_r12_r13_decides_as_the_rules_say_on_several_cpus(cpus in 2u32..5, events in storms(4, 80)) {
        Both::new(Rule { cpus, ..PAPER }, &[8, 8, 8, 8, 3, 2, 1, 1]).storm(events, 50);
    }
}

proptest! {
    #![proptest_config(config(10_000, 4))]

    /// Weights from 1 to 4095, most sets of them infeasible, with tasks that block and are back before their turn or
    /// after it, and with frontlogs that are limited
    #[test]
    fn gr3_r6_r8_r11_r12_r13_d2_infeasible_and_blocking_decides_as_the_rules_say(
        cpus in 1u32..=8,
        frontlog in prop_oneof![3 => Just(PAPER.frontlog), 1 => 1u64..9],
        first in prop::collection::vec(weight(12), 0..10),
        events in storms(12, 25),
    ) {
        Both::new(Rule { cpus, frontlog, ..PAPER }, &first).storm(events, 10);
    }

    /// A limited frontlog is worth no more quanta than that, however short are those of others.
    #[test]
    fn gr3_d2_a_limited_frontlog_is_worth_no_more_quanta(
        cpus in 2u32..=8,
        frontlog in 1u64..5,
        turns in prop::collection::vec(prop::collection::vec(0usize..8, 0..20), 1..12),
    ) {
        let decide = |turn: Vec<usize>| turn.into_iter().map(Event::Decide).collect();
        let heavy = vec![8; cpus as usize + 1];
        Both::new(Rule { cpus, frontlog, ..PAPER }, &[&heavy[..], &[3, 1, 1]].concat())
            .storm(turns.into_iter().map(decide).collect(), 20);
    }

    /// The same with weights divided among threads: they are counted while they are in the queue.
    #[test]
    fn gr3_r6_procfair_r2_d3_threads_in_the_queue_count(
        cpus in 1u32..=8,
        first in prop::collection::vec(weight(6), 0..10),
        events in storms(6, 25),
    ) {
        Both::new(Rule { cpus, procfair: true, ..PAPER }, &first).storm(events, 10);
    }
}
