//! GR3MP written a second time, from the rules of papers/gr3.md with lists and fractions, and compared with the policy
//! decision by decision while tasks come, go, and change.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use num_rational::Ratio;
use proptest::prelude::*;

use divvy_tests::cases::config;
use divvy_tests::lockstep::Lockstep;

/// W is kept in parts of a quantum, where it is not the paper's integer.
const QUANTUM: u128 = 256;

#[derive(Clone, Debug, Default)]
struct Client {
    phi: u64,
    deficit: Ratio<i64>,
    frontlog: u64,
    /// Not runnable, and still in its group
    away: bool,
}

#[derive(Clone, Debug)]
struct Group {
    order: u32,
    phi: u64,
    /// W_G + 1
    work: u128,
    /// The current client first
    members: Vec<u32>,
    turn_is_over: bool,
}

/// The queue: clients by group, and groups in the order of their weights
#[derive(Default)]
struct Queue {
    literal: bool,
    clients: BTreeMap<u32, Client>,
    groups: Vec<Group>,
    /// Order of the group to select from; the first of the list, if there is none
    current: Option<u32>,
    started: bool,
}

impl Queue {
    fn place(&self, order: u32) -> Option<usize> {
        self.groups.iter().position(|g| g.order == order)
    }

    fn total(&self) -> u64 {
        self.groups.iter().map(|g| g.phi).sum()
    }

    /// R5, D6: `group`, whose weight was `was`, goes to its place, and its work with it.
    fn relocate(&mut self, mut group: Group, was: u64) {
        if group.members.is_empty() {
            self.current = self.current.filter(|&order| order != group.order);
            self.started &= !self.groups.is_empty();
            return;
        }
        let key = |g: &Group| (Reverse(g.phi), g.order);
        let place = self.groups.iter().take_while(|g| key(g) < key(&group)).count();
        let neighbour = self.groups.get(place).or(self.groups.last());
        if let Some(n) = neighbour.filter(|_| self.started) {
            group.work = if self.literal {
                n.work * u128::from(group.phi) / u128::from(n.phi) / QUANTUM * QUANTUM
            } else {
                let (work, phi) = if was == 0 { (n.work, n.phi) } else { (group.work, was) };
                QUANTUM + work.saturating_sub(QUANTUM) * u128::from(group.phi) / u128::from(phi)
            };
        }
        self.groups.insert(place, group);
    }

    /// R4: D += phi/phi_min
    fn begin_turn(&mut self, group: &mut Group) {
        let client = self.clients.get_mut(&group.members[0]).unwrap();
        client.deficit += Ratio::new(client.phi as i64, 1 << group.order);
        group.turn_is_over = false;
    }

    fn insert(&mut self, id: u32, phi: u64) {
        self.clients.insert(id, Client { phi, ..Client::default() });
        let order = phi.ilog2();
        let mut group = match self.place(order) {
            Some(place) => self.groups.remove(place),
            None => Group { order, phi: 0, work: QUANTUM, members: Vec::new(), turn_is_over: false },
        };
        let was = group.phi;
        group.phi += phi;
        group.members.push(id);
        if was == 0 {
            self.begin_turn(&mut group);
        }
        self.relocate(group, was);
    }

    fn remove(&mut self, id: u32) {
        let place = self.groups.iter().position(|g| g.members.contains(&id)).unwrap();
        let mut group = self.groups.remove(place);
        let (was, first) = (group.phi, group.members[0] == id);
        group.phi -= self.clients.remove(&id).unwrap().phi;
        group.members.retain(|&member| member != id);
        if first && !group.members.is_empty() {
            self.begin_turn(&mut group);
        }
        self.relocate(group, was);
    }

    /// R11
    fn reweigh(&mut self, id: u32, phi: u64) {
        let Client { phi: old, away, frontlog, .. } = self.clients[&id];
        if phi.ilog2() != old.ilog2() {
            self.remove(id);
            self.insert(id, phi);
            let client = self.clients.get_mut(&id).unwrap();
            (client.away, client.frontlog) = (away, frontlog);
        } else if phi != old {
            let mut group = self.groups.remove(self.place(phi.ilog2()).unwrap());
            let was = group.phi;
            group.phi = group.phi + phi - old;
            self.clients.get_mut(&id).unwrap().phi = phi;
            self.relocate(group, was);
        }
    }

    /// R4, with the turn of one that blocked over (R6)
    fn intragroup(&mut self, place: usize) -> u32 {
        let mut group = self.groups[place].clone();
        if group.turn_is_over || self.clients[&group.members[0]].deficit < Ratio::from(1) {
            group.members.rotate_left(1);
            self.begin_turn(&mut group);
        }
        let id = group.members[0];
        self.clients.get_mut(&id).unwrap().deficit -= 1;
        self.groups[place] = group;
        id
    }

