//! One sentence with the conclusion of a comparison, as far as its intervals support one.

use crate::compare::{Comparison, Criterion, Estimate, Policy};
use crate::text;

/// The sentence; `None` when there is nothing to compare.
pub fn sentence(comparison: &Comparison) -> Option<String> {
    let Comparison { report, policies, criterion, floor } = comparison;
    let (ranked, lagging): (Vec<&Policy>, Vec<&Policy>) =
        policies.iter().partition(|policy| policy.keeps_up(policies));
    let mut measured: Vec<(&Policy, Estimate)> =
        ranked.into_iter().filter_map(|policy| Some((policy, criterion.estimate(policy)?))).collect();
    if policies.len() < 2 || measured.is_empty() {
        return None;
    }
    let Some(floor) = *floor else {
        return Some("the error of this replay is not known, so no policy is called better.".to_owned());
    };
    measured.sort_by(|(_, a), (_, b)| a.mid.total_cmp(&b.mid));
    let mut clauses = Vec::new();
    if measured.len() > 1 {
        let are_known = measured.iter().all(|(_, estimate)| estimate.is_known());
        clauses.push(if are_known {
            with_intervals(*criterion, &measured, floor)
        } else {
            without_intervals(*criterion, &measured, report.trace.is_some())
        });
    }
    if !lagging.is_empty() {
        clauses.push(lagging_clause(policies, &lagging));
    }
    Some(clauses.join("; ") + ".")
}

/// Policies that did not finish nearly all jobs are not ranked with those that did.
fn lagging_clause(policies: &[Policy], lagging: &[&Policy]) -> String {
    let most = policies.iter().map(Policy::jobs).fold(0.0, f64::max);
    let each: Vec<String> = lagging
        .iter()
        .map(|policy| format!("{} finished {}", name(policy), text::count(policy.jobs())))
        .collect();
    let verb = if lagging.len() == 1 { "is" } else { "are" };
    format!("{} of {} jobs and {verb} not ranked", each.join(", "), text::count(most))
}

/// One repetition of a workload without jobs gives a statement about that run; with too few jobs it gives none.
fn without_intervals(criterion: Criterion, measured: &[(&Policy, Estimate)], is_replay: bool) -> String {
    match criterion {
        Criterion::MaxError => closest(measured),
        _ if is_replay => {
            "some tasks have too few jobs for an interval, so no policy is called better".to_owned()
        }
        _ => "too few jobs for an interval, so no policy is called better; \
              take --reps 5 or a longer --duration"
            .to_owned(),
    }
}

/// Names the policy with the least error, and the factor to the next one. `measured` is sorted and not empty.
fn closest(measured: &[(&Policy, Estimate)]) -> String {
    let (_, least) = &measured[0];
    let best: Vec<String> = measured
        .iter()
        .take_while(|(_, estimate)| estimate.mid <= least.mid)
        .map(|(policy, _)| name(policy))
        .collect();
    let next = match measured.get(best.len()) {
        Some((next, more)) => format!(", then {} with {}", name(next), text::time(more.mid)),
        None => String::new(),
    };
    let best = best.join(", ");
    format!("in this run {best} stayed closest to the shares: greatest error {}{next}", text::time(least.mid))
}

fn with_intervals(criterion: Criterion, measured: &[(&Policy, Estimate)], floor: f64) -> String {
    let (best, estimate) = &measured[0];
    let mut more = Vec::new();
    let mut alike = Vec::new();
    for (policy, _) in &measured[1..] {
        let ratio = criterion.ratio(policy, best).filter(|ratio| ratio.is_more(floor));
        match ratio.map(|ratio| (ratio.mid, ratio.interval)) {
            Some((mid, Some((low, high)))) => {
                more.push(format!("{} {mid:.2} times that (95%: {low:.2} to {high:.2})", name(policy)));
            }
            Some((mid, None)) => more.push(format!("{} {mid:.2} times that (deterministic)", name(policy))),
            None => alike.push(name(policy)),
        }
    }
    let what = match criterion {
        Criterion::MeanResponse => "mean response",
        Criterion::MaxError => "greatest service error",
    };
    let alike = alike.join(", ");
    if more.is_empty() {
        let bound = if floor > 0.0 { " and the replay's error" } else { "" };
        return format!(
            "no difference in {what} exceeds the 95% intervals{bound}: {} cannot be told from {alike}",
            name(best)
        );
    }
    let alike = if alike.is_empty() { alike } else { format!(", not told from {alike}") };
    format!("{} has the least {what}, {}{alike}; {}", name(best), text::time(estimate.mid), more.join(", "))
}

