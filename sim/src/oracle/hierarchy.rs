//! The fluid of a hierarchy of groups, in exact fractions.
//!
//! Surplus Fair Scheduling (Chandra et al., 2000, section 5) leaves it as future work, with this constraint: a group of k
//! threads can use k CPUs. So a group divides the CPUs that it gets among its members, tasks and groups: each gets
//! min(k, theta w) CPUs, for the one theta at which they are used up. The outermost one has all CPUs, or as many as there
//! are tasks. A group below the eighth level has no part of its own: its tasks are in the one of that level that it is in.

use num_traits::{One, Zero};

use super::{Rational, whole};

/// Levels of groups.
const DEEPEST: usize = 8;

/// A group or a task, with its weight beside others in the same group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A runnable task, by a number of the caller's.
    Task(usize, Rational),
    /// A group, and what is in it.
    Group(Rational, Vec<Node>),
    /// A group that gets at most so many CPUs.
    Limited(Rational, Box<Node>),
}

impl Node {
    fn weight(&self) -> &Rational {
        match self {
            Node::Task(_, weight) | Node::Group(weight, _) => weight,
            Node::Limited(_, group) => group.weight(),
        }
    }

    /// CPUs that it can use: one for each task, and no more than its limit.
    fn most(&self) -> Rational {
        match self {
            Node::Task(..) => Rational::one(),
            Node::Group(_, members) => members.iter().map(Node::most).sum(),
            Node::Limited(limit, group) => group.most().min(limit.clone()),
        }
    }

    /// CPUs that its tasks use together where each gets theta w CPUs, at most one, and groups have limits and no weights.
    fn used(&self, theta: &Rational) -> Rational {
        match self {
            Node::Task(_, weight) => (theta * weight).min(Rational::one()),
            Node::Group(_, members) => members.iter().map(|member| member.used(theta)).sum(),
            Node::Limited(limit, group) => group.used(theta).min(limit.clone()),
        }
    }

    /// Values of theta between which that is linear.
    fn bends(&self, found: &mut Vec<Rational>) {
        match self {
            Node::Task(_, weight) => found.push(weight.recip()),
            Node::Group(_, members) => members.iter().for_each(|member| member.bends(found)),
            Node::Limited(limit, group) => {
                group.bends(found);
                found.extend(level(std::slice::from_ref(&**group), limit));
            }
        }
    }
}

/// (task, CPUs) of all tasks in there.
///
/// # Panics
/// If a weight is not positive.
pub fn rates(members: &[Node], cpus: u32) -> Vec<(usize, Rational)> {
    let members = within(members, 1);
    let most: Rational = members.iter().map(Node::most).sum();
    let mut found = Vec::new();
    divide(&members, &whole(cpus).min(most), &mut found);
    found
}

/// The same where groups have limits and no weights.
#[must_use]
pub fn rates_within_limits(members: &[Node], cpus: u32) -> Vec<(usize, Rational)> {
    let members = within(members, 1);
    let most: Rational = members.iter().map(Node::most).sum();
    let mut found = Vec::new();
    fill(&members, &whole(cpus).min(most), &mut found);
    found
}

/// The theta at which they use so many CPUs together; none if they never do.
fn level(members: &[Node], cpus: &Rational) -> Option<Rational> {
    let used = |theta: &Rational| -> Rational { members.iter().map(|member| member.used(theta)).sum() };
    let mut bends = Vec::new();
    members.iter().for_each(|member| member.bends(&mut bends));
    bends.sort();
    let (mut low, mut low_used) = (Rational::zero(), Rational::zero());
    for high in bends {
        let high_used = used(&high);
        if high_used >= *cpus {
            let rise = &high_used - &low_used;
            return Some(match rise.is_zero() {
                true => high,
                false => &low + (cpus - &low_used) * (&high - &low) / rise,
            });
        }
        (low, low_used) = (high, high_used);
    }
    None
}

