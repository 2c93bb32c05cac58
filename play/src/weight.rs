//! Weights as nice values: the best common factor that turns a workload's weights into weights of the kernel's table.

use std::io;

use divvy_policy::{NICE_WEIGHTS, Weight};
use divvy_workload::Workload;
use rustix::process::{Pid, getpriority_process, setpriority_process};
use rustix::thread::gettid;

use super::error::PlayError;

/// A way to give threads their weights: nice values ([`ByNice`]), which are enough for most workloads, or a loaded scheduler
/// that takes exact weights ([`crate::ByScheduler`]).
pub trait SetWeight: Sync {
    /// Called before anything runs. Returns a note for the user if the threads will not have the workload's weights as they
    /// are.
    ///
    /// # Errors
    /// When the threads cannot have these weights; the message says what to do.
    fn prepare(&mut self, workload: &Workload) -> Result<Option<String>, PlayError>;

    /// Gives its weight to the thread `tid`, an instance of the workload's task `class`. The thread itself calls this, maybe
    /// in another process than [`SetWeight::prepare`].
    ///
    /// # Errors
    /// When the kernel or the scheduler refuses.
    fn set(&self, tid: Pid, class: usize, weight: Weight) -> io::Result<()>;
}

/// How far nice values may deviate from the weights, after all weights were multiplied by one factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Not at all.
    Exact,
    /// By this fraction of each weight; 0.01 is 1%.
    Within(f64),
}

/// Sets weights as nice values.
#[derive(Debug)]
pub struct ByNice {
    scale: Scale,
    nices: Vec<i8>,
}

impl ByNice {
    /// Makes one that is not prepared yet.
    pub fn new(scale: Scale) -> ByNice {
        ByNice { scale, nices: Vec::new() }
    }
}

impl SetWeight for ByNice {
    fn prepare(&mut self, workload: &Workload) -> Result<Option<String>, PlayError> {
        let weights: Vec<u64> = workload.tasks.iter().map(|task| task.weight.weight().fixed()).collect();
        let fit = best(&weights);
        let allowed = match self.scale {
            Scale::Exact => 0.0,
            Scale::Within(share) => share,
        };
        if fit.error > allowed {
            return Err(PlayError::Machine(misfit(workload, &fit, self.scale)));
        }
        may_have(fit.nices.iter().copied().min().unwrap_or(0))?;
        let note = if fit.is_plain { None } else { Some(note(workload, &fit)) };
        self.nices = fit.nices;
        Ok(note)
    }

    fn set(&self, tid: Pid, class: usize, _: Weight) -> io::Result<()> {
        let nice = self.nices.get(class).copied().unwrap_or(0);
        Ok(setpriority_process(Some(tid), nice.into())?)
    }
}

/// Nice values for weights, and how well they fit.
#[derive(Clone, Debug, PartialEq)]
struct Fit {
    nices: Vec<i8>,
    /// Greatest relative deviation of a weight, up or down: 0.01 is 1%.
    error: f64,
    /// Index of the task whose weight has it.
    worst: usize,
    /// Whether all weights are in the table without a factor.
    is_plain: bool,
}

/// The best fit. If all weights are in the table, they stay as they are. Otherwise it tries each weight at each nice value
/// and takes the least error; among equals, a fit that needs no permission; then the one nearest to nice 0.
fn best(weights: &[u64]) -> Fit {
    let plain = fit(weights, 1, Weight::ONE.fixed());
    if plain.is_plain {
        return plain;
    }
    let mut anchors = weights.to_vec();
    anchors.sort_unstable();
    anchors.dedup();
    let key = |fit: &Fit| {
        let negative = fit.nices.iter().any(|&nice| nice < 0);
        let far = fit.nices.iter().map(|nice| nice.unsigned_abs()).max().unwrap_or(0);
        // Errors that print alike count as equal, except that no error is better than a tiny one.
        (fit.error > 0.0, (fit.error * 1e4).round() as u64, negative, far)
    };
    let all = anchors.iter().flat_map(|&w| NICE_WEIGHTS.iter().map(move |&n| (u64::from(n), w)));
    all.map(|(n, w)| fit(weights, n, w)).min_by_key(key).unwrap_or(plain)
}

/// The nice values nearest to the weights times `num / den`.
fn fit(weights: &[u64], num: u64, den: u64) -> Fit {
    let mut nices = Vec::new();
    let mut factors = Vec::new();
    let mut is_plain = true;
    for &weight in weights {
        let wanted = u128::from(weight) * u128::from(num);
        let distance = |table: u32| (u128::from(table) * u128::from(den)).abs_diff(wanted);
        let rows = NICE_WEIGHTS.iter().enumerate();
        let (row, &table) = rows.min_by_key(|&(_, &table)| distance(table)).unwrap_or((20, &1024));
        nices.push(row as i8 - 20);
        // Equal fractions give equal floats, so exact proportions have an error of exactly 0.
        factors.push(f64::from(table) / weight as f64);
        is_plain &= u64::from(table) * Weight::ONE.fixed() == weight;
    }
    let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
    let most = factors.iter().copied().fold(0.0, f64::max);
    // The factor halfway between the least and the greatest.
    let middle = (least + most) / 2.0;
    let off = |i: &usize| (factors[*i] - middle).abs();
    let worst = (0..factors.len()).max_by(|i, j| off(i).total_cmp(&off(j))).unwrap_or(0);
    let error = if factors.is_empty() { 0.0 } else { (most - least) / (most + least) };
    Fit { nices, error, worst, is_plain: is_plain || factors.is_empty() }
}

