//! The entitlement of the tasks of a hierarchy of groups, in CPUs: each group divides what it gets among the tasks and
//! the groups in it by weight, nobody gets more CPUs than it has tasks that want one, and what that leaves goes to the
//! others.

use divvy_workload::Group;

/// The groups, numbered from 1 as in the workload and one; 0 is the whole machine.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy {
    parents: Vec<usize>,
    weights: Vec<f64>,
}

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

/// Someone who gets a part of a group: a task, or a group.
struct Member {
    who: Who,
    weight: f64,
    /// CPUs that it can use.
    most: f64,
}

#[derive(Clone, Copy)]
enum Who {
    Task(usize),
    Group(usize),
}

impl Hierarchy {
    pub(super) fn new(groups: &[Group]) -> Hierarchy {
        let parent = |group: &Group| group.parent.map_or(0, |parent| parent + 1);
        let weight = |group: &Group| group.weight.weight().fixed() as f64;
        Hierarchy {
            parents: std::iter::once(0).chain(groups.iter().map(parent)).collect(),
            weights: std::iter::once(0.0).chain(groups.iter().map(weight)).collect(),
        }
    }

    /// The rates of tasks, each of which is in a group and has a weight there.
    pub(super) fn rates(&self, cpus: u64, tasks: &[(usize, u64)]) -> Vec<f64> {
        let mut members: Vec<Vec<Member>> = self.parents.iter().map(|_| Vec::new()).collect();
        for (index, &(group, weight)) in tasks.iter().enumerate() {
            members[group].push(Member { who: Who::Task(index), weight: weight as f64, most: 1.0 });
        }
        let mut count: Vec<f64> = members.iter().map(|own| own.len() as f64).collect();
        // Groups come after the one that they are in.
        for group in (1..self.parents.len()).rev() {
            count[self.parents[group]] += count[group];
        }
        for group in (1..self.parents.len()).filter(|&group| count[group] > 0.0) {
            let member = Member { who: Who::Group(group), weight: self.weights[group], most: count[group] };
            members[self.parents[group]].push(member);
        }
        let mut budgets = vec![0.0; self.parents.len()];
        budgets[0] = (cpus as f64).min(tasks.len() as f64);
        let mut rates = vec![0.0; tasks.len()];
        for (group, members) in members.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
            for (member, rate) in members.iter().zip(parts(members, budgets[group])) {
                match member.who {
                    Who::Task(task) => rates[task] = rate,
                    Who::Group(group) => budgets[group] = rate,
                }
            }
        }
        rates
    }
}

/// By weight, none more than it can use: the one that can use least for its weight first.
fn parts(members: &[Member], budget: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    let use_of = |i: usize| members[i].most / members[i].weight;
    order.sort_by(|&a, &b| use_of(a).total_cmp(&use_of(b)));
    let mut parts = vec![0.0; members.len()];
    let mut left = budget;
    let mut weight: f64 = members.iter().map(|member| member.weight).sum();
    for i in order {
        parts[i] = (left * members[i].weight / weight).min(members[i].most);
        left -= parts[i];
        weight -= members[i].weight;
    }
    parts
}