/// All have the theta at which `cpus` are used; those of a group that is above its limit there, the one at which that is used.
fn fill(members: &[Node], cpus: &Rational, found: &mut Vec<(usize, Rational)>) {
    let Some(theta) = level(members, cpus) else { return };
    at_theta(members, &theta, found);
}

fn at_theta(members: &[Node], theta: &Rational, found: &mut Vec<(usize, Rational)>) {
    for member in members {
        match member {
            Node::Task(task, _) => found.push((*task, member.used(theta))),
            Node::Group(_, inner) => at_theta(inner, theta, found),
            Node::Limited(limit, group) if group.used(theta) > *limit => {
                fill(std::slice::from_ref(&**group), limit, found);
            }
            Node::Limited(_, group) => at_theta(std::slice::from_ref(&**group), theta, found),
        }
    }
}

/// The members of a group whose groups are of this level, without those that are too deep.
fn within(members: &[Node], level: usize) -> Vec<Node> {
    let kept = |member: &Node| match member {
        Node::Task(..) => vec![member.clone()],
        Node::Group(_, inner) if level > DEEPEST => within(inner, level),
        Node::Group(weight, inner) => vec![Node::Group(weight.clone(), within(inner, level + 1))],
        Node::Limited(_, group) if level > DEEPEST => within(std::slice::from_ref(&**group), level),
        Node::Limited(limit, group) => within(std::slice::from_ref(&**group), level)
            .into_iter()
            .map(|group| Node::Limited(limit.clone(), Box::new(group)))
            .collect(),
    };
    members.iter().flat_map(kept).collect()
}

fn divide(members: &[Node], cpus: &Rational, found: &mut Vec<(usize, Rational)>) {
    // A group without tasks gets nothing.
    let members: Vec<&Node> = members.iter().filter(|member| !member.most().is_zero()).collect();
    let Some(theta) = theta(&members, cpus) else { return };
    for member in members {
        let rate = member.most().min(&theta * member.weight());
        match member {
            Node::Task(task, _) => found.push((*task, rate)),
            Node::Group(_, inner) => divide(inner, &rate, found),
            Node::Limited(_, group) => divide(std::slice::from_ref(&**group), &rate, found),
        }
    }
}

