//! Computes nice values that give each owner, a user or a process, the same CPU time. It reads and changes nothing.
//!
//! An owner wants as many CPUs as its threads ran or waited for, and is entitled to a max-min part of the CPUs: the entitlement of
//! `divvy top`, among owners of equal weight. Under the kernel's scheduler what an owner receives follows the sum of the weights of its
//! runnable threads. So all weights of an owner are multiplied by one factor, and threads of one owner stay in proportion.
//!
//! One that gets all that it wants stays as it is, unless its weight is less than its part. The greatest factor that is needed is 1: the
//! others are lowered. Only where a weight would be less than that of nice 19, all are raised together.

use std::collections::BTreeMap;

use divvy_policy::NICE_WEIGHTS;

use crate::stock::entitled::fill;

/// A thread that may be changed.
#[derive(Clone, Copy, Debug)]
pub struct Wants {
    /// Its user, or its process.
    pub owner: u32,
    /// Its nice value without divvy.
    pub nice: i8,
    /// The part of the time in which it ran or waited for a CPU.
    pub demand: f64,
}

/// The part of an owner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Threads that want a CPU.
    pub threads: u32,
    /// In CPUs.
    pub demand: f64,
    /// In CPUs.
    pub entitled: f64,
    /// The mean sum of the weights of its runnable threads, without divvy.
    weight: f64,
    /// Its weights are multiplied by this.
    factor: f64,
    /// How far the sum of its weights is from its part, as nice values are steps: 0.1 is 10 % too much.
    pub error: f64,
}

impl Share {
    fn is_satisfied(&self) -> bool {
        self.entitled >= self.demand * (1.0 - 1e-9)
    }
}

/// Nice values for threads, in their order, and the parts of their owners.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    pub nices: Vec<i8>,
    pub owners: BTreeMap<u32, Share>,
}

impl Shares {
    /// The greatest error of an owner that gets less than it wants.
    pub fn worst_error(&self) -> f64 {
        self.owners.values().map(|share| share.error.abs()).fold(0.0, f64::max)
    }
}

const LEAST: f64 = NICE_WEIGHTS[39] as f64;
const GREATEST: f64 = NICE_WEIGHTS[0] as f64;

/// Divides the CPUs. Weights are raised only if that is permitted.
pub fn divide(threads: &[Wants], cpus: f64, may_raise: bool) -> Shares {
    let mut owners: BTreeMap<u32, Share> = BTreeMap::new();
    for thread in threads {
        let share = owners.entry(thread.owner).or_default();
        share.threads += u32::from(thread.demand > 0.0);
        share.demand += thread.demand;
        share.weight += weight(thread.nice) * thread.demand;
    }
    let wanted: Vec<(f64, f64)> = owners.values().map(|share| (1.0, share.demand)).collect();
    for (share, entitled) in owners.values_mut().zip(fill(cpus, &wanted)) {
        share.entitled = entitled;
    }
    // The weight for a whole CPU, so that nobody needs more than it has.
    let per_cpu = |share: &Share| share.weight / share.entitled;
    let least =
        owners.values().filter(|share| share.entitled > 0.0).map(per_cpu).fold(f64::INFINITY, f64::min);
    for share in owners.values_mut() {
        share.factor = factor(share, least);
    }
    let raised = if may_raise { raise(threads, &owners) } else { 1.0 };
    for share in owners.values_mut() {
        share.factor = factor(share, least * raised);
    }
    let nices: Vec<i8> = threads.iter().map(|t| nearest(weight(t.nice) * owners[&t.owner].factor)).collect();
    judge(&mut owners, threads, &nices, least * raised);
    Shares { nices, owners }
}

fn weight(nice: i8) -> f64 {
    f64::from(NICE_WEIGHTS[usize::from(nice.clamp(-20, 19).abs_diff(-20))])
}

fn factor(share: &Share, per_cpu: f64) -> f64 {
    let exact = per_cpu * share.entitled / share.weight;
    match exact.is_finite() {
        true if share.is_satisfied() => exact.max(1.0),
        true => exact,
        false => 1.0,
    }
}

