//! The groups: each divides what it gets among the tasks and the groups in it by weight, nobody gets more CPUs than it has
//! tasks that want one, and what that leaves goes to the others.
//!
//! A group has a level, the CPUs for each unit of weight of those in it that can use them. From the tasks that are full
//! and those that share it is found in one division. Those for which that is wrong then go to the other side, which never lowers the
//! level (Newton's method on a concave function): mostly nobody has to.

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
    /// Backlogged tasks in it and in its groups: CPUs that it can use.
    tasks: u64,
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
}

impl Hierarchy {
    pub(super) fn new(groups: &[Group]) -> Hierarchy {
        let node = |parent: usize, weight: u64| Node {
            parent,
            weight,
            inner: Vec::new(),
            tasks: 0,
            full: false,
            rate: 0.0,
            level: 0.0,
            own: Split::default(),
        };
        let of = |group: &Group| node(group.parent.map_or(0, |at| at + 1), group.weight.weight().fixed());
        let mut nodes: Vec<Node> = std::iter::once(node(0, 0)).chain(groups.iter().map(of)).collect();
        for group in 1..nodes.len() {
            let parent = nodes[group].parent;
            nodes[parent].inner.push(group);
        }
        Hierarchy { nodes }
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
        self.nodes[0].rate = cpus.min(self.nodes[0].tasks) as f64;
        // Groups come after the one that they are in.
        for group in 0..self.nodes.len() {
            if self.nodes[group].tasks > 0 {
                while self.fill_one(group, bundles) {}
                self.hand_down(group);
            }
        }
    }

    /// Finds the level of a group from those that are full, and moves those for which that is wrong: whether it did.
    fn fill_one(&mut self, group: usize, bundles: &mut [Bundle]) -> bool {
        let node = &self.nodes[group];
        let (mut weight, mut full_tasks) = (node.own.weight, node.own.full_tasks);
        for inner in node.inner.iter().map(|&at| &self.nodes[at]).filter(|inner| inner.tasks > 0) {
            if inner.full {
                full_tasks += inner.tasks;
            } else {
                weight += inner.weight;
            }
        }
        let all = node.rate >= node.tasks as f64;
        let level = if all { f64::INFINITY } else { level(node.rate - full_tasks as f64, weight) };
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
            inner.rate = if inner.full { inner.tasks as f64 } else { level * inner.weight as f64 };
        }
    }
}

impl Node {
    /// Whether the group is full at its parent's level; says if that is new.
    fn place(&mut self, level: f64) -> bool {
        let (part, most) = (level * self.weight as f64, self.tasks as f64);
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
