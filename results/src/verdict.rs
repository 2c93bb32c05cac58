//! The verdict on a report: policies by the measure that decides, with their intervals, the other measures in order of
//! relevance with the best of each, and what the numbers do not support.

use serde::Serialize;

use crate::compare::{Comparison, Criterion, Estimate, Policy};
use crate::measure::{
    DECISIONS, DELAY, ERROR, JAIN, MIGRATIONS, OTHER_NODE, Quantity, RESPONSE, SAME_CORE, SAME_LLC,
    SAME_NODE, SLOWDOWN, SWITCHES, Statistic, UTILIZATION, WAIT,
};
use crate::report::Report;
use crate::text;

/// A report in short.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The measure that decides, in words.
    pub criterion: &'static str,
    /// One line: the best policy if the intervals tell one.
    pub title: String,
    /// Places of the best policy, and of those that no interval tells from it; empty if none is called better.
    pub best: Vec<usize>,
    /// The policies in the order of the report.
    pub ranks: Vec<Rank>,
    /// Measures by relevance.
    pub scores: Vec<Score>,
    /// Sentences on what the numbers do not support.
    pub limits: Vec<String>,
}

/// A policy by the measure that decides.
#[derive(Clone, Debug, Serialize)]
pub struct Rank {
    /// Its spec.
    pub policy: String,
    /// The number in ns, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mid_ns: Option<f64>,
    /// Its 95% interval in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<(f64, f64)>,
    /// All repetitions or jobs have this number.
    pub is_exact: bool,
    /// Whether it finished enough jobs to be compared.
    pub is_ranked: bool,
    /// How many times the best policy's number, with the interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// The 95% interval of the factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor_interval: Option<(f64, f64)>,
    /// Whether the interval tells it from the best.
    pub is_told: bool,
}

/// A measure of all policies.
#[derive(Clone, Debug, Serialize)]
pub struct Score {
    /// As in CSV: with its unit.
    pub name: &'static str,
    /// The kind of number: `time`, `share`, `count` or `ratio`.
    pub kind: &'static str,
    /// The policies' numbers, in their order.
    pub values: Vec<Option<f64>>,
    /// Whether each is the best. None is if they print alike.
    pub is_best: Vec<bool>,
    /// It says nothing here, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
    Neither,
}

/// A measure before it is taken.
struct Measure {
    name: &'static str,
    kind: &'static str,
    quantity: Quantity,
    statistic: Statistic,
    better: Better,
    /// About the time of jobs: a policy that left jobs behind is not compared by it.
    of_jobs: bool,
}

/// Whether the measure of this name counts migrations, all or those of a distance.
#[must_use]
pub fn is_of_migrations(measure: &str) -> bool {
    measure.ends_with("migrations")
}

/// By relevance where jobs end. Where none does, what tasks received comes first.
fn measures(criterion: Criterion) -> Vec<Measure> {
    use Better::{Less, More, Neither};
    let jobs = |name, kind, quantity, statistic| Measure {
        name,
        kind,
        quantity,
        statistic,
        better: Less,
        of_jobs: true,
    };
    let run = |name, kind, quantity, statistic, better| Measure {
        name,
        kind,
        quantity,
        statistic,
        better,
        of_jobs: false,
    };
    let times = vec![
        jobs("response_mean_ns", "time", RESPONSE, Statistic::Mean),
        jobs("response_p50_ns", "time", RESPONSE, Statistic::P50),
        jobs("response_p99_ns", "time", RESPONSE, Statistic::P99),
        jobs("slowdown_mean", "ratio", SLOWDOWN, Statistic::Mean),
        jobs("wait_mean_ns", "time", WAIT, Statistic::Mean),
        jobs("wait_p99_ns", "time", WAIT, Statistic::P99),
        jobs("delay_mean_ns", "time", DELAY, Statistic::Mean),
        jobs("delay_p99_ns", "time", DELAY, Statistic::P99),
    ];
    let shares = vec![
        run("error_max_ns", "time", ERROR, Statistic::Max, Less),
        run("jain", "ratio", JAIN, Statistic::Mean, More),
    ];
    let costs = vec![
        run("utilization", "share", UTILIZATION, Statistic::Mean, More),
        run("switches", "count", SWITCHES, Statistic::Mean, Neither),
        run("migrations", "count", MIGRATIONS, Statistic::Mean, Neither),
        run("decisions", "count", DECISIONS, Statistic::Mean, Neither),
        run("same_core_migrations", "count", SAME_CORE, Statistic::Mean, Neither),
        run("same_llc_migrations", "count", SAME_LLC, Statistic::Mean, Neither),
        run("same_node_migrations", "count", SAME_NODE, Statistic::Mean, Neither),
        run("other_node_migrations", "count", OTHER_NODE, Statistic::Mean, Neither),
    ];
    match criterion {
        Criterion::MeanResponse => times.into_iter().chain(shares).chain(costs).collect(),
        Criterion::MaxError => shares.into_iter().chain(times).chain(costs).collect(),
    }
}

