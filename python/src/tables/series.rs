//! Shares and service errors over time.

use arrow_array::{ArrayRef, Int64Array};
use divvy_results::figures::Series;
use divvy_results::report::{Report, Run};

use super::names::Names;
use super::{numbers, whole};
use crate::table::column;

/// The series of each policy's first repetition, task by task. Of many tasks, those with the greatest service errors have one.
pub fn series(report: &Report) -> Vec<(&'static str, ArrayRef)> {
    let runs: Vec<(&Run, &Series)> =
        report.runs.iter().filter_map(|run| Some((run, &run.figures.as_ref()?.series))).collect();
    let (mut policies, mut tasks) = (Names::default(), Names::default());
    for (run, series) in &runs {
        for task in &series.tasks {
            policies.repeat(&run.policy, series.times_ns.len());
            tasks.repeat(&run.tasks[task.task].name, series.times_ns.len());
        }
    }
    let each = || runs.iter().flat_map(|(_, series)| series.tasks.iter().map(move |task| (series, task)));
    let error_ns = each().flat_map(|(_, task)| task.error_ns.iter().copied());
    vec![
        ("policy", policies.column()),
        ("task", tasks.column()),
        ("time_ns", whole(each().flat_map(|(series, _)| series.times_ns.iter().copied()))),
        ("share", numbers(each().flat_map(|(_, task)| task.share.iter().copied()))),
        ("entitled_share", numbers(each().flat_map(|(_, task)| task.entitled_share.iter().copied()))),
        ("error_ns", column(Int64Array::from_iter_values(error_ns))),
    ]
}
