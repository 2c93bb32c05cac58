//! Rounds of runs, from many short ones to a few long ones.

use divvy_policy::spec::Spec;
use divvy_policy::{Failure, FailureKind};
use divvy_results::measure::Unit;
use divvy_results::progress::Progress;
use divvy_results::report::{Report, Run, TaskResult};
use divvy_sim::run::{Options, RunError, simulate};
use divvy_workload::Workload;
use rayon::prelude::*;
use thiserror::Error;

use super::candidate::{self, Candidate};
use crate::assert::{ClaimError, Claims};

/// The part of the run's time in the first two rounds: one for policies and quanta, one for weights. So many candidates go on from each.
const SHORT: (f64, usize) = (0.125, 16);
/// The same for the round before the last one, which has all of the time.
const LONG: (f64, usize) = (0.5, 12);
/// Number of settings that are told.
const TOLD: usize = 6;

/// Each goal's first measure in each repetition, if it was measured.
type Readings = Vec<Vec<Option<(Unit, f64)>>>;

/// A candidate's results in the last round.
#[derive(Debug)]
pub struct Finding {
    /// The settings.
    pub candidate: Candidate,
    /// Its runs, one a repetition; only of the last round.
    pub report: Option<Report>,
    /// Number of repetitions.
    pub reps: usize,
    /// Each goal's first measure in each repetition, with its unit.
    pub readings: Readings,
    /// In how many repetitions each goal was met.
    pub met: Vec<usize>,
    /// How far it was from all goals, in the mean over repetitions.
    pub shortfall: f64,
    /// The task without a goal that it costs most, and the factor by which that is worse off than under the baseline.
    /// It is infinite if that task gets nothing any more.
    pub cost: Option<(String, f64)>,
}

impl Finding {
    /// How much worse off the other tasks are: what is less than a percent is no reason to prefer settings.
    pub fn percent_worse(&self) -> u64 {
        self.cost.as_ref().map_or(0, |(_, factor)| (100.0 * (factor - 1.0).max(0.0)).round() as u64)
    }

    /// Whether each repetition met each goal.
    pub fn meets_all(&self) -> bool {
        self.met.iter().all(|met| *met == self.reps)
    }
}

/// The result of a search.
#[derive(Debug)]
pub struct Advice {
    /// Number of settings that were tried.
    pub tried: usize,
    /// The workload as it is, under the baseline.
    pub baseline: Finding,
    /// The best settings, the best one first.
    pub best: Vec<Finding>,
}

/// Why there is no advice.
#[derive(Debug, Error)]
pub enum Problem {
    /// A run has no result.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A goal cannot be judged.
    #[error(transparent)]
    Goal(#[from] ClaimError),
}

impl Failure for Problem {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Run(error) => error.kind(),
            Self::Goal(error) => error.kind(),
        }
    }
}

/// A search and what it needs.
struct Search<'a> {
    workload: &'a Workload,
    goals: &'a Claims,
    options: &'a Options,
    baseline: Candidate,
    progress: &'a dyn Progress,
}

