//! Distributions: the part of the jobs that took at least a time.

use arrow_array::ArrayRef;
use divvy_results::figures::{Ccdf, Figures};
use divvy_results::report::Report;

use super::names::Names;
use super::numbers;

/// A measure's name, and where its distribution is.
type Measure = (&'static str, fn(&Figures) -> &Ccdf);

const MEASURES: [Measure; 2] = [("response", |figures| &figures.response), ("wait", |figures| &figures.wait)];

/// Response and waiting times of all jobs of each policy's first repetition.
pub fn tails(report: &Report) -> Vec<(&'static str, ArrayRef)> {
    let runs = || report.runs.iter().filter_map(|run| Some((&run.policy, run.figures.as_ref()?)));
    let all: Vec<(&String, &str, &Ccdf)> =
        runs().flat_map(|(policy, figures)| MEASURES.map(|(name, of)| (policy, name, of(figures)))).collect();
    let (mut policies, mut measures) = (Names::default(), Names::default());
    for (policy, measure, ccdf) in &all {
        policies.repeat(policy, ccdf.share.len());
        measures.repeat(measure, ccdf.share.len());
    }
    vec![
        ("policy", policies.column()),
        ("measure", measures.column()),
        ("at_least_ns", numbers(all.iter().flat_map(|(.., ccdf)| ccdf.value_ns.iter().copied()))),
        ("share", numbers(all.iter().flat_map(|(.., ccdf)| ccdf.share.iter().copied()))),
    ]
}