/// The verdict on a report.
#[must_use]
pub fn verdict(report: &Report) -> Verdict {
    let comparison = Comparison::of(report);
    let best = best_of(&comparison);
    let ranks: Vec<Rank> = comparison.policies.iter().map(|policy| rank(&comparison, policy, best)).collect();
    let places: Vec<usize> = match best {
        Some(best) if comparison.policies.len() > 1 => {
            (0..ranks.len()).filter(|&at| at == best || (ranks[at].is_ranked && !ranks[at].is_told)).collect()
        }
        _ => Vec::new(),
    };
    let mut verdict = Verdict {
        criterion: match comparison.criterion {
            Criterion::MeanResponse => "mean response",
            Criterion::MaxError => "greatest service error",
        },
        title: String::new(),
        limits: limits(&comparison, &ranks),
        scores: scores(&comparison),
        best: if places.len() == ranks.len() { Vec::new() } else { places },
        ranks,
    };
    verdict.title = title(&verdict);
    verdict
}

/// The place of the policy with the least number among those that keep up.
fn best_of(comparison: &Comparison) -> Option<usize> {
    let value =
        |at: usize| comparison.criterion.estimate(&comparison.policies[at]).map(|estimate| estimate.mid);
    let ranked =
        (0..comparison.policies.len()).filter(|&at| comparison.policies[at].keeps_up(&comparison.policies));
    ranked.filter_map(|at| Some((at, value(at)?))).min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(at, _)| at)
}

fn rank(comparison: &Comparison, policy: &Policy, best: Option<usize>) -> Rank {
    let estimate = comparison.criterion.estimate(policy);
    let is_ranked = policy.keeps_up(&comparison.policies);
    let best = best.map(|at| &comparison.policies[at]).filter(|best| best.spec != policy.spec);
    let ratio: Option<Estimate> =
        best.filter(|_| is_ranked).and_then(|best| comparison.criterion.ratio(policy, best));
    // Without intervals the greatest error of a run is a fact of that run, and others are greater or not.
    let is_fact = comparison.criterion == Criterion::MaxError && ratio.is_none_or(|ratio| !ratio.is_known());
    let is_greater = || {
        let least = best.and_then(|best| comparison.criterion.estimate(best));
        estimate.zip(least).is_some_and(|(one, least)| one.mid > least.mid)
    };
    let is_told = (is_fact && is_greater())
        || ratio.is_some_and(|ratio| comparison.floor.is_some_and(|floor| ratio.is_more(floor)));
    Rank {
        policy: policy.spec.to_owned(),
        mid_ns: estimate.map(|estimate| estimate.mid),
        interval_ns: estimate.and_then(|estimate| estimate.interval),
        is_exact: estimate.is_some_and(|estimate| estimate.is_exact),
        is_ranked,
        factor: ratio.map(|ratio| ratio.mid),
        factor_interval: ratio.and_then(|ratio| ratio.interval),
        is_told,
    }
}

fn title(verdict: &Verdict) -> String {
    let names = || verdict.best.iter().map(|&at| text::escape(&verdict.ranks[at].policy));
    match (verdict.ranks.as_slice(), verdict.best.len()) {
        ([only], _) => text::escape(&only.policy),
        (_, 0) => "No policy is called better".to_owned(),
        (_, 1) => names().collect(),
        _ => names().collect::<Vec<String>>().join(", ") + " (not told apart)",
    }
}

