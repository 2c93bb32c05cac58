//! Water-filling: which of the backlogged tasks get a whole CPU, because their weight asks for more than one.
//!
//! Tasks are kept by order of magnitude of their weight, so that only the orders with tasks that may be capped are
//! sorted.

use std::cmp::Reverse;

use divvy_policy::TaskId;

const ORDERS: usize = 64;

/// Neighbours of a task in the list of its order.
#[derive(Clone, Copy, Debug)]
struct Links {
    next: Option<TaskId>,
    prev: Option<TaskId>,
}

/// Backlogged tasks by order of magnitude of their weight: those in `[2^i, 2^(i+1))` are in list `i`.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    first: [Option<TaskId>; ORDERS],
    size: [u64; ORDERS],
    /// Bit `i`: list `i` is not empty.
    used: u64,
    /// Sum of all weights.
    total: u64,
    links: Vec<Links>,
}

/// How the CPUs are divided.
pub(super) struct Filled {
    /// Tasks with a CPU each, heaviest first.
    pub capped: Vec<TaskId>,
    /// CPUs that the others share, and their weight.
    pub cpus: u64,
    pub weight: u64,
}

impl Orders {
    pub(super) fn new() -> Orders {
        Orders { first: [None; ORDERS], size: [0; ORDERS], used: 0, total: 0, links: Vec::new() }
    }

    pub(super) fn insert(&mut self, task: TaskId, weight: u64) {
        let order = weight.ilog2() as usize;
        let i = task.index();
        if i >= self.links.len() {
            self.links.resize(i + 1, Links { next: None, prev: None });
        }
        let next = self.first[order];
        self.links[i] = Links { next, prev: None };
        if let Some(next) = next {
            self.links[next.index()].prev = Some(task);
        }
        self.first[order] = Some(task);
        self.size[order] += 1;
        self.used |= 1 << order;
        self.total += weight;
    }

    /// Takes out a task, which has the weight with which it was inserted.
    pub(super) fn remove(&mut self, task: TaskId, weight: u64) {
        let Links { next, prev } = self.links[task.index()];
        let order = weight.ilog2() as usize;
        match prev {
            None => self.first[order] = next,
            Some(prev) => self.links[prev.index()].next = next,
        }
        if let Some(next) = next {
            self.links[next.index()].prev = prev;
        }
        self.size[order] -= 1;
        if self.size[order] == 0 {
            self.used &= !(1 << order);
        }
        self.total -= weight;
    }

    /// Finds the tasks that are capped at one CPU: from the heaviest down, each that asks for more than one of the CPUs
    /// left by its part of the weight left.
    pub(super) fn fill(&self, cpus: u64, weight_of: impl Fn(TaskId) -> u64) -> Filled {
        let (mut q, mut rest) = (cpus, self.total);
        let mut capped = Vec::new();
        let mut orders = self.used;
        while let Some(order) = orders.checked_ilog2() {
            // Not even the greatest weight of this order exceeds a CPU's part: then none below does.
            if u128::from(q) << (order + 1) <= u128::from(rest) {
                break;
            }
            orders &= !(1 << order);
            for task in self.heaviest_first(order, &weight_of) {
                let weight = weight_of(task);
                if u128::from(weight) * u128::from(q) <= u128::from(rest) {
                    orders = 0;
                    break;
                }
                capped.push(task);
                q -= 1;
                rest -= weight;
            }
        }
        Filled { capped, cpus: q, weight: rest }
    }

    fn heaviest_first(&self, order: u32, weight_of: &impl Fn(TaskId) -> u64) -> Vec<TaskId> {
        let mut found = Vec::with_capacity(self.size[order as usize] as usize);
        let mut next = self.first[order as usize];
        while let Some(task) = next {
            found.push(task);
            next = self.links[task.index()].next;
        }
        found.sort_unstable_by_key(|&t| (Reverse(weight_of(t)), t));
        found
    }
}
