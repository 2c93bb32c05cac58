//! Policies by hand, for [`run`](crate::minimal::run): round-robin, start-time fair queueing, group ratio round-robin. And
//! divvy's machine in their place: the calls of a policy, with nothing but the loop around them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use divvy_policy::{CpuId, Machine, TaskId, Weight};

use crate::minimal::{Former, Line};

#[derive(Default)]
pub struct RoundRobin(VecDeque<usize>);

impl Line for RoundRobin {
    fn wakes(&mut self, task: usize, _: u64) {
        self.0.push_back(task);
    }

    fn turn(&mut self, _: usize, former: Option<Former>, _: u64) -> Option<usize> {
        if let Some(former) = former.filter(|former| former.is_runnable) {
            self.0.push_back(former.task);
        }
        self.0.pop_front()
    }
}

/// The task with the least service over weight runs.
pub struct FairQueue {
    weights: Vec<u64>,
    tags: Vec<u64>,
    waiting: BinaryHeap<Reverse<(u64, u32, u32)>>,
    running: Vec<Option<u32>>,
    pushed: u32,
    v: u64,
}

impl FairQueue {
    pub fn new(weights: &[u64], cpus: u32) -> FairQueue {
        let (weights, tags) = (weights.to_vec(), vec![0; weights.len()]);
        FairQueue {
            weights,
            tags,
            waiting: BinaryHeap::new(),
            running: vec![None; cpus as usize],
            pushed: 0,
            v: 0,
        }
    }

    fn push(&mut self, task: usize) {
        self.waiting.push(Reverse((self.tags[task], self.pushed, task as u32)));
        self.pushed += 1;
    }
}

impl Line for FairQueue {
    fn wakes(&mut self, task: usize, _: u64) {
        let waiting = self.waiting.peek().map(|Reverse((tag, ..))| *tag);
        let running = self.running.iter().flatten().map(|&task| self.tags[task as usize]).min();
        self.v = self.v.max(waiting.into_iter().chain(running).min().unwrap_or(self.v));
        self.tags[task] = self.tags[task].max(self.v);
        self.push(task);
    }

    fn turn(&mut self, cpu: usize, former: Option<Former>, _: u64) -> Option<usize> {
        if let Some(Former { task, ran_ns, is_runnable }) = former {
            self.tags[task] += (ran_ns << 10) / self.weights[task];
            if is_runnable {
                self.push(task);
            } else if self.waiting.is_empty() {
                self.v = self.v.max(self.tags[task]);
            }
        }
        self.running[cpu] = self.waiting.pop().map(|Reverse((.., task))| task);
        self.running[cpu].map(|task| task as usize)
    }
}

/// Clients of similar weight form a group, in a circle; groups take turns in the ratio of their weights. A client whose turn comes
/// while it runs has a turn to its credit, on the CPU where it runs.
pub struct Groups {
    weights: Vec<u64>,
    next: Vec<usize>,
    prev: Vec<usize>,
    deficits: Vec<u64>,
    credits: Vec<u32>,
    is_running: Vec<bool>,
    groups: [Group; 64],
    /// The heaviest first, and whose turn it is.
    order: Vec<usize>,
    at: usize,
    credited: Vec<VecDeque<usize>>,
}

#[derive(Clone, Copy, Default)]
struct Group {
    weight: u64,
    clients: usize,
    current: usize,
    /// Turns, and the next one.
    turns: u64,
}

/// Selections of clients that run already; then nobody gets the CPU.
const MOST_SELECTIONS: usize = 1024;

impl Groups {
    pub fn new(weights: &[u64], cpus: u32) -> Groups {
        let n = weights.len();
        Groups {
            weights: weights.to_vec(),
            next: vec![0; n],
            prev: vec![0; n],
            deficits: vec![0; n],
            credits: vec![0; n],
            is_running: vec![false; n],
            groups: [Group::default(); 64],
            order: Vec::new(),
            at: 0,
            credited: vec![VecDeque::new(); cpus as usize],
        }
    }

    fn group_of(&self, task: usize) -> usize {
        self.weights[task].ilog2() as usize
    }

    fn sort(&mut self) {
        self.order.retain(|&group| self.groups[group].clients > 0);
        self.order.sort_by_key(|&group| Reverse(self.groups[group].weight));
        self.at = 0;
    }