fn limits(comparison: &Comparison, ranks: &[Rank]) -> Vec<String> {
    let Comparison { report, policies, criterion, floor } = comparison;
    let mut limits = Vec::new();
    match floor {
        None => {
            limits.push("The error of this replay is not known, so it supports no comparison.".to_owned())
        }
        Some(floor) if *floor > 0.0 => limits.push(format!(
            "Differences below {} are within the replay's own error.",
            text::percent(*floor, 1)
        )),
        Some(_) => {}
    }
    for rank in ranks.iter().filter(|rank| !rank.is_ranked) {
        limits.push(format!(
            "{} left more than a tenth of the jobs behind, so the times of the rest are not compared.",
            text::escape(&rank.policy)
        ));
    }
    let repeats = policies.iter().any(|policy| policy.runs.len() > 1);
    let has_interval = ranks.iter().any(|rank| rank.interval_ns.is_some());
    let is_exact = ranks.iter().all(|rank| rank.is_exact);
    limits.extend(match (criterion, repeats) {
        _ if is_exact => Some("The numbers are exact for this workload and machine; they say nothing of others."),
        (Criterion::MaxError, false) => Some(
            "The greatest error of one run has no interval: it is a fact of this run, and not of the policy.",
        ),
        (Criterion::MeanResponse, false) if has_interval && report.trace.is_some() => {
            Some("The interval is of one recording over time; other recordings may differ more.")
        }
        (Criterion::MeanResponse, false) if has_interval => Some(
            "The interval is of one run over time; `--reps 5` tells what other random numbers would do.",
        ),
        // The summary says so if there are several policies.
        (Criterion::MeanResponse, false) if policies.len() > 1 => None,
        (Criterion::MeanResponse, false) if report.trace.is_some() => {
            Some("Too few jobs for an interval: take a longer recording.")
        }
        (Criterion::MeanResponse, false) => {
            Some("Too few jobs for an interval: take `--reps 5`, or a longer `--duration`.")
        }
        (_, true) => None,
    }.map(str::to_owned));
    if *criterion == Criterion::MeanResponse && report.runs.iter().any(|run| run.response_ns.p99.is_some()) {
        limits.push("Percentiles and maxima have no interval.".to_owned());
    }
    limits
}

/// Measures of all policies, by relevance.
#[must_use]
pub fn scores(comparison: &Comparison) -> Vec<Score> {
    let Comparison { report, policies, criterion, .. } = comparison;
    let all_end = *criterion == Criterion::MeanResponse
        && report.runs.iter().flat_map(|run| &run.tasks).all(|task| task.jobs > 0 || task.service_ns == 0);
    let migrations = |policy: &Policy| policy.value(&MIGRATIONS, Statistic::Mean);
    let stays = policies.iter().filter_map(migrations).all(|count| count == 0.0);
    let score = |measure: Measure| {
        let values: Vec<Option<f64>> =
            policies.iter().map(|policy| policy.value(&measure.quantity, measure.statistic)).collect();
        if values.iter().all(Option::is_none) {
            return None;
        }
        let contends = |at: usize| !measure.of_jobs || policies[at].keeps_up(policies);
        let is_share = matches!(measure.name, "error_max_ns" | "jain");
        let silent = if is_share && all_end {
            Some("all tasks finish their jobs, so each receives what it asks for")
        } else if is_of_migrations(measure.name) && stays {
            Some("no task changes its CPU")
        } else {
            None
        };
        Some(Score {
            name: measure.name,
            kind: measure.kind,
            is_best: marks(&measure, &values, contends),
            values,
            silent,
        })
    };
    measures(*criterion).into_iter().filter_map(score).collect()
}

