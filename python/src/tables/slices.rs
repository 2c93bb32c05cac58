//! Slices: which task ran on which CPU, from when to when.

use arrow_array::{ArrayRef, Int32Array};
use divvy_results::schedule::{Schedule, Slice, State};

use super::names::Names;
use super::whole;
use crate::table::column;

/// The slices of each policy's first repetition, CPU by CPU, in order of time.
pub fn slices(schedules: &[(String, Schedule)]) -> Vec<(&'static str, ArrayRef)> {
    let (mut policies, mut tasks, mut left) = (Names::default(), Names::default(), Names::default());
    for (policy, schedule) in schedules {
        policies.repeat(policy, schedule.cpus.iter().map(Vec::len).sum());
        let numbers: Vec<i32> = schedule.tasks.iter().map(|task| tasks.number(&task.name)).collect();
        for slice in schedule.cpus.iter().flatten() {
            tasks.push(numbers[slice.task as usize]);
            left.repeat(word(slice.left), 1);
        }
    }
    let all = || schedules.iter().flat_map(|(_, schedule)| schedule.cpus.iter().enumerate());
    let cpus = all().flat_map(|(cpu, slices)| std::iter::repeat_n(cpu as i32, slices.len()));
    let time = |of: fn(&Slice) -> u64| whole(all().flat_map(|(_, slices)| slices).map(of));
    vec![
        ("policy", policies.column()),
        ("cpu", column(Int32Array::from_iter_values(cpus))),
        ("task", tasks.column()),
        ("from_ns", time(|slice| slice.from_ns)),
        ("to_ns", time(|slice| slice.to_ns)),
        ("left", left.column()),
    ]
}

/// The state in which a task leaves its CPU.
fn word(state: State) -> &'static str {
    match state {
        State::Runnable => "runnable",
        State::Sleep => "sleep",
        State::Disk => "disk",
        State::Stopped => "stopped",
        State::Traced => "traced",
        State::Dead => "exit",
        State::Parked => "parked",
        State::Idle => "idle",
        State::Unknown => "unknown",
    }
}
