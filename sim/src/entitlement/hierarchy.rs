//! The groups: each divides what it gets among the tasks and the groups in it by weight, nobody gets more CPUs than it has
//! tasks that want one, and what that leaves goes to the others.
//!
//! A group has a level, the CPUs for each unit of weight of those in it that can use them. From the tasks that are full
//! and those that share it is found in one division. Those for which that is wrong then go to the other side, which never lowers the
//! level (Newton's method on a concave function): mostly nobody has to.
//!
//! A group with a limit can use no more than its quota in each period. That is a rate here: what it saves up while it sleeps is the
//! work that it has left. Without weights of groups, all tasks have one level, but those of a group at its limit a lower one.

use divvy_policy::CpuLimit;
use divvy_workload::Group;

use super::bundle::Bundle;
use super::split::{EPSILON, Split};

/// Levels of groups: tasks of a deeper one are in its ancestor of the last level.
const DEEPEST: usize = 8;

/// The group in which the tasks of each group are, by number.
pub(super) fn joined(groups: &[Group]) -> Vec<usize> {
    let (mut levels, mut joined) = (vec![0], vec![0]);
    for (index, group) in groups.iter().enumerate() {
        let parent = group.parent.map_or(0, |parent| parent + 1);
        joined.push(if levels[parent] < DEEPEST { index + 1 } else { joined[parent] });
        levels.push(levels[parent] + 1);
    }
    joined
}

/// A group.
#[derive(Clone, Debug)]
struct Node {
    parent: usize,
    weight: u64,
    /// Groups in it.
    inner: Vec<usize>,
    /// Backlogged tasks in it and in its groups.
    tasks: u64,
    /// CPUs that its limit gives it; infinite without one.
    limit: f64,
    /// CPUs that its members can use, and that it can: not more than its limit.
    usable: f64,
    most: f64,
    /// It has as many CPUs.
    full: bool,
    /// CPUs that it has.
    rate: f64,
    level: f64,
    own: Split,
}

/// The groups, numbered from 1 as in the workload and one; 0 is the whole machine.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy {
    nodes: Vec<Node>,
    /// Groups have weights; else only their limits count.
    weighs: bool,
    /// Some group has a limit.
    limited: bool,
}

impl Hierarchy {
    pub(super) fn new(groups: &[Group], weighs: bool) -> Hierarchy {
        let limited = groups.iter().any(|group| group.cpu_max.is_some());
        let groups = if weighs || limited { groups } else { &[] };
        let node = |parent: usize, weight: u64, limit: f64| Node {
            parent,
            weight,
            inner: Vec::new(),
            tasks: 0,
            limit,
            usable: 0.0,
            most: 0.0,
            full: false,
            rate: 0.0,
            level: 0.0,
            own: Split::default(),
        };
        let of = |group: &Group| {
            let cpus = |limit: &CpuLimit| limit.quota_ns as f64 / limit.period_ns as f64;
            let limit = group.cpu_max.as_ref().map_or(f64::INFINITY, cpus);
            node(group.parent.map_or(0, |at| at + 1), group.weight.weight().fixed(), limit)
        };
        let root = std::iter::once(node(0, 0, f64::INFINITY));
        let mut nodes: Vec<Node> = root.chain(groups.iter().map(of)).collect();
        for group in 1..nodes.len() {
            let parent = nodes[group].parent;
            nodes[parent].inner.push(group);
        }
        Hierarchy { nodes, weighs, limited }
    }

    /// Whether tasks of different groups may have different levels.
    pub(super) fn has_groups(&self) -> bool {
        self.weighs || self.limited
    }

    pub(super) fn is_limited(&self) -> bool {
        self.limited
    }

    /// The bundles of a group.
    pub(super) fn own(&mut self, group: usize) -> &mut Split {
        &mut self.nodes[group].own
    }

    /// CPUs for each unit of weight in the group; infinite if all there have one.
    pub(super) fn level(&self, group: usize) -> f64 {
        self.nodes[group].level
    }

    /// A task in this group is backlogged, or no longer is.
    pub(super) fn count(&mut self, mut group: usize, comes: bool) {
        loop {
            let tasks = &mut self.nodes[group].tasks;
            *tasks = if comes { *tasks + 1 } else { *tasks - 1 };
            if group == 0 {
                return;
            }
            group = self.nodes[group].parent;
        }
    }

    /// Finds the level of each group.
    pub(super) fn fill(&mut self, cpus: u64, bundles: &mut [Bundle]) {
        self.find_most();
        self.nodes[0].rate = self.nodes[0].most.min(cpus as f64);
        if !self.weighs && self.limited {
            self.nodes[0].level = self.solve(0, self.nodes[0].rate, bundles);
            return self.hand_down_level(bundles);
        }
        // Groups come after the one that they are in.
        for group in 0..self.nodes.len() {
            if self.nodes[group].tasks > 0 {
                while self.fill_one(group, bundles) {}
                self.hand_down(group);
            }
        }
    }

