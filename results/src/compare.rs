//! Compares policies: estimates with 95% intervals, and the conclusions that the intervals support.
//!
//! With repetitions, intervals are Student's over the repetitions, and ratios are taken within a
//! repetition, where the policies saw the same random numbers. With one repetition they come from
//! the batch means of the report, and ratios take both ends against each other.

use crate::measure::{ERROR, Quantity, RESPONSE, Statistic};
use crate::pooled::PooledTask;
use crate::prediction;
use crate::report::{Buckets, Report, Run};
use crate::stats::{ConfidenceInterval, ENOUGH_SAMPLES, are_identical, interval95};

/// The runs of one policy, a repetition each.
#[derive(Debug)]
pub struct Policy<'a> {
    /// Its spec.
    pub spec: &'a str,
    /// In the order of the report; at least one.
    pub runs: Vec<&'a Run>,
    /// Its tasks over all runs, in the order of the workload.
    pub tasks: Vec<PooledTask<'a>>,
}

/// A number with its 95% interval, where there are samples enough for one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The best guess.
    pub mid: f64,
    /// Least and greatest value of the interval.
    pub interval: Option<(f64, f64)>,
    /// The samples do not vary, as repetitions of a deterministic run do not: the number is exact and has no interval.
    pub is_exact: bool,
}

/// The measure by which policies are compared; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Mean response of all jobs.
    MeanResponse,
    /// Greatest service error of any task.
    MaxError,
}

/// The policies of a report side by side, and the measure that they are compared by.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// The report.
    pub report: &'a Report,
    /// Its policies, in the order of their first runs.
    pub policies: Vec<Policy<'a>>,
    /// The measure.
    pub criterion: Criterion,
    /// The least relative difference that the report supports: that of [`prediction::floor`]; 0 for a simulation. `None` if the
    /// error of a replay is not known, because then it supports no comparison.
    pub floor: Option<f64>,
}

impl<'a> Comparison<'a> {
    /// Compares all policies of a report.
    pub fn of(report: &'a Report) -> Self {
        Self {
            report,
            policies: policies(report),
            criterion: Criterion::of(report),
            floor: report
                .trace
                .as_ref()
                .map_or(Some(0.0), |trace| prediction::floor(trace.self_replay_error)),
        }
    }
}

fn policies(report: &Report) -> Vec<Policy<'_>> {
    let mut policies: Vec<Policy> = Vec::new();
    for run in &report.runs {
        match policies.iter_mut().find(|policy| policy.spec == run.policy) {
            Some(policy) => policy.runs.push(run),
            None => policies.push(Policy { spec: &run.policy, runs: vec![run], tasks: Vec::new() }),
        }
    }
    for policy in &mut policies {
        policy.tasks = PooledTask::all(&policy.runs, report.cpus);
    }
    policies
}

impl Policy<'_> {
    /// A quantity over all repetitions: their mean; of a maximum, the greatest. `None` unless each measured it.
    pub fn value(&self, quantity: &Quantity, statistic: Statistic) -> Option<f64> {
        let values: Option<Vec<f64>> = self.runs.iter().map(|run| quantity.of_run(run, statistic)).collect();
        let values = values?;
        if statistic == Statistic::Max {
            return values.into_iter().reduce(f64::max);
        }
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Jobs by waiting time, in all repetitions.
    pub fn wait_buckets(&self) -> Option<Buckets> {
        Buckets::sum(self.runs.iter().filter_map(|run| run.wait_buckets.as_ref()))
    }

    /// Jobs finished in all runs.
    pub fn jobs(&self) -> f64 {
        self.runs.iter().filter_map(|run| RESPONSE.of_run(run, Statistic::Count)).sum()
    }

    /// Whether it finished at least nine tenths of the jobs that the best policy finished. If a policy starves tasks,
    /// the mean over the few jobs that finish says nothing about the others.
    pub fn keeps_up(&self, policies: &[Policy]) -> bool {
        let most = policies.iter().map(Policy::jobs).fold(0.0, f64::max);
        self.jobs() >= 0.9 * most
    }
}

