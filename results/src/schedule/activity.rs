//! The activity of each task: from when on it runs, waits or sleeps.

use super::{Schedule, State};

/// A task runs, waits, sleeps or is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It runs on this CPU.
    Runs(usize),
    /// It is runnable.
    Waits,
    /// It is not.
    Sleeps,
    /// It has exited.
    Gone,
}

/// The changes of each task, in the order of [`Schedule::tasks`]: the time in ns, and the activity from then on. At one time the last
/// change counts.
#[must_use]
pub fn activities(schedule: &Schedule) -> Vec<Vec<(u64, Activity)>> {
    // At one time a task leaves a CPU first, is woken then, and runs last.
    let mut changes: Vec<Vec<(u64, u8, Activity)>> = vec![Vec::new(); schedule.tasks.len()];
    for (cpu, slices) in schedule.cpus.iter().enumerate() {
        for slice in slices {
            let of_task = &mut changes[slice.task as usize];
            of_task.push((slice.from_ns, 2, Activity::Runs(cpu)));
            let left = match slice.left {
                State::Runnable => Activity::Waits,
                State::Dead => Activity::Gone,
                _ => Activity::Sleeps,
            };
            of_task.push((slice.to_ns, 0, left));
        }
    }
    for wake in &schedule.wakes {
        changes[wake.task as usize].push((wake.at_ns, 1, Activity::Waits));
    }
    let ordered = |mut of_task: Vec<(u64, u8, Activity)>| {
        of_task.sort_by_key(|(at_ns, order, _)| (*at_ns, *order));
        of_task.into_iter().map(|(at_ns, _, standing)| (at_ns, standing)).collect()
    };
    changes.into_iter().map(ordered).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Slice, Task, Wake, decisions};
    use super::*;

    fn schedule() -> Schedule {
        let task = |tid, name: &str| Task {
            tid,
            process: tid,
            name: name.into(),
            process_name: name.into(),
            prio: 120,
            row: 0,
        };
        let slice = |task, from_ns, to_ns, left| Slice { task, from_ns, to_ns, left };
        Schedule {
            to_ns: 9,
            tasks: vec![task(1, "a"), task(2, "b")],
            cpus: vec![vec![
                slice(0, 0, 2, State::Runnable),
                slice(1, 2, 3, State::Sleep),
                slice(0, 3, 5, State::Dead),
                slice(1, 7, 9, State::Runnable),
            ]],
            wakes: [(0, 0), (1, 2), (1, 7)]
                .map(|(task, at_ns)| Wake { task, at_ns, by: None, is_new: false })
                .into(),
            ..Schedule::default()
        }
    }

    #[test]
    fn a_task_runs_waits_sleeps_and_goes() {
        let [a, b] = &activities(&schedule())[..] else { panic!("two tasks") };
        use Activity::{Gone, Runs, Sleeps, Waits};
        assert_eq!(a[..], [(0, Waits), (0, Runs(0)), (2, Waits), (3, Runs(0)), (5, Gone)]);
        assert_eq!(b[..5], [(2, Waits), (2, Runs(0)), (3, Sleeps), (7, Waits), (7, Runs(0))]);
    }

    #[test]
    fn a_decision_has_its_reason() {
        let schedule = schedule();
        let name = |task: u32| schedule.tasks[task as usize].name.to_string();
        let said: Vec<_> = decisions(&schedule, 9).iter().map(|one| (one.at_ns, one.because(name))).collect();
        let because = [
            (0, "a comes, and the CPU is idle"),
            (2, "b comes, and is before a"),
            (3, "b pauses"),
            (7, "b comes, and the CPU is idle"),
        ];
        assert_eq!(said, because.map(|(at_ns, text)| (at_ns, text.to_owned())));
    }
}