/// CPUs for each unit of weight at which all are used. What is used grows with it, linearly between the values at which
/// members have as many as they can use.
fn theta(members: &[&Node], cpus: &Rational) -> Option<Rational> {
    assert!(members.iter().all(|member| *member.weight() > Rational::zero()), "weights are positive");
    let used = |theta: &Rational| -> Rational {
        members.iter().map(|member| member.most().min(theta * member.weight())).sum()
    };
    let mut bends: Vec<Rational> = members.iter().map(|member| member.most() / member.weight()).collect();
    bends.sort();
    let (mut low, mut low_used) = (Rational::zero(), Rational::zero());
    for high in bends {
        let high_used = used(&high);
        if high_used >= *cpus {
            return Some(match high == low {
                true => high,
                false => &low + (cpus - &low_used) * (&high - &low) / (high_used - &low_used),
            });
        }
        (low, low_used) = (high, high_used);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{fraction, gms};

    fn task(task: usize, weight: u64) -> Node {
        Node::Task(task, whole(weight))
    }

    fn group(weight: u64, members: &[Node]) -> Node {
        Node::Group(whole(weight), members.to_vec())
    }

    fn of(members: &[Node], cpus: u32) -> Vec<(u64, u64)> {
        let mut rates = rates(members, cpus);
        rates.sort();
        let number = |n: &num_bigint::BigInt| u64::try_from(n).expect("a small number");
        rates.iter().map(|(_, rate)| (number(rate.numer()), number(rate.denom()))).collect()
    }

    /// Users of weights 2 and 1 on one CPU: the first has three hogs, the second one.
    #[test]
    fn a_group_divides_what_it_gets() {
        let members = [group(2, &[task(0, 1), task(1, 1), task(2, 2)]), group(1, &[task(3, 7)])];
        assert_eq!(of(&members, 1), [(1, 6), (1, 6), (1, 3), (1, 3)]);
    }

    /// A group of one thread and weight 9 can use one of four CPUs; the others share three.
    #[test]
    fn a_group_of_k_threads_gets_at_most_k_cpus() {
        let hogs: Vec<Node> = (1..7).map(|i| task(i, 1)).collect();
        assert_eq!(of(&[group(9, &[task(0, 1)]), group(1, &hogs)], 4)[..2], [(1, 1), (1, 2)]);
        // Two threads of weights 9 and 1 in a group that gets two CPUs: one each.
        let members = [group(9, &[task(0, 9), task(1, 1)]), group(1, &hogs)];
        let rates = of(&[members[0].clone(), group(1, &[task(5, 1), task(6, 1), task(7, 1)])], 4);
        assert_eq!(rates, [(1, 1), (1, 1), (2, 3), (2, 3), (2, 3)]);
    }

    /// The limit is that of every level: b's part of a is two CPUs of three, and it has one thread.
    #[test]
    fn limits_hold_inside() {
        let b = group(2, &[task(0, 1)]);
        let a = group(3, &[b, task(1, 1), task(2, 1), task(3, 1)]);
        let others: Vec<Node> = (4..8).map(|i| task(i, 1)).collect();
        let rates = of(&[a, group(1, &others)], 4);
        assert_eq!(rates[..5], [(1, 1), (2, 3), (2, 3), (2, 3), (1, 4)]);
    }

    #[test]
    fn without_groups_it_is_the_flat_fluid() {
        for case in 0..500_u64 {
            let n = case % 6 + 1;
            let weights: Vec<u64> =
                (0..n).map(|i| (case * 7919 + i * i * 104_729) % 13 * (i % 3 * 5 + 1) + 1).collect();
            let cpus = (case / 6 % 5 + 1) as u32;
            let flat: Vec<Node> = weights.iter().enumerate().map(|(i, &w)| task(i, w)).collect();
            let weights: Vec<Rational> = weights.into_iter().map(whole).collect();
            let expected = gms::rates(&weights, cpus);
            assert_eq!(rates(&flat, cpus).into_iter().map(|(_, rate)| rate).collect::<Vec<_>>(), expected);
        }
    }

    /// Two groups of weight 1 and one task of weight 2 on two CPUs: the first group may use a tenth of one, so the second one's two
    /// threads and the task have 1.9, of which the task can use one.
    #[test]
    fn a_limit_is_all_that_a_group_can_use() {
        let limited = Node::Limited(fraction(1, 10), Box::new(group(1, &[task(0, 1), task(1, 3)])));
        let members = [limited, group(1, &[task(2, 1), task(3, 1)]), task(4, 2)];
        assert_eq!(of(&members, 2), [(1, 40), (3, 40), (9, 20), (9, 20), (1, 1)]);
        // Without weights of groups: 1 : 3 within the limit, and 1 : 1 : 2 of the 1.9 that are left.
        let rates = rates_within_limits(&members, 2);
        let (x, y) = (fraction(19, 40), fraction(19, 20));
        assert_eq!(rates, [(0, fraction(1, 40)), (1, fraction(3, 40)), (2, x.clone()), (3, x), (4, y)]);
    }

    /// Two tasks in a group of the eighth level, and one nine levels deeper: they share by their own weights.
    #[test]
    fn groups_below_the_eighth_level_are_none() {
        let deep = (0..9).fold(task(2, 1), |inner, _| group(1000, &[inner]));
        let eighth = group(1, &[task(0, 1), task(1, 1), deep]);
        let whole = (0..7).fold(eighth, |inner, _| group(5, &[inner]));
        assert_eq!(of(&[whole], 1), [(1, 3), (1, 3), (1, 3)]);
    }

    #[test]
    fn an_empty_group_gets_nothing() {
        assert_eq!(
            rates(&[group(5, &[]), task(0, 1), task(1, 1)], 1),
            [(0, fraction(1, 2)), (1, fraction(1, 2))]
        );
    }
}