fn misfit(workload: &Workload, fit: &Fit, scale: Scale) -> String {
    let worst = &workload.tasks[fit.worst];
    let (name, weight, nice) = (&worst.name, worst.weight.units(), fit.nices[fit.worst]);
    let off = (fit.error * 1000.0).ceil() / 10.0;
    let remedy = match scale {
        Scale::Exact if fit.error <= 0.01 => "take --scale-weights auto".to_owned(),
        _ => format!("take --scale-weights {off}%"),
    };
    format!(
        "{}: task {name}: the kernel knows weights as nice values, and no common factor turns all weights of this \
         workload into nice values; the best factor gives weight {weight} nice {nice}, {off}% off\n  help: {remedy} \
         if that is near enough, or weights of the kernel's table, each about 1.25 times the next (1024, 820, 655, .. \
         15)\n  help: a divvy policy takes any weights: sudo divvy load SPEC --exec divvy play FILE",
        workload.name
    )
}

/// A note that lists the nice values.
fn note(workload: &Workload, fit: &Fit) -> String {
    const SHOWN: usize = 8;
    let mut tasks: Vec<String> = workload
        .tasks
        .iter()
        .zip(&fit.nices)
        .take(SHOWN)
        .map(|(task, nice)| format!("{} nice {nice}", task.name))
        .collect();
    if workload.tasks.len() > SHOWN {
        tasks.push("..".to_owned());
    }
    let off = match fit.error {
        0.0 => "exactly".to_owned(),
        error => format!("to {:.2}%", error * 100.0),
    };
    format!("weights as nice values, {off} in proportion: {}", tasks.join(", "))
}

/// Checks that this process may set a nice value as low as `lowest`.
///
/// # Errors
/// When it may not.
fn may_have(lowest: i8) -> Result<(), PlayError> {
    let before = getpriority_process(None).unwrap_or(0);
    if i32::from(lowest) >= before {
        return Ok(());
    }
    let me = Some(gettid());
    match setpriority_process(me, lowest.into()) {
        Ok(()) => {
            // Raising a nice value is always permitted.
            let _ = setpriority_process(me, before);
            Ok(())
        }
        Err(_) => {
            let here = if before > 0 { format!(" (divvy itself has nice {before})") } else { String::new() };
            Err(PlayError::Machine(format!(
                "the workload needs nice {lowest}, which this user may not set{here}: run divvy as root, \
                 with CAP_SYS_NICE, or with `ulimit -e {}`",
                20 - i32::from(lowest)
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nices(weights: &[u64]) -> (Vec<i8>, f64) {
        let fixed: Vec<u64> = weights.iter().map(|w| w * Weight::ONE.fixed()).collect();
        let fit = best(&fixed);
        (fit.nices, fit.error)
    }

    #[test]
    fn weights_of_the_table_are_taken_as_they_are() {
        assert_eq!(nices(&[1024, 335, 88761, 15]), (vec![0, 5, -20, 19], 0.0));
    }

    #[test]
    fn a_weight_of_the_table_has_a_nice_value() {
        let units = |units: u64| Weight::from_fixed(units).nice();
        assert_eq!((units(1 << 20), units(15 << 10), units(88761 << 10)), (Some(0), Some(19), Some(-20)));
        assert_eq!((units(1), units((1 << 20) + 1)), (None, None));
    }

    #[test]
    fn one_weight_always_fits_and_a_ratio_may_be_exact() {
        assert_eq!(nices(&[1, 1]), (vec![0, 0], 0.0));
        // 36 and 18 are the table's only 2 to 1.
        assert_eq!(nices(&[1, 2]), (vec![18, 15], 0.0));
        assert_eq!(nices(&[]), (vec![], 0.0));
    }

    /// A search over all combinations of nice values, in another language, gave these numbers.
    #[test]
    fn other_weights_get_the_nearest_fit() {
        for (weights, error) in [(vec![1, 10], 0.02273), (vec![1, 2, 3], 0.01590), (vec![3, 4], 0.02128)] {
            let (_, found) = nices(&weights);
            assert!((found - error).abs() < 5e-5, "{weights:?}: {found}");
        }
        assert!(nices(&[1, 100_000]).1 > 0.8);
    }
}
