//! Repetitions that are identical: chance decided nothing in them, so their numbers have no interval.

use crate::report::{Quantiles, Run};

/// Marks the runs of each policy whose repetitions, two or more, have the same numbers, and drops their intervals.
pub fn mark_deterministic(runs: &mut [Run]) {
    let marked: Vec<bool> = runs.iter().map(|run| is_deterministic(runs, run)).collect();
    for (run, _) in runs.iter_mut().zip(marked).filter(|(_, marked)| *marked) {
        run.deterministic = Some(true);
        drop_intervals(run);
    }
}

fn is_deterministic(runs: &[Run], run: &Run) -> bool {
    let mut others =
        runs.iter().filter(|other| other.policy == run.policy && other.rep != run.rep).peekable();
    others.peek().is_some() && others.all(|other| are_identical(run, other))
}

/// Apart from what only the first repetition keeps.
fn are_identical(a: &Run, b: &Run) -> bool {
    let distributions =
        |run: &Run| [&run.response_ns, &run.wait_ns, &run.wake_delay_ns, &run.slowdown].map(Clone::clone);
    let counts =
        |run: &Run| (run.duration_ns, run.switches, run.migrations, run.decisions, run.utilization, run.jain);
    counts(a) == counts(b)
        && a.migrations_by_distance == b.migrations_by_distance
        && distributions(a) == distributions(b)
        && a.wait_buckets == b.wait_buckets
        && a.tasks == b.tasks
        && a.programs == b.programs
        && a.first_decisions == b.first_decisions
}

fn drop_intervals(run: &mut Run) {
    let drop = |distributions: [&mut Quantiles; 4]| distributions.into_iter().for_each(|q| q.ci95 = None);
    drop([&mut run.response_ns, &mut run.wait_ns, &mut run.wake_delay_ns, &mut run.slowdown]);
    for task in &mut run.tasks {
        drop([&mut task.response_ns, &mut task.wait_ns, &mut task.wake_delay_ns, &mut task.slowdown]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn marked(runs: &[Run]) -> Vec<bool> {
        runs.iter().map(|run| run.deterministic == Some(true)).collect()
    }

    #[test]
    fn identical_repetitions_are_marked_and_have_no_interval() {
        let mut runs = samples::repetitions(&[("a", &[2.0, 2.0, 2.0]), ("b", &[2.0, 2.0, 3.0])]).runs;
        runs.iter_mut().for_each(|run| run.response_ns.ci95 = Some(1.0));
        mark_deterministic(&mut runs);
        assert_eq!(marked(&runs), [true, true, true, false, false, false]);
        let intervals: Vec<Option<f64>> = runs.iter().map(|run| run.response_ns.ci95).collect();
        assert_eq!(intervals, [None, None, None, Some(1.0), Some(1.0), Some(1.0)]);
    }

    /// One run cannot tell. The same policy, named twice, has each repetition twice: that is no second one.
    #[test]
    fn one_repetition_is_not_marked() {
        let mut runs = samples::repetitions(&[("a", &[2.0]), ("a", &[2.0])]).runs;
        mark_deterministic(&mut runs);
        assert_eq!(marked(&runs), [false, false]);
    }
}
