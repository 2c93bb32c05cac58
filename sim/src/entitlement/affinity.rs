//! Levels where tasks may not run everywhere: the lexicographic max-min of rate over weight, none with more than one CPU.
//!
//! All rates grow together, in the ratio of the weights, until some tasks fill all CPUs where they may run: these stay as they are,
//! and the others go on. Tasks with the same mask have the same level, so it is found for masks, from what their tasks ask for
//! together at a level ([`Demand`]). Whether that can be had is a flow from masks to CPUs; where it does not fit, the least cut shows
//! the masks that ask for too much, and with them the level that fits.

use divvy_policy::{CpuId, CpuMask};

/// CPUs that differ by less are equal: sums of rates of up to 2^20 tasks are more exact.
const EPSILON: f64 = 1e-9;
/// Levels that differ by less of themselves are equal.
const LEVEL_EPSILON: f64 = 1e-14;

/// The demand of the tasks of a mask.
pub(super) trait Demand {
    /// All of them at a level: the CPUs, and how many more for each unit of level.
    fn at(&self, mask: usize, level: f64) -> (f64, f64);
    /// Their number.
    fn tasks(&self, mask: usize) -> u64;
}

/// The masks of tasks so far, and the CPUs by which of these they are in.
#[derive(Clone, Debug)]
pub(super) struct Affinity {
    cpus: u32,
    masks: Vec<Mask>,
    /// The number of CPUs of each kind: those that are in the same masks.
    kinds: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Mask {
    /// `None`: all CPUs.
    allowed: Option<CpuMask>,
    /// Kinds of CPUs, by number.
    kinds: Vec<usize>,
}

impl Affinity {
    pub(super) fn new(cpus: u32) -> Affinity {
        let everywhere = Mask { allowed: None, kinds: vec![0] };
        Affinity { cpus, masks: vec![everywhere], kinds: vec![f64::from(cpus)] }
    }

    /// Whether some task may not run everywhere.
    pub(super) fn binds(&self) -> bool {
        self.masks.len() > 1
    }

    /// The number of a mask: 0 is all CPUs.
    pub(super) fn number(&mut self, allowed: &CpuMask) -> usize {
        if CpuId::first(self.cpus as usize).all(|cpu| allowed.contains(cpu)) {
            return 0;
        }
        let known = self.masks.iter().position(|mask| mask.allowed.as_ref() == Some(allowed));
        known.unwrap_or_else(|| {
            self.masks.push(Mask { allowed: Some(allowed.clone()), kinds: Vec::new() });
            self.find_kinds();
            self.masks.len() - 1
        })
    }

    fn find_kinds(&mut self) {
        let mut kinds: Vec<(Vec<usize>, f64)> = Vec::new();
        for cpu in CpuId::first(self.cpus as usize) {
            let has = |mask: &Mask| mask.allowed.as_ref().is_none_or(|allowed| allowed.contains(cpu));
            let masks: Vec<usize> = (0..self.masks.len()).filter(|&at| has(&self.masks[at])).collect();
            match kinds.iter_mut().find(|(of, _)| *of == masks) {
                Some((_, cpus)) => *cpus += 1.0,
                None => kinds.push((masks, 1.0)),
            }
        }
        self.masks.iter_mut().for_each(|mask| mask.kinds.clear());
        for (kind, (masks, _)) in kinds.iter().enumerate() {
            masks.iter().for_each(|&mask| self.masks[mask].kinds.push(kind));
        }
        self.kinds = kinds.into_iter().map(|(_, cpus)| cpus).collect();
    }

    /// The level of each mask; infinite if all of its tasks have a CPU each.
    pub(super) fn levels(&self, demand: &impl Demand) -> Vec<f64> {
        let n = self.masks.len();
        let mut levels = vec![f64::INFINITY; n];
        // CPUs of those that do not grow.
        let mut fixed: Vec<Option<f64>> =
            (0..n).map(|mask| (demand.tasks(mask) == 0).then_some(0.0)).collect();
        while fixed.iter().any(Option::is_none) {
            let (level, full) = self.highest_level(demand, &fixed);
            let fill = |mask: &usize| full[*mask] && fixed[*mask].is_none();
            let filled: Vec<usize> = (0..n).filter(fill).collect();
            if filled.is_empty() {
                break;
            }
            for mask in filled {
                levels[mask] = level;
                fixed[mask] = Some(demand.at(mask, level).0);
            }
        }
        levels
    }

    /// The highest level at which all that is asked for can be had, and the masks that fill their CPUs there.
    fn highest_level(&self, demand: &impl Demand, fixed: &[Option<f64>]) -> (f64, Vec<bool>) {
        let (mut level, mut full) = (f64::INFINITY, vec![false; self.masks.len()]);
        loop {
            let asks = fixed.iter().enumerate().map(|(mask, fixed)| match fixed {
                Some(cpus) => *cpus,
                None if level.is_infinite() => demand.tasks(mask) as f64,
                None => demand.at(mask, level).0,
            });
            let cut = self.too_much(asks.collect());
            let growing: Vec<usize> =
                (0..cut.len()).filter(|&mask| cut[mask] && fixed[mask].is_none()).collect();
            if growing.is_empty() {
                return (level, full);
            }
            let reached =
                |kind: usize| (0..cut.len()).any(|at| cut[at] && self.masks[at].kinds.contains(&kind));
            let room: f64 =
                (0..self.kinds.len()).filter(|&kind| reached(kind)).map(|kind| self.kinds[kind]).sum();
            let gone: f64 = (0..cut.len()).filter(|&at| cut[at]).filter_map(|at| fixed[at]).sum();
            let lower = level_of(demand, &growing, (room - gone).max(0.0));
            if lower >= level * (1.0 - LEVEL_EPSILON) {
                return (level, cut);
            }
            (level, full) = (lower, cut);
        }
    }