    fn leaves(&mut self, task: usize) {
        let group = self.group_of(task);
        let g = &mut self.groups[group];
        let (next, prev) = (self.next[task], self.prev[task]);
        (self.next[prev], self.prev[next]) = (next, prev);
        if g.current == task {
            g.current = next;
            self.deficits[next] += self.weights[next];
        }
        g.clients -= 1;
        g.weight -= self.weights[task];
        self.credits[task] = 0;
        self.sort();
    }

    /// One that waits, where there are no more clients than CPUs.
    fn any(&self) -> Option<usize> {
        self.order.iter().find_map(|&group| {
            let g = &self.groups[group];
            let clients = std::iter::successors(Some(g.current), |&task| Some(self.next[task]));
            clients.take(g.clients).find(|&task| !self.is_running[task])
        })
    }

    /// One selection: the client whose turn it is.
    fn select(&mut self) -> Option<usize> {
        let group = *self.order.get(self.at)?;
        let g = &mut self.groups[group];
        let least = 1 << group;
        if self.deficits[g.current] < least {
            g.current = self.next[g.current];
            self.deficits[g.current] += self.weights[g.current];
        }
        self.deficits[g.current] -= least;
        g.turns += 1;
        let (task, turns, weight) = (g.current, g.turns, g.weight);
        let after = self.order.get(self.at + 1).map(|&group| self.groups[group]);
        let is_ahead =
            |n: Group| u128::from(turns) * u128::from(n.weight) > u128::from(n.turns) * u128::from(weight);
        self.at = if after.is_some_and(is_ahead) { self.at + 1 } else { 0 };
        Some(task)
    }
}

impl Line for Groups {
    fn wakes(&mut self, task: usize, _: u64) {
        let group = self.group_of(task);
        let g = &mut self.groups[group];
        self.deficits[task] = 0;
        if g.clients == 0 {
            (self.next[task], self.prev[task]) = (task, task);
            self.deficits[task] = self.weights[task];
            (g.current, g.turns) = (task, 1);
            self.order.push(group);
        } else {
            let (next, prev) = (g.current, self.prev[g.current]);
            (self.next[task], self.prev[task]) = (next, prev);
            (self.next[prev], self.prev[next]) = (task, task);
        }
        g.clients += 1;
        g.weight += self.weights[task];
        self.sort();
    }

    fn turn(&mut self, cpu: usize, former: Option<Former>, _: u64) -> Option<usize> {
        if let Some(Former { task, is_runnable, .. }) = former {
            self.is_running[task] = false;
            if !is_runnable {
                self.leaves(task);
            } else if self.credits[task] > 0 {
                self.credited[cpu].push_back(task);
            }
        }
        let mut found = None;
        if let Some(task) = self.credited[cpu].pop_front() {
            self.credits[task] -= 1;
            found = Some(task);
        }
        let clients: usize = self.order.iter().map(|&group| self.groups[group].clients).sum();
        if clients <= self.credited.len() {
            found = found.or_else(|| self.any());
        }
        for _ in 0..MOST_SELECTIONS {
            let Some(task) = found.or_else(|| self.select()) else { break };
            if !self.is_running[task] {
                self.is_running[task] = true;
                return Some(task);
            }
            found = None;
            self.credits[task] += 1;
        }
        None
    }
}

/// The calls of a policy.
pub struct Calls {
    machine: Machine,
    are_known: Vec<bool>,
}

impl Calls {
    pub fn new(mut machine: Machine, weights: &[Weight]) -> Calls {
        for (task, &weight) in TaskId::all().zip(weights) {
            machine.add(task, task, weight, 0);
        }
        Calls { machine, are_known: vec![false; weights.len()] }
    }
}

impl Line for Calls {
    fn wakes(&mut self, task: usize, now_ns: u64) {
        let is_new = !std::mem::replace(&mut self.are_known[task], true);
        self.machine.wake(TaskId::at(task + 1), is_new, now_ns);
    }

    fn turn(&mut self, cpu: usize, former: Option<Former>, now_ns: u64) -> Option<usize> {
        let cpu = CpuId::at(cpu);
        let blocked = former.filter(|former| !former.is_runnable);
        if let Some(Former { task, ran_ns, .. }) = blocked {
            self.machine.block(TaskId::at(task + 1), ran_ns, false, now_ns);
        }
        let former = former.filter(|former| former.is_runnable);
        let ran_ns = former.as_ref().map_or(0, |former| former.ran_ns);
        let former = former.map(|former| TaskId::at(former.task + 1));
        let turn = self.machine.turn(cpu, former, ran_ns, now_ns).expect("no group has a limit");
        let chosen = turn.decision.map(|decision| decision.task);
        chosen.map(|task| task.index() - 1)
    }
}
