//! Service errors over time, as counters of a schedule.

use super::{Counter, Schedule};
use crate::report::Run;

/// The schedule of a run, with its service errors in front of the policy's own counters. `None` if the run kept no
/// schedule; without figures there are no service errors.
pub fn with_service_errors(run: &Run) -> Option<Schedule> {
    let mut schedule = run.schedule.clone()?;
    if let Some(figures) = &run.figures {
        let times_ns = &figures.series.times_ns;
        let counters = figures.series.tasks.iter().map(|series| Counter {
            number: "service error",
            task: run.tasks[series.task].name.as_str().into(),
            tid: None,
            unit: "ns",
            points: times_ns.iter().copied().zip(series.error_ns.iter().copied()).collect(),
        });
        schedule.counters.splice(0..0, counters);
    }
    Some(schedule)
}
