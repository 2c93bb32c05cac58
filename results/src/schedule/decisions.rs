//! When somebody else got a CPU, and why.

use std::collections::BTreeSet;

use super::{Schedule, Slice, State};

/// A CPU is given to another task than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When, in ns.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: usize,
    /// The task that gets it: an index into [`Schedule::tasks`].
    pub task: u32,
    reason: Reason,
}

/// Others are indices into [`Schedule::tasks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    ComesToIdle,
    IdleAndWaits,
    Ends(u32),
    ComesBefore(u32),
    SliceOver(u32),
    Pauses(u32),
}

impl Decision {
    /// The reason in words; `name` has the name of a task.
    pub fn because(&self, name: impl Fn(u32) -> String) -> String {
        let task = name(self.task);
        match self.reason {
            Reason::ComesToIdle => format!("{task} comes, and the CPU is idle"),
            Reason::IdleAndWaits => format!("the CPU is idle, and {task} waits"),
            Reason::Ends(other) => format!("{} ends", name(other)),
            Reason::ComesBefore(other) => format!("{task} comes, and is before {}", name(other)),
            Reason::SliceOver(other) => format!("the slice of {} is over", name(other)),
            Reason::Pauses(other) => format!("{} pauses", name(other)),
        }
    }
}

/// By time, the first `most` of each CPU.
#[must_use]
pub fn decisions(schedule: &Schedule, most: usize) -> Vec<Decision> {
    let woken: BTreeSet<(u64, u32)> = schedule.wakes.iter().map(|wake| (wake.at_ns, wake.task)).collect();
    let of_cpu = |(cpu, slices): (usize, &Vec<Slice>)| -> Vec<Decision> {
        let one = |(i, slice): (usize, &Slice)| {
            let (at_ns, task) = (slice.from_ns, slice.task);
            let comes = woken.contains(&(at_ns, task));
            let before = i.checked_sub(1).map(|i| &slices[i]).filter(|before| before.to_ns == at_ns);
            let reason = match before {
                None if comes => Reason::ComesToIdle,
                None => Reason::IdleAndWaits,
                Some(before) => match before.left {
                    State::Dead => Reason::Ends(before.task),
                    State::Runnable if comes => Reason::ComesBefore(before.task),
                    State::Runnable => Reason::SliceOver(before.task),
                    _ => Reason::Pauses(before.task),
                },
            };
            Decision { at_ns, cpu, task, reason }
        };
        slices.iter().enumerate().take(most).map(one).collect()
    };
    let mut all: Vec<Decision> = schedule.cpus.iter().enumerate().flat_map(of_cpu).collect();
    all.sort_by_key(|decision| (decision.at_ns, decision.cpu));
    all
}
