//! The table of waiting times: how many jobs waited for how long under each policy.

use divvy_results::compare::Policy;
use divvy_results::measure::{Statistic, WAIT};
use divvy_results::report::Buckets;
use divvy_results::text;

use crate::view::histogram::Axis;
use crate::view::table::{ABSENT, Cell, Column, SERVICE, TIMES, Table};

/// The legend under the table.
const MEANING: &str = "histograms: jobs by waiting time, from each time on the axis to the next of 1, 2, 5, 10..; the highest \
    of all is full; none: jobs that never waited";

/// One row per policy; none if no job ever waited.
pub fn table(policies: &[Policy]) -> Option<Table> {
    let all: Vec<Option<Buckets>> = policies.iter().map(Policy::wait_buckets).collect();
    let axis = Axis::of(all.iter().flatten())?;
    let heads = ["none", "p50", "p90", "max"].map(|head| Column::number(["", head], SERVICE));
    let mut columns = vec![Column::name("policy")];
    columns.extend(heads);
    columns.push(Column { head: axis.head().into(), is_number: false, group: TIMES, is_picture: true });
    let row = |(policy, buckets): (&Policy, &Option<Buckets>)| {
        let drawn = buckets.as_ref().map_or(ABSENT.to_owned(), |buckets| axis.draw(buckets));
        let none = buckets.as_ref().map_or(ABSENT.to_owned(), |b| text::percent(b.zeros(), 1));
        let texts = [text::escape(policy.spec), none].into_iter().chain(quantiles(policy)).chain([drawn]);
        texts.map(Cell::plain).collect()
    };
    Some(Table {
        title: Some("waiting time of jobs: runnable but not running".to_owned()),
        columns,
        keys: 1,
        rows: policies.iter().zip(&all).map(row).collect(),
        meaning: Some(MEANING.to_owned()),
    })
}

/// Means over repetitions, and of the greatest the greatest.
fn quantiles(policy: &Policy) -> [String; 3] {
    let value = |statistic| policy.value(&WAIT, statistic).map_or(ABSENT.to_owned(), text::time);
    [Statistic::P50, Statistic::P90, Statistic::Max].map(value)
}
