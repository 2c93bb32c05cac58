//! Rates where tasks may not run everywhere: the lexicographic max-min of rate over weight, none with more than one CPU.
//!
//! All rates grow together, in the ratio of the weights, until some tasks fill all CPUs where they may run, or have a CPU each:
//! these stay as they are, and the others go on. Whether rates can be had is a flow from tasks through sets of allowed CPUs to
//! CPUs; where it does not fit, the least cut shows the tasks that ask for too much, and with them the level that fits.

use std::collections::BTreeMap;

use divvy_policy::{CpuId, CpuMask};

/// A backlogged task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asks {
    /// In any unit.
    pub weight: f64,
    /// `None`: all CPUs.
    pub allowed: Option<CpuMask>,
}

/// Rates that differ by less are equal: sums of rates of up to 2^20 tasks are more exact.
const EPSILON: f64 = 1e-9;

/// Tasks that may run on the same CPUs
#[derive(Default)]
struct Class {
    tasks: Vec<usize>,
    /// The sum over those whose rates still grow.
    weight: f64,
    /// CPUs that the others have.
    fixed: f64,
    /// Kinds of CPUs, by number.
    kinds: Vec<usize>,
}

/// The rate of each task, in CPUs.
pub(super) fn rates(cpus: u64, tasks: &[Asks]) -> Vec<f64> {
    let (mut classes, kinds) = divide(cpus, tasks);
    let mut rates = vec![None; tasks.len()];
    let mut heaviest: Vec<usize> = (0..tasks.len()).collect();
    heaviest.sort_by(|&a, &b| tasks[b].weight.total_cmp(&tasks[a].weight));
    let mut first = 0;
    while first < heaviest.len() {
        if rates[heaviest[first]].is_some() {
            first += 1;
            continue;
        }
        let whole = 1.0 / tasks[heaviest[first]].weight;
        let (level, full) = highest_level(&classes, &kinds, whole);
        let is_whole = |task: usize| level * tasks[task].weight >= 1.0 - EPSILON;
        for (i, class) in classes.iter_mut().enumerate() {
            for &task in &class.tasks {
                if rates[task].is_none() && (full[i] || is_whole(task)) {
                    let rate = (level * tasks[task].weight).min(1.0);
                    rates[task] = Some(rate);
                    class.weight -= tasks[task].weight;
                    class.fixed += rate;
                }
            }
            if class.tasks.iter().all(|&task| rates[task].is_some()) {
                class.weight = 0.0;
            }
        }
    }
    rates.into_iter().map(|rate| rate.unwrap_or(0.0)).collect()
}

/// Classes of tasks, and of each kind of CPUs, those that may run the same classes, the number.
fn divide(cpus: u64, tasks: &[Asks]) -> (Vec<Class>, Vec<f64>) {
    let mut by_mask: BTreeMap<Option<CpuMask>, Class> = BTreeMap::new();
    for (i, task) in tasks.iter().enumerate() {
        let class = by_mask.entry(task.allowed).or_default();
        class.tasks.push(i);
        class.weight += task.weight;
    }
    let mut kinds: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for cpu in 0..cpus as usize {
        let may = |mask: &Option<CpuMask>| mask.is_none_or(|mask| mask.contains(CpuId::new(cpu as u32)));
        let classes = by_mask.keys().enumerate().filter(|(_, mask)| may(mask)).map(|(class, _)| class);
        *kinds.entry(classes.collect()).or_default() += 1.0;
    }
    let mut classes: Vec<Class> = by_mask.into_values().collect();
    for (kind, may) in kinds.keys().enumerate() {
        for &class in may {
            classes[class].kinds.push(kind);
        }
    }
    (classes, kinds.into_values().collect())
}

/// The highest level, at most `level`, at which all that is asked for can be had, and the classes that fill their CPUs there.
fn highest_level(classes: &[Class], kinds: &[f64], mut level: f64) -> (f64, Vec<bool>) {
    let mut full = vec![false; classes.len()];
    loop {
        let cut = too_much(classes, kinds, level);
        let weight: f64 = pick(classes, &cut).map(|class| class.weight).sum();
        if weight <= 0.0 {
            return (level, full);
        }
        let fixed: f64 = pick(classes, &cut).map(|class| class.fixed).sum();
        let reached = |kind: usize| pick(classes, &cut).any(|class| class.kinds.contains(&kind));
        let room: f64 = (0..kinds.len()).filter(|&kind| reached(kind)).map(|kind| kinds[kind]).sum();
        let lower = ((room - fixed) / weight).max(0.0);
        if lower >= level {
            return (level, cut);
        }
        (level, full) = (lower, cut);
    }
}