impl Criterion {
    /// Mean response when jobs finish at all, else the service error.
    fn of(report: &Report) -> Self {
        let finishes = report.runs.iter().any(|run| RESPONSE.of_run(run, Statistic::Mean).is_some());
        if finishes { Self::MeanResponse } else { Self::MaxError }
    }

    fn value(self, run: &Run) -> Option<f64> {
        match self {
            Self::MeanResponse => RESPONSE.of_run(run, Statistic::Mean),
            Self::MaxError => ERROR.of_run(run, Statistic::Max),
        }
    }

    /// The policy's value: the mean of its repetitions.
    pub fn estimate(self, policy: &Policy) -> Option<Estimate> {
        let values: Option<Vec<f64>> = policy.runs.iter().map(|run| self.value(run)).collect();
        match (self, policy.runs.as_slice()) {
            (Self::MeanResponse, [run]) => {
                let (mid, half) = (run.response_ns.mean?, run.response_ns.ci95);
                let is_exact = half.is_none() && run.response_ns.count >= ENOUGH_SAMPLES;
                Some(Estimate { mid, interval: half.map(|half| (mid - half, mid + half)), is_exact })
            }
            _ => mean_estimate(&values?),
        }
    }

    /// The value of `policy` divided by the value of `base`.
    pub fn ratio(self, policy: &Policy, base: &Policy) -> Option<Estimate> {
        if policy.runs.len() > 1 || base.runs.len() > 1 {
            let ratios: Option<Vec<f64>> = policy
                .runs
                .iter()
                .filter_map(|run| Some((run, base.runs.iter().find(|other| other.rep == run.rep)?)))
                .map(|(run, other)| Some(self.value(run)? / self.value(other).filter(|value| *value > 0.0)?))
                .collect();
            return mean_estimate(&ratios?);
        }
        let (over, under) = (self.estimate(policy)?, self.estimate(base)?);
        if under.mid <= 0.0 {
            return None;
        }
        let is_exact = over.is_exact && under.is_exact;
        let interval = over
            .bounds()
            .zip(under.bounds())
            .and_then(|(over, under)| (under.0 > 0.0).then(|| (over.0 / under.1, over.1 / under.0)));
        Some(Estimate { mid: over.mid / under.mid, interval: interval.filter(|_| !is_exact), is_exact })
    }
}

impl Estimate {
    /// Between which values it is, as far as that is known.
    fn bounds(&self) -> Option<(f64, f64)> {
        self.interval.or(self.is_exact.then_some((self.mid, self.mid)))
    }

    /// Whether something is known of how far it may be off.
    pub fn is_known(&self) -> bool {
        self.bounds().is_some()
    }

    /// For a ratio: whether its whole interval is above 1, and the ratio exceeds 1 by more than the relative error `floor`.
    pub fn is_more(&self, floor: f64) -> bool {
        self.bounds().is_some_and(|(low, _)| low > 1.0) && self.mid > 1.0 + floor
    }

    /// For a ratio: whether its whole interval is below 1, and the ratio falls short of 1 by more than the relative error
    /// `floor`.
    pub fn is_less(&self, floor: f64) -> bool {
        self.bounds().is_some_and(|(_, high)| high < 1.0) && self.mid < 1.0 / (1.0 + floor)
    }

    /// Half the interval, as a share of the number.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        (self.mid > 0.0).then(|| (high - low) / 2.0 / self.mid)
    }
}