    /// The masks that together ask for more than the CPUs where they may run; none if all that is asked for can be had.
    fn too_much(&self, asks: Vec<f64>) -> Vec<bool> {
        let (masks, kinds) = (self.masks.len(), self.kinds.len());
        let least: Vec<f64> = asks.iter().map(|asks| EPSILON * (1.0 + asks)).collect();
        let mut flow = Flow { asks, room: self.kinds.clone(), flow: vec![0.0; masks * kinds], kinds };
        for (at, mask) in self.masks.iter().enumerate() {
            mask.kinds.iter().for_each(|&kind| flow.fill(at, kind));
        }
        let mut queue = Vec::with_capacity(masks);
        loop {
            // Paths of what is left, from masks that lack something; each mask and kind by who reached it.
            let mut from_kind: Vec<Option<usize>> = vec![None; masks];
            let mut from_mask: Vec<Option<usize>> = vec![None; kinds];
            let mut reached: Vec<bool> = (0..masks).map(|mask| flow.asks[mask] > least[mask]).collect();
            queue.clear();
            queue.extend((0..masks).filter(|&mask| reached[mask]));
            let mut end = None;
            let mut at = 0;
            while at < queue.len() && end.is_none() {
                let mask = queue[at];
                at += 1;
                for &kind in &self.masks[mask].kinds {
                    if from_mask[kind].is_some() {
                        continue;
                    }
                    from_mask[kind] = Some(mask);
                    if flow.room[kind] > EPSILON {
                        end = Some(kind);
                        break;
                    }
                    for other in 0..masks {
                        if !reached[other] && flow.flow[other * kinds + kind] > EPSILON {
                            reached[other] = true;
                            from_kind[other] = Some(kind);
                            queue.push(other);
                        }
                    }
                }
            }
            let Some(end) = end else { return reached };
            flow.push(end, &from_mask, &from_kind);
        }
    }
}

/// The level at which these masks together ask for so many CPUs.
fn level_of(demand: &impl Demand, masks: &[usize], cpus: f64) -> f64 {
    // Their demand is concave: from the first step on, Newton's method comes from below.
    let mut level = 0.0;
    loop {
        let (mut asked, mut more) = (0.0, 0.0);
        for &mask in masks {
            let (own, own_more) = demand.at(mask, level);
            asked += own;
            more += own_more;
        }
        if more <= 0.0 {
            return level;
        }
        let next = level + (cpus - asked) / more;
        if next <= level * (1.0 + LEVEL_EPSILON) {
            return level;
        }
        level = next;
    }
}

/// A flow that is found.
struct Flow {
    /// CPUs that each mask still asks for.
    asks: Vec<f64>,
    /// CPUs that each kind still has.
    room: Vec<f64>,
    /// By mask and kind.
    flow: Vec<f64>,
    kinds: usize,
}

impl Flow {
    /// As much as fits, without another's making room.
    fn fill(&mut self, mask: usize, kind: usize) {
        let most = self.asks[mask].min(self.room[kind]);
        self.asks[mask] -= most;
        self.room[kind] -= most;
        self.flow[mask * self.kinds + kind] += most;
    }

    /// As much as fits along the path that ends at this kind.
    fn push(&mut self, end: usize, from_mask: &[Option<usize>], from_kind: &[Option<usize>]) {
        let mut path = Vec::new();
        let (mut kind, mut most) = (end, self.room[end]);
        let first = loop {
            let Some(mask) = from_mask[kind] else { return };
            path.push((mask, kind));
            let Some(before) = from_kind[mask] else { break mask };
            most = most.min(self.flow[mask * self.kinds + before]);
            kind = before;
        };
        most = most.min(self.asks[first]);
        self.asks[first] -= most;
        self.room[end] -= most;
        for &(mask, kind) in &path {
            self.flow[mask * self.kinds + kind] += most;
            if let Some(before) = from_kind[mask] {
                self.flow[mask * self.kinds + before] -= most;
            }
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

    /// Tasks by their masks, and what they ask for by the definition.
    struct Plain(Vec<(usize, f64)>);

    impl Demand for Plain {
        fn at(&self, mask: usize, level: f64) -> (f64, f64) {
            let own = self.0.iter().filter(|task| task.0 == mask).map(|task| task.1);
            own.fold((0.0, 0.0), |(asked, more), weight| match level * weight < 1.0 {
                true => (asked + level * weight, more + weight),
                false => (asked + 1.0, more),
            })
        }

        fn tasks(&self, mask: usize) -> u64 {
            self.0.iter().filter(|task| task.0 == mask).count() as u64
        }
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
            let mut affinity = Affinity::new(cpus);
            let plain =
                |&(weight, allowed): &(u32, u32)| (affinity.number(&mask(allowed)), f64::from(weight));
            let plain = Plain(tasks.iter().map(plain).collect());
            let levels = affinity.levels(&plain);
            let bound = |&(weight, allowed): &(u32, u32)| Bound { weight: oracle::whole(weight), allowed };
            let exact = oracle::affinity::rates(&tasks.iter().map(bound).collect::<Vec<_>>(), cpus);
            for ((mask, weight), exact) in plain.0.iter().zip(&exact) {
                let (rate, exact) = ((levels[*mask] * weight).min(1.0), exact.to_f64().expect("a rate"));
                assert!((rate - exact).abs() <= 1e-7, "{rate}, exactly {exact}: {tasks:?} on {cpus} CPUs");
            }
        }
    }
}
