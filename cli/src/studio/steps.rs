//! The first decisions of a run, and what the policy kept of each task meanwhile.

use std::collections::BTreeMap;

use divvy_results::schedule::{Activity, Counter, Schedule, activities, decisions};
use serde::Serialize;

/// Slices, wake-ups and rests that are kept of a run, and as many changes of values.
pub const MOST_EVENTS: usize = 4_000;
/// Decisions that are shown.
const MOST_DECISIONS: usize = 500;

/// The steps of a run.
#[derive(Serialize)]
pub struct Steps {
    decisions: Vec<Step>,
    /// Whether the run went on.
    has_more: bool,
    /// Values that the policy keeps of each task.
    shows: Vec<Shows>,
    tasks: Vec<TaskSteps>,
}

#[derive(Serialize)]
struct Step {
    at_ns: u64,
    cpu: usize,
    task: String,
    because: String,
}

#[derive(Serialize)]
struct Shows {
    name: &'static str,
    unit: &'static str,
}

/// Points are times in ns, and what holds from then on.
#[derive(Serialize)]
struct TaskSteps {
    name: String,
    /// A CPU, or less than 0: waits, sleeps, gone.
    activities: Vec<(u64, i64)>,
    /// In the order of [`Steps::shows`].
    values: Vec<Vec<(u64, i64)>>,
}

/// The steps of a schedule that was recorded from the beginning, with values.
pub fn of(mut schedule: Schedule) -> Steps {
    let (cut, counters) = (schedule.is_cut, std::mem::take(&mut schedule.counters));
    let mut found = decisions(&schedule, MOST_DECISIONS);
    let counted_to = schedule.counters_end_ns.unwrap_or(u64::MAX);
    let all = found.len();
    found.truncate(MOST_DECISIONS);
    found.retain(|decision| decision.at_ns < counted_to);
    let end_ns = found.last().map_or(0, |last| last.at_ns);
    let name = |task: u32| schedule.tasks[task as usize].name.to_string();
    let steps = found.iter().map(|one| Step {
        at_ns: one.at_ns,
        cpu: one.cpu,
        task: name(one.task),
        because: one.because(name),
    });
    let (shows, mut values) = by_task(counters, end_ns);
    let of_task = |(task, activities): (&divvy_results::schedule::Task, Vec<(u64, Activity)>)| TaskSteps {
        name: task.name.to_string(),
        activities: until(activities.into_iter().map(|(at, activity)| (at, code(activity))), end_ns),
        values: values.remove(&task.tid).unwrap_or_else(|| vec![Vec::new(); shows.len()]),
    };
    let tasks = schedule
        .tasks
        .iter()
        .zip(activities(&schedule))
        .map(of_task)
        .filter(|task| !task.activities.is_empty())
        .collect();
    Steps { has_more: cut || found.len() < all, decisions: steps.collect(), shows, tasks }
}

fn code(activity: Activity) -> i64 {
    match activity {
        Activity::Runs(cpu) => cpu as i64,
        Activity::Waits => -1,
        Activity::Sleeps => -2,
        Activity::Gone => -3,
    }
}

fn until(points: impl Iterator<Item = (u64, i64)>, end_ns: u64) -> Vec<(u64, i64)> {
    points.take_while(|(at, _)| *at <= end_ns).collect()
}

type Points = Vec<(u64, i64)>;

/// The values' names, and the points of each task, by its thread id.
fn by_task(counters: Vec<Counter>, end_ns: u64) -> (Vec<Shows>, BTreeMap<i32, Vec<Points>>) {
    let mut shows: Vec<Shows> = Vec::new();
    for counter in &counters {
        if shows.iter().all(|known| known.name != counter.number) {
            shows.push(Shows { name: counter.number, unit: counter.unit });
        }
    }
    let mut values: BTreeMap<i32, Vec<Points>> = BTreeMap::new();
    for counter in counters {
        let at = shows.iter().position(|known| known.name == counter.number);
        let (Some(at), Some(tid)) = (at, counter.tid) else { continue };
        let of_task = values.entry(tid).or_insert_with(|| vec![Vec::new(); shows.len()]);
        of_task[at] = until(counter.points.into_iter(), end_ns);
    }
    (shows, values)
}
