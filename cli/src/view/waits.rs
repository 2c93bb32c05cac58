//! The table of waiting times: how many jobs waited for how long under each policy.

use divvy_results::compare::Policy;
use divvy_results::measure::{Statistic, WAIT};
use divvy_results::report::Buckets;
use divvy_results::text;

use crate::view::histogram::{self, Axis};
use crate::view::table::{ABSENT, Cell, Column, SERVICE, TIMES, Table};

/// The legend under the table.
const MEANING: &str = "histograms: jobs by waiting time, from each time on the axis to the next of 1, 2, 5, 10..; the highest \
    of all is full; none: jobs that never waited";

/// One row per policy; none if no job ever waited.
pub fn table(policies: &[Policy]) -> Option<Table> {
    let all: Vec<Option<Buckets>> = policies.iter().map(buckets).collect();
    let axis = Axis::of(all.iter().flatten())?;
    let heads = ["none", "p50", "p90", "max"].map(|head| Column::number(["", head], SERVICE));
    let mut columns = vec![Column::name("policy")];
    columns.extend(heads);
    columns.push(Column { head: axis.head().into(), is_number: false, group: TIMES, is_picture: true });
    let row = |(policy, buckets): (&Policy, &Option<Buckets>)| {
        let drawn = buckets.as_ref().map_or(ABSENT.to_owned(), |buckets| axis.draw(buckets));
        let none = buckets.as_ref().map_or(ABSENT.to_owned(), |b| text::percent(histogram::zeros(b), 1));
        let texts = [text::escape(policy.spec), none].into_iter().chain(quantiles(policy)).chain([drawn]);
        texts.map(Cell::plain).collect()
    };
    Some(Table {
        title: Some("waiting time of jobs: runnable but not running".to_owned()),
        columns,
        rows: policies.iter().zip(&all).map(row).collect(),
        meaning: Some(MEANING.to_owned()),
    })
}

/// Waiting times of all repetitions.
fn buckets(policy: &Policy) -> Option<Buckets> {
    histogram::sum(policy.runs.iter().filter_map(|run| run.wait_buckets.as_ref()))
}

/// Means over repetitions, and of the greatest the greatest.
fn quantiles(policy: &Policy) -> [String; 3] {
    let values = |statistic| -> Option<Vec<f64>> {
        policy.runs.iter().map(|run| WAIT.of_run(run, statistic)).collect()
    };
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let greatest = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max);
    let [p50, p90] = [Statistic::P50, Statistic::P90].map(|statistic| values(statistic).map(mean));
    [p50, p90, values(Statistic::Max).map(greatest)].map(|value| value.map_or(ABSENT.to_owned(), text::time))
}