/// How much all weights are raised, so that none that is lowered is less than that of nice 19, as far as none gets above nice -20.
fn raise(threads: &[Wants], owners: &BTreeMap<u32, Share>) -> f64 {
    let lowered = threads.iter().filter(|t| t.demand > 0.0 && !owners[&t.owner].is_satisfied());
    let after = |t: &Wants| weight(t.nice) * owners[&t.owner].factor;
    let wanted = lowered.map(|t| LEAST / after(t)).fold(1.0, f64::max);
    let room = threads.iter().map(|t| GREATEST / after(t)).fold(f64::INFINITY, f64::min);
    wanted.min(room).max(1.0)
}

/// The nice value whose weight is nearest, as a ratio.
fn nearest(weight: f64) -> i8 {
    let distance = |row: usize| (f64::from(NICE_WEIGHTS[row]) / weight).ln().abs();
    let row = (0..NICE_WEIGHTS.len()).min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(20);
    row as i8 - 20
}

/// An owner that gets all that it wants has no error: more weight gives it no more.
fn judge(owners: &mut BTreeMap<u32, Share>, threads: &[Wants], nices: &[i8], per_cpu: f64) {
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    for (thread, nice) in threads.iter().zip(nices) {
        *sums.entry(thread.owner).or_default() += weight(*nice) * thread.demand;
    }
    for (owner, share) in owners.iter_mut().filter(|(_, share)| !share.is_satisfied()) {
        share.error = sums[owner] / (per_cpu * share.entitled) - 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hogs(owner: u32, count: usize, nice: i8) -> Vec<Wants> {
        vec![Wants { owner, nice, demand: 1.0 }; count]
    }

    fn nices(threads: &[Wants], cpus: f64) -> Vec<i8> {
        divide(threads, cpus, false).nices
    }

    /// By hand: 1024 / 5 is 204.8, between 215 (nice 7) and 172 (nice 8), and nearer to the first.
    #[test]
    fn one_thread_against_five() {
        let threads = [hogs(1, 1, 0), hogs(2, 5, 0)].concat();
        assert_eq!(nices(&threads, 2.0), [0, 7, 7, 7, 7, 7]);
        assert_eq!(nices(&threads, 1.0), [0, 7, 7, 7, 7, 7]);
        let shares = divide(&threads, 1.0, false);
        assert!((shares.worst_error() - (5.0 * 215.0 / 1024.0 - 1.0)).abs() < 1e-9, "{shares:?}");
        assert_eq!((shares.owners[&1].entitled, shares.owners[&2].entitled), (0.5, 0.5));
    }

    /// By hand: one thread is at most one of four CPUs, so sixteen are entitled to three: 3 * 1024 / 16 is 192, nearer to 172 than to 215
    /// as a ratio (1.116 and 1.120).
    #[test]
    fn a_thread_is_entitled_to_one_cpu_at_most() {
        let threads = [hogs(1, 1, 0), hogs(2, 16, 0)].concat();
        assert_eq!(nices(&threads, 4.0)[1], 8);
        assert_eq!(divide(&threads, 4.0, false).owners[&2].entitled, 3.0);
    }

    #[test]
    fn nothing_changes_where_all_get_what_they_want() {
        let threads = [hogs(1, 1, 5), hogs(2, 3, -3)].concat();
        assert_eq!(nices(&threads, 4.0), [5, -3, -3, -3]);
        assert_eq!(nices(&hogs(1, 9, 3), 2.0), [3; 9]);
        assert!(nices(&[], 2.0).is_empty());
        let idle = [hogs(1, 2, 0), vec![Wants { owner: 2, nice: 4, demand: 0.0 }]].concat();
        assert_eq!(nices(&idle, 1.0), [0, 0, 4]);
    }

    #[test]
    fn threads_of_an_owner_stay_in_proportion() {
        let threads = [hogs(1, 1, 0), hogs(2, 1, 0), hogs(2, 1, 5)].concat();
        // 1024 of 1359 each: 771.6 is nearest to 820, and 252.4 to 272.
        assert_eq!(nices(&threads, 1.0), [0, 1, 6]);
    }

    /// 1024 / 200 is 5.1, a third of the weight of nice 19. All are raised by five steps if that is permitted.
    #[test]
    fn all_are_raised_only_where_forty_steps_do_not_suffice() {
        let threads = [hogs(1, 1, 0), hogs(2, 200, 0)].concat();
        let kept = divide(&threads, 1.0, false);
        assert_eq!((kept.nices[0], kept.nices[1]), (0, 19));
        assert!(kept.worst_error() > 1.9, "{}", kept.worst_error());
        let raised = divide(&threads, 1.0, true);
        assert_eq!((raised.nices[0], raised.nices[1]), (-5, 19));
        assert!(raised.worst_error() < 0.12, "{}", raised.worst_error());
    }

    fn any_threads() -> impl Strategy<Value = Vec<Wants>> {
        let owner = (1usize..9, -5i8..6);
        proptest::collection::vec(owner, 1..7).prop_map(|owners| {
            let numbered = owners.into_iter().zip(1..);
            numbered.flat_map(|((count, nice), owner)| hogs(owner, count, nice)).collect()
        })
    }

    /// Max-min parts in another way: CPUs are given in small pieces to the owner that has least and wants more.
    fn by_pieces(counts: &BTreeMap<u32, u32>, cpus: u32) -> BTreeMap<u32, f64> {
        const PIECES: u32 = 2520;
        let mut pieces: BTreeMap<u32, u32> = counts.keys().map(|owner| (*owner, 0)).collect();
        for _ in 0..cpus * PIECES {
            let hungry = pieces.iter_mut().filter(|(owner, has)| **has < counts[owner] * PIECES);
            let Some((_, has)) = hungry.min_by_key(|(_, has)| **has) else { break };
            *has += 1;
        }
        pieces.into_iter().map(|(owner, has)| (owner, f64::from(has) / f64::from(PIECES))).collect()
    }

    proptest! {
        #[test]
        fn sums_of_weights_are_as_entitlements_within_a_step(threads in any_threads(), cpus in 1u32..9) {
            let nices = nices(&threads, f64::from(cpus));
            let (mut counts, mut sums) = (BTreeMap::new(), BTreeMap::new());
            for (thread, nice) in threads.iter().zip(&nices) {
                prop_assert!(*nice >= thread.nice, "nobody is raised: {threads:?} {nices:?}");
                *counts.entry(thread.owner).or_insert(0) += 1;
                *sums.entry(thread.owner).or_insert(0) += NICE_WEIGHTS[(*nice + 20) as usize];
            }
            let entitled = by_pieces(&counts, cpus);
            // Weights for a CPU, of those that get less than they want.
            let rates: Vec<f64> = counts
                .iter()
                .filter(|(owner, count)| entitled[owner] < f64::from(**count) - 0.01)
                .map(|(owner, _)| f64::from(sums[owner]) / entitled[owner])
                .collect();
            for pair in rates.windows(2) {
                prop_assert!((0.76..1.32).contains(&(pair[0] / pair[1])), "{rates:?} {threads:?} {nices:?}");
            }
        }

        #[test]
        fn partial_demands_are_never_exceeded(
            demands in proptest::collection::vec((1u32..4, 0.0f64..1.0, -20i8..20), 0..30), cpus in 1u32..5, may_raise: bool
        ) {
            let threads: Vec<Wants> =
                demands.iter().map(|(owner, demand, nice)| Wants { owner: *owner, nice: *nice, demand: *demand }).collect();
            let shares = divide(&threads, f64::from(cpus), may_raise);
            prop_assert_eq!(shares.nices.len(), threads.len());
            prop_assert!(shares.nices.iter().all(|nice| (-20..20).contains(nice)));
            let given: f64 = shares.owners.values().map(|share| share.entitled).sum();
            prop_assert!(given <= f64::from(cpus) + 1e-9);
            prop_assert!(shares.owners.values().all(|share| share.entitled <= share.demand + 1e-9));
        }
    }
}
