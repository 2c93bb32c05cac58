//! The data of a run's pictures: series over time, distributions, and a timeline.
//!
//! They are large, so a report has them only when asked. Views draw these numbers and compute none.

mod ccdf;
mod column;
mod marks;
mod series;
mod timeline;
mod worst;

use serde::{Deserialize, Serialize};

pub use ccdf::Ccdf;
pub use column::{Column, base64, zlib};
pub use marks::Marks;
pub use series::{ErrorSpread, Samples, Series, Standing, TaskSeries};
pub use timeline::{CpuTimeline, Timeline, TimelineRecorder};
pub use worst::keep_worst;

/// Most tasks with series of their own: those with the greatest service errors.
pub const MOST_TASK_SERIES: usize = 32;
/// Most tasks with distributions of their own.
pub const MOST_TASK_CCDFS: usize = 24;

/// How much data to keep.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Slices of all timelines together. A longer timeline ends early, and says when.
    pub slices: usize,
    /// Bytes of all timelines together, as written. Beyond that, times are rounded, and then the picture ends early.
    pub timeline_bytes: usize,
    /// Bytes of everything that a page has of the runs. Timelines get what tasks and series leave.
    pub page_bytes: usize,
}

/// Bytes of a page for each task of a run, about. Packed, and with a thousand tasks, 316 to 326 were measured.
const TASK_BYTES: usize = 340;
/// The same if there are so many tasks that a page has only the values that it shows; 102 were measured.
const LEAN_TASK_BYTES: usize = 130;
/// Bytes of a page for the series and distributions of a run.
const RUN_BYTES: usize = 16_000;
/// At least this fraction (one eighth) of the timelines is drawn, however many tasks there are.
const LEAST_PART: usize = 8;

/// If all runs together have more tasks than this, a page has only the values that it shows.
pub const MOST_FULL_TASKS: usize = 2_000;

impl Limits {
    /// Each run's part, where each has so many tasks.
    pub fn among(self, runs: usize, tasks: usize) -> Limits {
        let runs = runs.max(1);
        let task_bytes = if runs * tasks > MOST_FULL_TASKS { LEAN_TASK_BYTES } else { TASK_BYTES };
        let left = self.page_bytes.saturating_sub(runs * (RUN_BYTES + tasks * task_bytes));
        let timeline_bytes = left.clamp(self.timeline_bytes / LEAST_PART, self.timeline_bytes);
        Limits { slices: self.slices / runs, timeline_bytes: timeline_bytes / runs, ..self }
    }
}

impl Default for Limits {
    /// Enough for a report of 2 MB.
    fn default() -> Limits {
        Limits { slices: 500_000, timeline_bytes: 1_400_000, page_bytes: 1_860_000 }
    }
}

/// The data of one run's pictures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// Shares and service errors over time.
    pub series: Series,
    /// Response times of all jobs.
    pub response: Ccdf,
    /// Waiting times of all jobs.
    pub wait: Ccdf,
    /// The distributions of each task, in the order of [`crate::report::Run::tasks`]; absent if there are many tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskCcdfs>,
    /// Which task ran on which CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// The distributions of one task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskCcdfs {
    /// Response times of its jobs.
    pub response: Ccdf,
    /// Waiting times of its jobs.
    pub wait: Ccdf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timelines_have_what_tasks_leave() {
        let limits = Limits::default();
        let of = |runs, tasks| {
            let each = limits.among(runs, tasks);
            (each.slices * runs, each.timeline_bytes * runs)
        };
        assert_eq!(of(1, 10), (500_000, 1_400_000));
        assert_eq!(of(4, 10), (500_000, 1_400_000));
        assert_eq!(of(4, 1_000), (500_000, 1_860_000 - 4 * (16_000 + 130_000)));
        assert_eq!(of(4, 100_000), (500_000, 1_400_000 / 8));
        assert_eq!(limits.among(0, 0).slices, 500_000);
    }
}
