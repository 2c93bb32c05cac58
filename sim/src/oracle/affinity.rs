//! Fluid fair sharing where tasks may not run everywhere: the lexicographic max-min of rate over weight.
//!
//! Each task may run on some CPUs, and uses one at a time. Rates can be had if each is at most 1 and the tasks that may run only
//! in a set of CPUs have together no more than the set, for every set. So they are found by the definition: all that can
//! still grow do so together, in the ratio of their weights, until one of these conditions holds with equality; the tasks in
//! it then stay as they are. It looks at all sets, so it is for few CPUs.

use num_traits::{One, Zero};

use super::{Rational, whole};

/// A task that always wants to run.
#[derive(Clone, Debug)]
pub struct Bound {
    /// More than 0.
    pub weight: Rational,
    /// CPUs where it may run, as bits; at least one of those that there are.
    pub allowed: u32,
}

/// The rate of each task, in CPUs.
///
/// # Panics
/// If a weight is not positive, a task may run nowhere, or there are more than 12 CPUs.
pub fn rates(tasks: &[Bound], cpus: u32) -> Vec<Rational> {
    assert!(cpus <= 12, "all sets of CPUs are looked at");
    let all = (1_u32 << cpus) - 1;
    assert!(tasks.iter().all(|task| task.weight > Rational::zero() && task.allowed & all != 0));
    let only_in = |set: u32| move |task: &&Bound| task.allowed & all & !set == 0;
    let sets: Vec<u32> = (1..=all).filter(|&set| tasks.iter().any(|task| only_in(set)(&task))).collect();
    let mut rates: Vec<Option<Rational>> = vec![None; tasks.len()];
    while rates.iter().any(Option::is_none) {
        let fills = |set: u32| {
            let mut room = whole(set.count_ones());
            let mut weight = Rational::zero();
            for (task, rate) in tasks.iter().zip(&rates).filter(|(task, _)| only_in(set)(task)) {
                match rate {
                    Some(rate) => room -= rate,
                    None => weight += &task.weight,
                }
            }
            (weight > Rational::zero()).then(|| room / weight)
        };
        let growing = tasks.iter().zip(&rates).filter(|(_, rate)| rate.is_none());
        let whole_cpu = growing.map(|(task, _)| task.weight.recip());
        let level = sets.iter().filter_map(|&set| fills(set)).chain(whole_cpu).min().expect("one that grows");
        let full: Vec<u32> =
            sets.iter().copied().filter(|&set| fills(set).as_ref() == Some(&level)).collect();
        for (task, rate) in tasks.iter().zip(&mut rates).filter(|(_, rate)| rate.is_none()) {
            let own = &task.weight * &level;
            if own == Rational::one() || full.iter().any(|&set| only_in(set)(&task)) {
                *rate = Some(own);
            }
        }
    }
    rates.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{fraction, gms};

    fn of(cpus: u32, tasks: &[(u32, u32)]) -> Vec<Rational> {
        let tasks: Vec<Bound> =
            tasks.iter().map(|&(weight, allowed)| Bound { weight: whole(weight), allowed }).collect();
        rates(&tasks, cpus)
    }

    #[test]
    fn without_affinity_it_is_gms() {
        for weights in [vec![10, 1, 1], vec![5, 2, 1, 1], vec![3], vec![100, 50, 1, 1, 1]] {
            let bound: Vec<(u32, u32)> = weights.iter().map(|&w| (w, 0b11)).collect();
            let free: Vec<Rational> = weights.iter().map(|&w| whole(w)).collect();
            assert_eq!(of(2, &bound), gms::rates(&free, 2), "{weights:?}");
        }
    }

    /// Two tasks on a CPU of their own share it by weight, whatever is elsewhere.
    #[test]
    fn a_crowded_cpu_is_divided_by_weight() {
        let expected = [fraction(3, 4), fraction(1, 4), whole(1)];
        assert_eq!(of(2, &[(3, 0b01), (1, 0b01), (1, 0b10)]), expected);
    }

    /// Four tasks on CPU 0, one on CPU 1, and one that may use both: it goes where it gets most.
    #[test]
    fn who_may_choose_goes_where_there_is_most() {
        let mut expected = vec![fraction(1, 4); 4];
        expected.extend([fraction(1, 2), fraction(1, 2)]);
        assert_eq!(of(2, &[(1, 1), (1, 1), (1, 1), (1, 1), (1, 2), (1, 3)]), expected);
    }

    /// A chain of three CPUs, of which two tasks may use two each: all level out at 3/5.
    #[test]
    fn a_chain_levels_out() {
        let chain = [(1, 0b001), (1, 0b011), (1, 0b010), (1, 0b110), (1, 0b100)];
        assert_eq!(of(3, &chain), vec![fraction(3, 5); 5]);
    }
}