    /// Groups come after the one that they are in.
    fn find_most(&mut self) {
        for group in (0..self.nodes.len()).rev() {
            let inner = self.nodes[group].inner.iter().map(|&at| self.nodes[at].most).sum::<f64>();
            let node = &mut self.nodes[group];
            node.usable = node.own.tasks as f64 + inner;
            node.most = node.usable.min(node.limit);
        }
    }

    // ---- groups that have limits and no weights ----

    /// CPUs that the members of a group get where a task of weight w gets min(1, level x w), and no group more than its limit; and
    /// how many more for each unit of level.
    fn used(&self, group: usize, level: f64, bundles: &[Bundle]) -> (f64, f64) {
        let node = &self.nodes[group];
        let (mut used, mut more) = (0.0, 0.0);
        for (weight, bundle) in node.own.heaviest_first() {
            let (weight, tasks) = (weight as f64, bundles[bundle as usize].tasks as f64);
            if level * weight < 1.0 {
                used += tasks * level * weight;
                more += tasks * weight;
            } else {
                used += tasks;
            }
        }
        for &inner in node.inner.iter().filter(|&&inner| self.nodes[inner].tasks > 0) {
            let own = self.used(inner, level, bundles);
            if own.0 < self.nodes[inner].limit {
                used += own.0;
                more += own.1;
            } else {
                used += self.nodes[inner].limit;
            }
        }
        (used, more)
    }

    /// The level at which they get so many. Newton's method on a concave function, from the left: it never goes too far.
    fn solve(&self, group: usize, cpus: f64, bundles: &[Bundle]) -> f64 {
        let mut level = 0.0;
        loop {
            let (used, more) = self.used(group, level, bundles);
            let step = (cpus - used) / more;
            if more == 0.0 || step <= level * EPSILON {
                return level;
            }
            level += step;
        }
    }

    /// A group has the level of the one around it, or that at which it gets its limit.
    fn hand_down_level(&mut self, bundles: &[Bundle]) {
        for group in 1..self.nodes.len() {
            let (around, limit) = (self.nodes[self.nodes[group].parent].level, self.nodes[group].limit);
            let fits = self.used(group, around, bundles).0 <= limit;
            self.nodes[group].level = if fits { around } else { self.solve(group, limit, bundles) };
        }
    }

    // ---- groups that have weights ----

    /// Finds the level of a group from those that are full, and moves those for which that is wrong: whether it did.
    fn fill_one(&mut self, group: usize, bundles: &mut [Bundle]) -> bool {
        let node = &self.nodes[group];
        let (mut weight, mut full) = (node.own.weight, node.own.full_tasks as f64);
        for inner in node.inner.iter().map(|&at| &self.nodes[at]).filter(|inner| inner.tasks > 0) {
            if inner.full {
                full += inner.most;
            } else {
                weight += inner.weight;
            }
        }
        let all = node.rate >= node.usable * (1.0 - EPSILON);
        let level = if all { f64::INFINITY } else { level(node.rate - full, weight) };
        self.nodes[group].level = level;
        let mut moved = false;
        while let Some(bundle) = self.nodes[group].own.misplaced(level, 1.0) {
            let bundle = &mut bundles[bundle as usize];
            self.nodes[group].own.move_over(bundle.part(), bundle.full_in_group);
            bundle.full_in_group = !bundle.full_in_group;
            moved = true;
        }
        for at in 0..self.nodes[group].inner.len() {
            let inner = self.nodes[group].inner[at];
            moved |= self.nodes[inner].place(level);
        }
        moved
    }

    /// The groups in this one get their CPUs.
    fn hand_down(&mut self, group: usize) {
        let level = self.nodes[group].level;
        for at in 0..self.nodes[group].inner.len() {
            let inner = self.nodes[group].inner[at];
            let inner = &mut self.nodes[inner];
            inner.rate = if inner.full { inner.most } else { level * inner.weight as f64 };
        }
    }
}

impl Node {
    /// Whether the group is full at its parent's level; says if that is new.
    fn place(&mut self, level: f64) -> bool {
        let (part, most) = (level * self.weight as f64, self.most);
        let limit = most * if self.full { 1.0 - EPSILON } else { 1.0 + EPSILON };
        let full = if self.full { part >= limit } else { part > limit };
        self.tasks > 0 && std::mem::replace(&mut self.full, full) != full
    }
}

/// CPUs for each unit of this weight, with room for so many.
pub(super) fn level(room: f64, weight: u64) -> f64 {
    match weight {
        0 if room < -EPSILON => 0.0,
        0 => f64::INFINITY,
        _ => room.max(0.0) / weight as f64,
    }
}
