//! Chooses the tasks whose series are kept.

use super::MOST_TASK_SERIES;
use crate::report::Run;

/// Keeps the series of the same tasks in every run: those with the greatest service error in any of them.
pub fn keep_worst(runs: &mut [Run]) {
    let mut worst: Vec<(u64, usize)> = Vec::new();
    for run in runs.iter().filter(|run| run.figures.is_some()) {
        for (index, task) in run.tasks.iter().enumerate() {
            let error_ns = task.error_min_ns.unsigned_abs().max(task.error_max_ns.unsigned_abs());
            match worst.get_mut(index) {
                Some(known) => known.0 = known.0.max(error_ns),
                None => worst.push((error_ns, index)),
            }
        }
    }
    worst.sort_by_key(|&(error_ns, index)| (std::cmp::Reverse(error_ns), index));
    let kept: Vec<usize> = worst.into_iter().take(MOST_TASK_SERIES).map(|(_, index)| index).collect();
    for figures in runs.iter_mut().filter_map(|run| run.figures.as_mut()) {
        figures.series.tasks.retain(|series| kept.contains(&series.task));
    }
}
