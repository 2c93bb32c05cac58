//! Compares policies: estimates with 95% intervals, and the conclusions that the intervals support.
//!
//! With repetitions, intervals are Student's over the repetitions, and ratios are taken within a
//! repetition, where the policies saw the same random numbers. With one repetition they come from
//! the batch means of the report, and ratios take both ends against each other.

use crate::measure::{ERROR, RESPONSE, Statistic};
use crate::report::{Report, Run, TaskResult};
use crate::stats::{ConfidenceInterval, interval95};

/// The runs of one policy, a repetition each.
#[derive(Debug)]
pub struct Policy<'a> {
    /// Its spec.
    pub spec: &'a str,
    /// In the order of the report; at least one.
    pub runs: Vec<&'a Run>,
}

/// A number with its 95% interval, where there are samples enough for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The best guess.
    pub mid: f64,
    /// Least and greatest value of the interval.
    pub interval: Option<(f64, f64)>,
}

/// The measure by which policies are compared; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Mean response of all jobs.
    MeanResponse,
    /// Greatest service error of any task.
    MaxError,
}

/// The policies of a report, in the order of their first runs.
pub fn policies(report: &Report) -> Vec<Policy<'_>> {
    let mut policies: Vec<Policy> = Vec::new();
    for run in &report.runs {
        match policies.iter_mut().find(|policy| policy.spec == run.policy) {
            Some(policy) => policy.runs.push(run),
            None => policies.push(Policy { spec: &run.policy, runs: vec![run] }),
        }
    }
    policies
}

impl<'a> Policy<'a> {
    /// One task's result in each repetition, by its place in the workload.
    pub fn task(&self, index: usize) -> Vec<&'a TaskResult> {
        self.runs.iter().filter_map(|run| run.tasks.get(index)).collect()
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
    pub fn of(report: &Report) -> Self {
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
                Some(Estimate { mid, interval: half.map(|half| (mid - half, mid + half)) })
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
        let interval = over
            .interval
            .zip(under.interval)
            .and_then(|(over, under)| (under.0 > 0.0).then(|| (over.0 / under.1, over.1 / under.0)));
        Some(Estimate { mid: over.mid / under.mid, interval })
    }
}

impl Estimate {
    /// For a ratio: whether its whole interval is above 1, and the ratio exceeds 1 by more than the relative error `floor`.
    pub fn is_more(&self, floor: f64) -> bool {
        self.interval.is_some_and(|(low, _)| low > 1.0) && self.mid > 1.0 + floor
    }

    /// For a ratio: whether its whole interval is below 1, and the ratio falls short of 1 by more than the relative error
    /// `floor`.
    pub fn is_less(&self, floor: f64) -> bool {
        self.interval.is_some_and(|(_, high)| high < 1.0) && self.mid < 1.0 / (1.0 + floor)
    }

    /// Half the interval, as a share of the number.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        (self.mid > 0.0).then(|| (high - low) / 2.0 / self.mid)
    }
}

/// The least relative difference that a report supports: the error of a replay; 0 for a simulation. `None` if the error of
/// a replay is not known, because then it supports no comparison.
pub fn floor(report: &Report) -> Option<f64> {
    match &report.trace {
        None => Some(0.0),
        Some(trace) => trace.self_replay_error,
    }
}

/// The mean of independent values. From two values on it has a 95 % interval by Student's t.
fn mean_estimate(values: &[f64]) -> Option<Estimate> {
    if let [value] = values {
        return Some(Estimate { mid: *value, interval: None });
    }
    let ConfidenceInterval { mean, half_width } = interval95(values)?;
    Some(Estimate { mid: mean, interval: Some((mean - half_width, mean + half_width)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn ratio_of(report: &Report, over: usize, under: usize) -> Estimate {
        let policies = policies(report);
        Criterion::of(report).ratio(&policies[over], &policies[under]).expect("measured")
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
        assert_eq!(mean_estimate(&[5.0]), Some(Estimate { mid: 5.0, interval: None }));
        assert_eq!(mean_estimate(&[]), None);
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