fn name(policy: &Policy) -> String {
    text::escape(policy.spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::samples;

    fn of(report: &Report) -> String {
        sentence(&Comparison::of(report)).expect("something to compare")
    }

    #[test]
    fn ranks_what_intervals_separate() {
        assert_eq!(
            of(&samples::two_policies()),
            "gr3 has the least mean response, 7.50ms; rr 4.00 times that (95%: 3.84 to 4.16)."
        );
    }

    #[test]
    fn a_policy_that_leaves_jobs_behind_is_not_ranked() {
        let mut report = samples::two_policies();
        report.runs[0].response_ns.count /= 2;
        assert_eq!(of(&report), "gr3 finished 200 of 400 jobs and is not ranked.");
        report.runs[0].response_ns = Default::default();
        assert_eq!(of(&report), "gr3 finished 0 of 400 jobs and is not ranked.");
    }

    #[test]
    fn names_what_cannot_be_told_apart() {
        let close = samples::repetitions(&[("a", &[10.0, 11.0, 9.0]), ("b", &[11.0, 10.0, 10.0])]);
        assert_eq!(
            of(&close),
            "no difference in mean response exceeds the 95% intervals: a cannot be told from b."
        );
        let mixed = samples::repetitions(&[
            ("a", &[10.0, 11.0, 9.0]),
            ("b", &[11.0, 10.0, 10.0]),
            ("c", &[20.0, 22.0, 18.0]),
        ]);
        assert_eq!(
            of(&mixed),
            "a has the least mean response, 10.0ms, not told from b; c 2.00 times that \
             (deterministic)."
        );
        let identical = samples::repetitions(&[("a", &[10.0; 3]), ("b", &[25.0; 3])]);
        assert_eq!(
            of(&identical),
            "a has the least mean response, 10.0ms; b 2.50 times that (deterministic)."
        );
    }

    #[test]
    fn a_replay_claims_nothing_within_its_own_error() {
        assert!(of(&samples::replayed(Some(0.05))).starts_with("gr3 has the least mean response"));
        assert_eq!(
            of(&samples::replayed(Some(3.5))),
            "no difference in mean response exceeds the 95% intervals and the replay's error: \
             gr3 cannot be told from rr."
        );
        assert!(of(&samples::replayed(None)).starts_with("the error of this replay is not known"));
    }

    #[test]
    fn without_intervals_only_facts_of_the_run() {
        assert_eq!(
            of(&samples::endless(&[("rr", 80), ("gr3", 8)])),
            "in this run gr3 stayed closest to the shares: greatest error 8.00ms, then rr with 80.0ms."
        );
        assert_eq!(
            of(&samples::endless(&[("rr", 8), ("sfq", 80), ("gr3", 8)])),
            "in this run rr, gr3 stayed closest to the shares: greatest error 8.00ms, then sfq with 80.0ms."
        );
        assert_eq!(
            of(&samples::endless(&[("rr", 8), ("gr3", 8)])),
            "in this run rr, gr3 stayed closest to the shares: greatest error 8.00ms."
        );
        let single = samples::repetitions(&[("a", &[10.0]), ("b", &[20.0])]);
        assert!(of(&single).starts_with("too few jobs"));
        assert_eq!(sentence(&Comparison::of(&samples::repetitions(&[("a", &[10.0, 11.0])]))), None);
    }
}