    /// R3, and R6 for one that has not returned
    fn intergroup(&mut self) -> u32 {
        loop {
            let i = self.current.and_then(|order| self.place(order)).unwrap_or(0);
            let id = self.intragroup(i);
            if self.clients[&id].away {
                self.remove(id);
                self.current = None;
                continue;
            }
            self.started = true;
            self.groups[i].work += QUANTUM;
            let (this, next) = (&self.groups[i], self.groups.get(i + 1));
            let is_due = |n: &&Group| this.work * u128::from(n.phi) > n.work * u128::from(this.phi);
            self.current = next.filter(is_due).map(|n| n.order);
            return id;
        }
    }
}

/// P CPUs, their frontlog queues, and the tasks that are runnable and wait
struct Model {
    queue: Queue,
    on: Vec<u32>,
    fronts: Vec<Vec<u32>>,
    waiting: Vec<u32>,
}

impl Model {
    fn new(cpus: u32, literal: bool) -> Model {
        Model {
            queue: Queue { literal, ..Queue::default() },
            on: vec![0; cpus as usize],
            fronts: vec![Vec::new(); cpus as usize],
            waiting: Vec::new(),
        }
    }

    fn frontlog(&self, id: u32) -> u64 {
        self.queue.clients.get(&id).map_or(0, |c| c.frontlog)
    }

    fn frontlog_of_cpu(&self, cpu: usize) -> u64 {
        self.fronts[cpu].iter().map(|&id| self.frontlog(id)).sum::<u64>() + self.frontlog(self.on[cpu])
    }

    fn wake(&mut self, id: u32, weight: u64) {
        if self.queue.clients.contains_key(&id) {
            self.queue.reweigh(id, weight);
            self.queue.clients.get_mut(&id).unwrap().away = false;
        } else {
            self.arrive(id, weight);
        }
        self.waiting.push(id);
    }

    /// R5, R12
    fn arrive(&mut self, id: u32, weight: u64) {
        let total: u64 = self.queue.clients.values().map(|c| c.frontlog).sum();
        self.queue.insert(id, weight);
        let share = total * weight / self.queue.total();
        if share > 0 {
            let cpu = (0..self.on.len()).min_by_key(|&cpu| self.frontlog_of_cpu(cpu)).unwrap();
            self.queue.clients.get_mut(&id).unwrap().frontlog = share;
            self.fronts[cpu].push(id);
        }
    }

    /// R6, R12, D3
    fn leave(&mut self, id: u32, exits: bool) {
        self.forget(id);
        self.on.iter_mut().filter(|on| **on == id).for_each(|on| *on = 0);
        let client = self.queue.clients.get_mut(&id).unwrap();
        client.deficit = client.deficit.min(Ratio::from(1));
        client.frontlog = 0;
        client.away = true;
        if let Some(group) = self.queue.groups.iter_mut().find(|g| g.members[0] == id) {
            group.turn_is_over = true;
        }
        if exits {
            self.queue.remove(id);
        }
    }

    /// It waits no more.
    fn forget(&mut self, id: u32) {
        self.waiting.retain(|&waits| waits != id);
        self.fronts.iter_mut().for_each(|front| front.retain(|&waits| waits != id));
    }

    /// R7, R12, R13
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
            id
        } else if self.queue.clients.values().filter(|c| !c.away).count() <= self.on.len() {
            self.waiting[0]
        } else {
            self.select()
        };
        self.forget(id);
        self.on[cpu] = id;
    }

    fn select(&mut self) -> u32 {
        loop {
            let id = self.queue.intergroup();
            if !self.on.contains(&id) {
                return id;
            }
            self.queue.clients.get_mut(&id).unwrap().frontlog += 1;
        }
    }
}

/// An event between two quanta, for the n-th task
#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive(u64),
    Leave(usize),
    Wake(usize),
    Exit(usize),
    Reweigh(usize, u64),
    /// One CPU decides before the others, a part of a quantum later
    Decide(usize),
}

fn event(most: u32) -> impl Strategy<Value = Event> {
    let weight = move || (0..most, 0u64..64).prop_map(|(o, x)| (1 << o) + x % (1 << o));
    prop_oneof![
        2 => weight().prop_map(Event::Arrive),
        3 => (0usize..99).prop_map(Event::Leave),
        3 => (0usize..99).prop_map(Event::Wake),
        1 => (0usize..99).prop_map(Event::Exit),
        1 => (0usize..99, weight()).prop_map(|(n, w)| Event::Reweigh(n, w)),
        3 => (0usize..99).prop_map(Event::Decide),
    ]
}