/// Tries `candidates`, then the best of them with other weights for the tasks that goals name. Progress is in candidates.
///
/// # Errors
/// If a run has no result, or a goal names what the workload does not have.
pub fn search(
    workload: &Workload,
    goals: &Claims,
    candidates: Vec<Candidate>,
    baseline: Spec,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Advice, Problem> {
    let quantum_ns = options.quantum_ns.unwrap_or(workload.quantum_ns);
    let baseline = Candidate::unchanged(baseline, workload, quantum_ns);
    let search = Search { workload, goals, options, baseline, progress };
    let named = search.named_tasks();
    let most_varied = SHORT.1.min(candidates.len()) * candidate::combinations(named.len());
    progress.begin(Some((candidates.len() + most_varied + SHORT.1 + LONG.1) as u64));
    let mut tried = candidates.len();
    let now = search.baseline_report(SHORT.0)?;
    let best = first(search.best(candidates, SHORT.0, &now)?, SHORT.1);
    let varied: Vec<Candidate> = best.iter().flat_map(|candidate| candidate.with_weights(&named)).collect();
    tried += varied.len() - best.len();
    let best = first(search.best(varied, SHORT.0, &now)?, SHORT.1);
    let best = first(search.best(best, LONG.0, &search.baseline_report(LONG.0)?)?, LONG.1);
    let now = search.baseline_report(1.0)?;
    let mut best = search.best(best, 1.0, &now)?;
    // A policy that does the same with another quantum or other weights is told once.
    let mut seen: Vec<(Spec, Readings)> = Vec::new();
    best.retain(|finding| {
        let did = (finding.candidate.spec.clone(), finding.readings.clone());
        let is_new = !seen.contains(&did);
        seen.push(did);
        is_new
    });
    best.truncate(TOLD);
    let baseline = search.finding(search.baseline.clone(), &now.runs, &now, &now)?;
    Ok(Advice { tried, baseline, best })
}

/// The candidates of the first so many.
fn first(findings: Vec<Finding>, kept: usize) -> Vec<Candidate> {
    findings.into_iter().take(kept).map(|finding| finding.candidate).collect()
}

impl Search<'_> {
    /// The tasks of the workload, by index, that goals name.
    fn named_tasks(&self) -> Vec<usize> {
        let is_named = |index: &usize| {
            let task = &self.workload.tasks[*index];
            let process = task.process.as_deref().unwrap_or(&task.name);
            self.goals.iter().any(|goal| goal.names(&task.name, process))
        };
        (0..self.workload.tasks.len()).filter(is_named).collect()
    }

    /// These, the best first, when they run for this part of the time, as the baseline did. Equal ones stay in their order, so that what
    /// changes less comes first.
    fn best(
        &self,
        candidates: Vec<Candidate>,
        part: f64,
        baseline: &Report,
    ) -> Result<Vec<Finding>, Problem> {
        let groups = with_same_workload(candidates);
        let judged: Vec<Vec<Finding>> = groups
            .into_par_iter()
            .map(|together| self.judge(together, part, baseline))
            .collect::<Result<_, Problem>>()?;
        let mut findings: Vec<Finding> = judged.into_iter().flatten().collect();
        findings.sort_by(|a, b| {
            a.shortfall.total_cmp(&b.shortfall).then(a.percent_worse().cmp(&b.percent_worse()))
        });
        Ok(findings)
    }

    /// Runs candidates that differ in the policy only. Those whose weights would be out of range are left out.
    fn judge(&self, together: Vec<Candidate>, part: f64, baseline: &Report) -> Result<Vec<Finding>, Problem> {
        let mut findings = Vec::new();
        if let Some(workload) = together[0].workload(self.workload) {
            let specs: Vec<Spec> = together.iter().map(|candidate| candidate.spec.clone()).collect();
            let options = Options { quantum_ns: Some(together[0].quantum_ns), ..self.options_for(part) };
            let mut report = simulate(&workload, &specs, &options, &())?;
            self.progress.advance(together.len() as u64);
            // Reports are large, so none is copied, and only those of the last round are kept.
            let (mut own, rest) = (Vec::new(), std::mem::take(&mut report.runs));
            let mut rest = rest.into_iter().peekable();
            for candidate in together {
                let name = candidate.spec.to_string();
                own.clear();
                while let Some(run) = rest.next_if(|run| run.policy == name) {
                    own.push(run);
                }
                let mut finding = self.finding(candidate, &own, &report, baseline)?;
                if part == 1.0 {
                    finding.report = Some(Report { runs: std::mem::take(&mut own), ..report.clone() });
                }
                findings.push(finding);
            }
        }
        Ok(findings)
    }

    fn baseline_report(&self, part: f64) -> Result<Report, RunError> {
        let options = Options { quantum_ns: Some(self.baseline.quantum_ns), ..self.options_for(part) };
        simulate(self.workload, std::slice::from_ref(&self.baseline.spec), &options, &())
    }

    /// A part of the time in one repetition, or all of it in all. The last round has other random numbers than those by which the
    /// candidates were chosen, so that its results are not better than what is to be expected.
    fn options_for(&self, part: f64) -> Options {
        let warmup_ns = self.workload.warmup_ns;
        let shortened = |ns: u64| warmup_ns + ((ns.saturating_sub(warmup_ns)) as f64 * part).max(1.0) as u64;
        let whole_ns = self.options.duration_ns.or(self.workload.duration_ns);
        Options {
            duration_ns: whole_ns.map(shortened),
            reps: if part < 1.0 { 1 } else { self.options.reps },
            seed: if part < 1.0 { self.options.seed.wrapping_add(1) } else { self.options.seed },
            ..self.options.clone()
        }
    }

    /// Judges runs of one candidate. `head` is their report without runs.
    fn finding(
        &self,
        candidate: Candidate,
        runs: &[Run],
        head: &Report,
        baseline: &Report,
    ) -> Result<Finding, Problem> {
        let (mut readings, mut met, mut shortfall) = (Vec::new(), Vec::new(), 0.0);
        for goal in self.goals.iter() {
            let short: Vec<f64> =
                runs.iter().map(|run| goal.shortfall(run, head)).collect::<Result<_, _>>()?;
            readings.push(runs.iter().map(|run| goal.reading(run, head)).collect::<Result<Vec<_>, _>>()?);
            met.push(short.iter().filter(|short| **short == 0.0).count());
            shortfall += short.iter().sum::<f64>() / short.len().max(1) as f64;
        }
        let cost = self.cost(runs, &baseline.runs);
        Ok(Finding { candidate, report: None, reps: runs.len(), readings, met, shortfall, cost })
    }

    /// The task without a goal that is worst off beside the baseline, in the mean over repetitions.
    fn cost(&self, runs: &[Run], baseline: &[Run]) -> Option<(String, f64)> {
        let rows = runs.first()?.tasks.len();
        let others = (0..rows).filter(|row| {
            let task = &runs[0].tasks[*row];
            !self.goals.iter().any(|goal| goal.names(&task.name, &task.process))
        });
        let costs = others.filter_map(|row| {
            let worse: Vec<f64> = runs
                .iter()
                .zip(baseline)
                .filter_map(|(run, base)| Some(worse_by(run.tasks.get(row)?, base.tasks.get(row)?)))
                .flatten()
                .collect();
            let mean = worse.iter().sum::<f64>() / worse.len() as f64;
            (!worse.is_empty()).then(|| (runs[0].tasks[row].name.clone(), mean))
        });
        costs.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// By which factor a task is worse off. If it finishes jobs: in mean response, or in their number, whichever is worse. If it finishes none:
/// in CPU time. A task that gets nothing any more is infinitely worse off, and one that never gets anything is not compared.
fn worse_by(task: &TaskResult, baseline: &TaskResult) -> Option<f64> {
    if baseline.jobs == 0 {
        return (baseline.service_ns > 0).then(|| baseline.service_ns as f64 / task.service_ns as f64);
    }
    let fewer = baseline.jobs as f64 / task.jobs as f64;
    let slower = task.response_ns.mean.zip(baseline.response_ns.mean).map_or(1.0, |(mine, base)| mine / base);
    Some(fewer.max(if slower.is_nan() { 1.0 } else { slower }))
}

/// Candidates with the same quantum and weights, which differ in the policy only: they share a report.
fn with_same_workload(candidates: Vec<Candidate>) -> Vec<Vec<Candidate>> {
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    for candidate in candidates {
        let same = |group: &&mut Vec<Candidate>| {
            (group[0].quantum_ns, &group[0].factors) == (candidate.quantum_ns, &candidate.factors)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(candidate),
            None => groups.push(vec![candidate]),
        }
    }
    groups
}