fn pick<'a>(classes: &'a [Class], which: &'a [bool]) -> impl Iterator<Item = &'a Class> {
    classes.iter().zip(which).filter(|(_, which)| **which).map(|(class, _)| class)
}

/// The classes that together ask for more than the CPUs where they may run; none if all that is asked for can be had.
fn too_much(classes: &[Class], kinds: &[f64], level: f64) -> Vec<bool> {
    let mut asks: Vec<f64> = classes.iter().map(|class| level * class.weight + class.fixed).collect();
    let mut room = kinds.to_vec();
    let mut flow = vec![vec![0.0; kinds.len()]; classes.len()];
    loop {
        // Paths of what is left, from classes that lack something; each class and kind by who reached it.
        let lacks = |class: usize| asks[class] > EPSILON * (1.0 + classes[class].fixed);
        let mut from_kind: Vec<Option<usize>> = vec![None; classes.len()];
        let mut from_class: Vec<Option<usize>> = vec![None; kinds.len()];
        let mut reached: Vec<bool> = (0..classes.len()).map(lacks).collect();
        let mut queue: Vec<usize> = (0..classes.len()).filter(|&class| reached[class]).collect();
        let mut end = None;
        let mut at = 0;
        while at < queue.len() && end.is_none() {
            let class = queue[at];
            at += 1;
            for &kind in &classes[class].kinds {
                if from_class[kind].is_some() {
                    continue;
                }
                from_class[kind] = Some(class);
                if room[kind] > EPSILON {
                    end = Some(kind);
                    break;
                }
                for other in 0..classes.len() {
                    if !reached[other] && flow[other][kind] > EPSILON {
                        reached[other] = true;
                        from_kind[other] = Some(kind);
                        queue.push(other);
                    }
                }
            }
        }
        let Some(end) = end else { return reached };
        push(end, &from_class, &from_kind, &mut asks, &mut room, &mut flow);
    }
}

/// As much as fits along the path that ends at this kind.
fn push(
    end: usize,
    from_class: &[Option<usize>],
    from_kind: &[Option<usize>],
    asks: &mut [f64],
    room: &mut [f64],
    flow: &mut [Vec<f64>],
) {
    let mut path = Vec::new();
    let (mut kind, mut most) = (end, room[end]);
    let first = loop {
        let Some(class) = from_class[kind] else { return };
        path.push((class, kind));
        let Some(before) = from_kind[class] else { break class };
        most = most.min(flow[class][before]);
        kind = before;
    };
    most = most.min(asks[first]);
    asks[first] -= most;
    room[end] -= most;
    for &(class, kind) in &path {
        flow[class][kind] += most;
        if let Some(before) = from_kind[class] {
            flow[class][before] -= most;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{self, affinity::Bound};
    use num_traits::ToPrimitive;

    /// Weights and allowed CPUs of a random case: narrow and wide sets, few and many weights.
    fn case(mut next: impl FnMut(u32) -> u32) -> (u32, Vec<(u32, u32)>) {
        let cpus = 1 + next(6);
        let all = (1_u32 << cpus) - 1;
        let weights = [4, 90_000][next(2) as usize];
        let task = |_| {
            let allowed = match next(3) {
                0 => 1 << next(cpus),
                1 => 1 + next(all),
                _ => all,
            };
            (1 + next(weights), allowed)
        };
        (cpus, (0..15).map(task).collect())
    }

    /// A flow, and the definition in exact fractions.
    #[test]
    fn the_flow_is_the_definition() {
        let mut state = 1_u64;
        let mut next = |n: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(n)) as u32
        };
        for _ in 0..300 {
            let (cpus, mut tasks) = case(&mut next);
            tasks.truncate(1 + next(15) as usize);
            let mask =
                |allowed: u32| (0..cpus).filter(|cpu| allowed >> cpu & 1 == 1).map(CpuId::new).collect();
            let asks = |&(weight, allowed): &(u32, u32)| Asks {
                weight: weight.into(),
                allowed: (allowed.count_ones() < cpus).then(|| mask(allowed)),
            };
            let bound = |&(weight, allowed): &(u32, u32)| Bound { weight: oracle::whole(weight), allowed };
            let is = rates(cpus.into(), &tasks.iter().map(asks).collect::<Vec<_>>());
            let exact = oracle::affinity::rates(&tasks.iter().map(bound).collect::<Vec<_>>(), cpus);
            for (rate, exact) in is.iter().zip(exact.iter().map(|exact| exact.to_f64().expect("a rate"))) {
                assert!((rate - exact).abs() <= 1e-7, "{rate}, exactly {exact}: {tasks:?} on {cpus} CPUs");
            }
        }
    }
}