/// The policy and the model, told the same
struct Both {
    policy: Lockstep,
    model: Model,
    /// Weight as set, by task
    weights: BTreeMap<u32, u64>,
}

impl Both {
    fn new(spec: &str, cpus: u32, weights: &[u64]) -> Both {
        let model = Model::new(cpus, spec == "gr3:literal");
        let mut both = Both { policy: Lockstep::new(spec, cpus), model, weights: BTreeMap::new() };
        weights.iter().for_each(|&w| both.arrive(w));
        both
    }

    fn arrive(&mut self, weight: u64) {
        let id = self.policy.add(weight);
        self.weights.insert(id, weight);
        self.model.wake(id, weight);
    }

    /// Whether all weights were feasible, if that of one was another: else they are not what was set, and the model
    /// knows nothing of that.
    fn is_feasible(&self, changed: Option<(u32, u64)>) -> bool {
        let runnable = self.weights.iter().filter(|&(&id, _)| self.policy.is_runnable(id));
        let mut weights: BTreeMap<u32, u64> = runnable.map(|(&id, &w)| (id, w)).collect();
        if let Some((id, weight)) = changed {
            weights.insert(id, weight);
        }
        let p = self.model.on.len() as u64;
        p == 1
            || weights.len() as u64 > p
                && weights.values().max() <= Some(&(weights.values().sum::<u64>() / p))
    }

    fn happens(&mut self, event: Event) {
        let tasks = self.policy.tasks();
        let task = |n: usize| tasks[n % tasks.len()];
        match event {
            Event::Arrive(w) if self.is_feasible(Some((0, w))) => self.arrive(w),
            Event::Leave(n) if self.policy.is_runnable(task(n)) => self.leave(task(n), false),
            Event::Exit(n) if self.policy.is_runnable(task(n)) => self.leave(task(n), true),
            Event::Wake(n) if !self.policy.is_runnable(task(n)) => {
                let weight = self.weights[&task(n)];
                if self.is_feasible(Some((task(n), weight))) {
                    self.policy.wake(task(n));
                    self.model.wake(task(n), weight);
                }
            }
            Event::Reweigh(n, w)
                if self.policy.is_runnable(task(n)) && self.is_feasible(Some((task(n), w))) =>
            {
                self.weights.insert(task(n), w);
                self.policy.set_weight(task(n), w);
                self.model.queue.reweigh(task(n), w);
            }
            Event::Decide(n) => {
                let cpu = n % self.model.on.len();
                self.policy.decide(cpu);
                self.model.decide(cpu);
            }
            _ => {}
        }
    }

    fn leave(&mut self, id: u32, exits: bool) {
        if self.policy.tasks().len() > 1 && self.is_feasible(Some((id, 0))) {
            self.policy.leave(id, exits);
            self.model.leave(id, exits);
        }
    }

    fn step(&mut self) {
        let ran = self.policy.step();
        (0..ran.len()).for_each(|cpu| self.model.decide(cpu));
        assert_eq!(
            ran, self.model.on,
            "clients {:?}, groups {:?}",
            self.model.queue.clients, self.model.queue.groups
        );
    }

    fn storm(&mut self, events: Vec<Vec<Event>>) {
        for events in events {
            events.into_iter().for_each(|event| self.happens(event));
            self.step();
        }
        (0..50).for_each(|_| self.step());
    }
}

fn storms(most: u32) -> impl Strategy<Value = Vec<Vec<Event>>> {
    prop::collection::vec(prop::collection::vec(event(most), 0..4), 1..80)
}

proptest! {
    #![proptest_config(config(300, 3))]

    #[test]
    fn gr3_r3_r4_r5_r6_r11_d3_decides_as_the_rules_say(events in storms(7)) {
        Both::new("gr3", 1, &[3, 2, 1]).storm(events);
    }

    #[test]
    fn gr3_d6_r5_r6_decides_as_the_paper_says_literally(events in storms(7)) {
        Both::new("gr3:literal", 1, &[3, 2, 1]).storm(events);
    }

    /// Heavy tasks that are selected again and again while they run, beside light ones
    #[test]
    fn gr3_r7_r12_r13_decides_as_the_rules_say_on_several_cpus(cpus in 2u32..5, events in storms(4)) {
        Both::new("gr3", cpus, &[8, 8, 8, 8, 3, 2, 1, 1]).storm(events);
    }
}