/// The mean of independent values. From two values on it has a 95 % interval by Student's t, unless they are identical.
fn mean_estimate(values: &[f64]) -> Option<Estimate> {
    let is_exact = are_identical(values);
    if is_exact || values.len() == 1 {
        return Some(Estimate { mid: values[0], interval: None, is_exact });
    }
    let ConfidenceInterval { mean, half_width } = interval95(values)?;
    let interval = Some((mean - half_width, mean + half_width));
    Some(Estimate { mid: mean, interval, is_exact })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn ratio_of(report: &Report, over: usize, under: usize) -> Estimate {
        let Comparison { policies, criterion, .. } = Comparison::of(report);
        criterion.ratio(&policies[over], &policies[under]).expect("measured")
    }

    #[test]
    fn repetitions_are_compared_pairwise() {
        // b is always 1.5 times a, although both vary far more than that between repetitions.
        let report = samples::repetitions(&[("a", &[2.0, 20.0, 200.0]), ("b", &[3.0, 30.0, 300.0])]);
        let ratio = ratio_of(&report, 1, 0);
        assert!((ratio.mid - 1.5).abs() < 1e-12);
        assert!(ratio.is_more(0.0));
        assert!(!ratio.is_more(0.5));
        assert!(ratio_of(&report, 0, 1).is_less(0.0));
    }

    #[test]
    fn repetitions_have_a_student_interval() {
        // Values 1, 2, 3: mean 2, s = 1, half width 4.303 / sqrt(3) = 2.4843.
        let estimate = mean_estimate(&[1.0, 2.0, 3.0]).expect("values");
        let (low, high) = estimate.interval.expect("three values");
        assert!((low + 0.4843).abs() < 1e-3 && (high - 4.4843).abs() < 1e-3);
        assert_eq!(mean_estimate(&[5.0]), Some(Estimate { mid: 5.0, ..Estimate::default() }));
        assert_eq!(mean_estimate(&[]), None);
    }

    /// The same number in each repetition is exact. It has no interval, and differs from another such number for sure.
    #[test]
    fn identical_repetitions_are_exact() {
        let exact = Estimate { mid: 0.1, interval: None, is_exact: true };
        assert_eq!(mean_estimate(&[0.1; 3]), Some(exact));
        let report = samples::repetitions(&[("a", &[2.0, 2.0]), ("b", &[3.0, 3.0]), ("c", &[2.0, 3.0])]);
        let ratio = ratio_of(&report, 1, 0);
        assert_eq!(ratio, Estimate { mid: 1.5, interval: None, is_exact: true });
        assert!(ratio.is_more(0.0) && !ratio.is_more(0.5) && ratio_of(&report, 0, 1).is_less(0.0));
        assert!(ratio_of(&report, 2, 0).interval.is_some());
        // One run of 200 jobs, all alike.
        let mut report = samples::two_policies();
        report.runs.iter_mut().for_each(|run| run.response_ns.ci95 = None);
        assert_eq!(ratio_of(&report, 1, 0), Estimate { mid: 4.0, interval: None, is_exact: true });
        report.runs[0].response_ns.count = 159;
        assert_eq!(ratio_of(&report, 1, 0), Estimate { mid: 4.0, ..Estimate::default() });
    }

    #[test]
    fn one_repetition_uses_batch_means_at_their_worst() {
        // The runs' own means: gr3 7.5 ms, rr 30 ms, both +- 2 %.
        let report = samples::two_policies();
        let ratio = ratio_of(&report, 1, 0);
        let (low, high) = ratio.interval.expect("batch means");
        assert!((ratio.mid - 4.0).abs() < 1e-9);
        assert!((low - 4.0 * 0.98 / 1.02).abs() < 1e-9);
        assert!((high - 4.0 * 1.02 / 0.98).abs() < 1e-9);
    }

    #[test]
    fn without_jobs_the_error_is_compared_and_has_no_interval() {
        let report = samples::endless(&[("gr3", 8), ("rr", 80)]);
        assert_eq!(Criterion::of(&report), Criterion::MaxError);
        let ratio = ratio_of(&report, 1, 0);
        assert_eq!((ratio.mid, ratio.interval), (10.0, None));
        assert!(!ratio.is_more(0.0));
    }
}