/// The best values are those that print as the best one does; if all print alike there is none.
fn marks(measure: &Measure, values: &[Option<f64>], contends: impl Fn(usize) -> bool) -> Vec<bool> {
    let shown = |value: f64| match measure.kind {
        "time" => text::time(value),
        "share" => text::percent(value, 1),
        "count" => text::count(value),
        _ => text::index(value),
    };
    let contending: Vec<f64> =
        (0..values.len()).filter(|&at| contends(at)).filter_map(|at| values[at]).collect();
    let best = match measure.better {
        Better::Less => contending.iter().copied().reduce(f64::min),
        Better::More => contending.iter().copied().reduce(f64::max),
        Better::Neither => None,
    };
    let Some(best) = best.map(shown) else { return vec![false; values.len()] };
    let all_alike = contending.iter().all(|value| shown(*value) == best);
    let is_best =
        |at: usize| !all_alike && contends(at) && values[at].is_some_and(|value| shown(value) == best);
    (0..values.len()).map(is_best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_best_is_called_so_if_intervals_tell_it() {
        let told = verdict(&samples::two_policies());
        assert_eq!((told.title.as_str(), told.best.as_slice()), ("gr3", &[0][..]));
        let rr = &told.ranks[1];
        assert_eq!((rr.factor, rr.is_told), (Some(4.0), true));
        assert!(rr.factor_interval.is_some_and(|(low, high)| low > 3.8 && high < 4.2));
        let close = samples::repetitions(&[("a", &[10.0, 11.0, 9.0]), ("b", &[11.0, 10.0, 10.0])]);
        let close = verdict(&close);
        assert_eq!((close.title.as_str(), close.best.len()), ("No policy is called better", 0));
    }

    /// A replay claims nothing within its own error, and says how large that is.
    #[test]
    fn a_replays_own_error_is_a_limit() {
        let replay = verdict(&samples::replayed(Some(3.5)));
        assert_eq!(replay.title, "No policy is called better");
        assert_eq!(replay.limits[0], "Differences below 350.0% are within the replay's own error.");
        assert!(verdict(&samples::replayed(None)).limits[0].contains("not known"));
    }

    #[test]
    fn one_policy_has_a_number_and_no_rank() {
        let mut report = samples::two_policies();
        report.runs.truncate(1);
        let one = verdict(&report);
        assert_eq!((one.title.as_str(), one.best.len(), one.ranks[0].mid_ns), ("gr3", 0, Some(7.5e6)));
        assert!(one.limits.iter().any(|limit| limit.contains("--reps 5")));
    }

    #[test]
    fn columns_come_by_relevance_and_the_best_are_marked() {
        let told = verdict(&samples::two_policies());
        assert_eq!(told.scores[0].name, "response_mean_ns");
        assert_eq!(told.scores[0].is_best, [true, false]);
        assert!(
            told.scores
                .iter()
                .filter(|score| score.name == "switches")
                .all(|score| score.is_best == [false; 2])
        );
        let endless = verdict(&samples::endless(&[("rr", 80), ("gr3", 8)]));
        assert_eq!((endless.scores[0].name, endless.title.as_str()), ("error_max_ns", "gr3"));
        assert!(endless.scores[0].silent.is_none());
    }

    /// If each task finishes its jobs, service errors and Jain's index only say when.
    #[test]
    fn what_says_nothing_is_silent() {
        let mut report = samples::two_policies();
        let silent = |report: &Report| {
            let scores = verdict(report).scores;
            scores.iter().filter(|score| score.silent.is_some()).map(|score| score.name).collect::<Vec<_>>()
        };
        assert!(!silent(&report).contains(&"jain"), "small/2 finishes no job");
        report.runs.iter_mut().flat_map(|run| &mut run.tasks).for_each(|task| task.jobs = 1);
        assert!(silent(&report).contains(&"jain") && silent(&report).contains(&"error_max_ns"));
    }

    #[test]
    fn who_leaves_jobs_behind_is_not_ranked() {
        let mut report = samples::two_policies();
        report.runs[0].response_ns.count /= 2;
        let verdict = verdict(&report);
        assert!(!verdict.ranks[0].is_ranked && verdict.ranks[0].factor.is_none());
        assert!(verdict.limits.iter().any(|limit| limit.starts_with("gr3 left")));
        assert_eq!(verdict.scores[0].is_best, [false, false]);
    }
}
