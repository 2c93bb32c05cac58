//! Jobs: the columns of `--jobs-csv`.

use arrow_array::ArrayRef;
use divvy_results::schedule::{Job, Schedule};

use super::names::Names;
use super::{some_whole, whole};

/// The jobs of each policy's first repetition, in the order in which they ended.
pub fn jobs(schedules: &[(String, Schedule)]) -> Vec<(&'static str, ArrayRef)> {
    let (mut policies, mut tasks) = (Names::default(), Names::default());
    for (policy, schedule) in schedules {
        policies.repeat(policy, schedule.jobs.len());
        let numbers: Vec<i32> = schedule.tasks.iter().map(|task| tasks.number(&task.name)).collect();
        schedule.jobs.iter().for_each(|job| tasks.push(numbers[job.task as usize]));
    }
    let all = || schedules.iter().flat_map(|(_, schedule)| &schedule.jobs);
    let time = |of: fn(&Job) -> u64| whole(all().map(of));
    vec![
        ("policy", policies.column()),
        ("task", tasks.column()),
        ("arrival_ns", time(|job| job.from_ns)),
        ("start_ns", some_whole(all().map(|job| job.started_ns))),
        ("completion_ns", time(|job| job.to_ns)),
        ("service_ns", time(|job| job.service_ns)),
        ("wait_ns", time(|job| job.wait_ns)),
    ]
}
