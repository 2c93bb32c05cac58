//! The course of a run: who ran where from when to when, who woke whom, who went to rest. For pictures and traces.

use std::collections::BTreeMap;

use crate::observation::{Seen, Slice};
use divvy_policy::{Shown, TaskId};

/// Most events that a course keeps, of 32 bytes each at most.
pub const MOST_EVENTS: usize = 1 << 23;

/// What part of a run to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From when on, after the warm-up.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
    /// Most slices, wake-ups and rests together. A longer course ends early, and says when.
    pub most: usize,
    /// Whether to keep what the policy keeps of each task, as many changes at most.
    pub values: bool,
}

impl Window {
    /// All that there is room for.
    pub const WHOLE: Window = Window { from_ns: 0, to_ns: u64::MAX, most: MOST_EVENTS, values: true };
}

/// Service without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Index into [`Course::rows`].
    pub task: u32,
    /// From, in ns.
    pub from_ns: u64,
    /// Until, in ns.
    pub to_ns: u64,
}

/// What happened to a task at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Index into [`Course::rows`].
    pub task: u32,
    /// When, in ns.
    pub at_ns: u64,
    /// What.
    pub what: What,
}

/// What happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It became runnable; woken by the task on this CPU, or by a timer.
    Woken(Option<u32>),
    /// It left its CPU and was not runnable.
    Rests,
    /// It is no more.
    Gone,
}

/// A number of the policy's changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Index into [`Course::rows`].
    pub task: u32,
    /// Index into [`Course::shown`].
    pub value: u32,
    /// When, in ns.
    pub at_ns: u64,
    /// What it is from then on.
    pub number: i64,
}

/// Who ran where, and why not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// When it begins.
    pub from_ns: u64,
    /// When it ends.
    pub to_ns: u64,
    /// Whether there was more than could be kept.
    pub is_cut: bool,
    /// Of each task, in the order in which they were first seen: its index in the run's tasks.
    pub rows: Vec<usize>,
    /// A list a CPU, in order of time.
    pub cpus: Vec<Vec<Stretch>>,
    /// In order of time.
    pub moments: Vec<Moment>,
    /// What the policy keeps of each task, if it is kept here.
    pub shown: Vec<Shown>,
    /// How that changed, in order of time.
    pub changes: Vec<Change>,
    /// When there was no more room for changes.
    pub changes_end_ns: Option<u64>,
    room: usize,
    most_changes: usize,
    /// What each task's numbers are.
    numbers: BTreeMap<(u32, u32), i64>,
    /// The tasks alive by the engine's number, which is used again.
    alive: BTreeMap<TaskId, u32>,
    /// Where each task rested last, so that what it does next is a stretch of its own.
    rested_ns: Vec<u64>,
}

impl Course {
    /// Of a run whose statistics begin at `counted_from_ns`.
    pub fn new(cpus: u32, counted_from_ns: u64, window: Window) -> Course {
        Course {
            from_ns: counted_from_ns.saturating_add(window.from_ns),
            to_ns: counted_from_ns.saturating_add(window.to_ns),
            cpus: vec![Vec::new(); cpus as usize],
            room: window.most,
            most_changes: if window.values { window.most } else { 0 },
            ..Course::default()
        }
    }

    /// Is told in order of time.
    pub fn record(&mut self, seen: Seen) {
        match seen {
            Seen::Served(slice) => self.serve(slice),
            Seen::Woken { task, row, at_ns, by } => {
                let task = self.number(task, row);
                self.happen(task, at_ns, What::Woken(by));
            }
            Seen::Rests { task, at_ns } => {
                if let Some(&task) = self.alive.get(&task) {
                    self.rested_ns[task as usize] = at_ns;
                    self.happen(task, at_ns, What::Rests);
                }
            }
            Seen::Gone { task, at_ns } => {
                if let Some(task) = self.alive.remove(&task) {
                    self.happen(task, at_ns, What::Gone);
                }
            }
            Seen::Value { task, value, at_ns, number } => self.change(task, value, at_ns, number),
            Seen::JobDone(_) => {}
        }
    }

    fn number(&mut self, task: TaskId, row: usize) -> u32 {
        let next = self.rows.len() as u32;
        let number = *self.alive.entry(task).or_insert(next);
        if number == next {
            self.rows.push(row);
            self.rested_ns.push(u64::MAX);
        }
        number
    }

    fn serve(&mut self, slice: Slice) {
        let task = self.number(slice.task, slice.row);
        let (from_ns, to_ns) = (slice.from_ns.max(self.from_ns), slice.to_ns.min(self.to_ns));
        if from_ns >= to_ns {
            return;
        }
        let rested_ns = self.rested_ns[task as usize];
        let goes_on =
            |last: &&mut Stretch| last.task == task && last.to_ns == from_ns && rested_ns != from_ns;
        if let Some(last) = self.cpus[slice.cpu as usize].last_mut().filter(goes_on) {
            last.to_ns = to_ns;
        } else if self.has_room(from_ns) {
            self.cpus[slice.cpu as usize].push(Stretch { task, from_ns, to_ns });
        }
    }

    fn happen(&mut self, task: u32, at_ns: u64, what: What) {
        if at_ns >= self.from_ns && at_ns <= self.to_ns && self.has_room(at_ns) {
            self.moments.push(Moment { task, at_ns, what });
        }
    }

    /// Of a number that is as before nothing is kept. The window begins with the numbers that tasks have when they are next
    /// heard of.
    fn change(&mut self, task: TaskId, value: u32, at_ns: u64, number: i64) {
        let Some(&task) = self.alive.get(&task) else { return };
        if at_ns < self.from_ns || at_ns > self.to_ns || self.numbers.get(&(task, value)) == Some(&number) {
            return;
        }
        if self.changes.len() >= self.most_changes {
            self.changes_end_ns.get_or_insert(at_ns);
            return;
        }
        self.numbers.insert((task, value), number);
        self.changes.push(Change { task, value, at_ns, number });
    }

    /// The course ends where the first event has none.
    fn has_room(&mut self, at_ns: u64) -> bool {
        match self.room.checked_sub(1) {
            Some(room) => self.room = room,
            None => {
                self.is_cut = true;
                self.to_ns = self.to_ns.min(at_ns);
            }
        }
        !self.is_cut
    }

    /// The run ended here; changes are of these numbers.
    pub fn until(mut self, end_ns: u64, shown: Vec<Shown>) -> Course {
        self.shown = shown;
        self.to_ns = self.to_ns.min(end_ns).max(self.from_ns);
        for cpu in &mut self.cpus {
            cpu.retain(|stretch| stretch.from_ns < self.to_ns);
            if let Some(last) = cpu.last_mut() {
                last.to_ns = last.to_ns.min(self.to_ns);
            }
        }
        self.moments.retain(|moment| moment.at_ns <= self.to_ns);
        self.changes.retain(|change| change.at_ns <= self.to_ns);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(cpu: u32, task: TaskId, from_ns: u64, to_ns: u64) -> Seen {
        Seen::Served(Slice { cpu, row: 7, task, from_ns, to_ns })
    }

    fn course(window: Window, seen: &[Seen]) -> Course {
        let mut course = Course::new(2, 100, window);
        seen.iter().for_each(|seen| course.record(*seen));
        course.until(1000, Vec::new())
    }

    #[test]
    fn service_that_goes_on_is_one_stretch_unless_it_rested() {
        let rests = Seen::Rests { task: 1, at_ns: 300 };
        let woken = Seen::Woken { task: 1, row: 7, at_ns: 300, by: None };
        let seen = [slice(0, 1, 50, 150), slice(0, 1, 150, 300), rests, woken, slice(0, 1, 300, 400)];
        let kept = course(Window::WHOLE, &seen);
        let ends: Vec<_> = kept.cpus[0].iter().map(|s| (s.from_ns, s.to_ns)).collect();
        assert_eq!(ends, [(100, 300), (300, 400)]);
        assert_eq!((kept.to_ns, kept.is_cut), (1000, false));
    }

    #[test]
    fn a_number_that_is_used_again_is_another_task() {
        let seen = [slice(0, 1, 100, 200), Seen::Gone { task: 1, at_ns: 200 }, slice(0, 1, 200, 300)];
        let kept = course(Window::WHOLE, &seen);
        assert_eq!(kept.cpus[0].iter().map(|s| s.task).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(kept.rows, [7, 7]);
    }

    #[test]
    fn only_the_window_is_kept_and_what_there_is_room_for() {
        let seen =
            [slice(0, 1, 100, 200), slice(1, 2, 100, 260), slice(0, 2, 200, 270), slice(0, 1, 280, 300)];
        let kept = course(Window { from_ns: 50, to_ns: 150, most: 9, values: false }, &seen);
        let total: u64 = kept.cpus.iter().flatten().map(|s| s.to_ns - s.from_ns).sum();
        assert_eq!((kept.from_ns, kept.to_ns, total), (150, 250, 50 + 100 + 50));
        let kept = course(Window { most: 2, ..Window::WHOLE }, &seen);
        assert_eq!((kept.to_ns, kept.is_cut, kept.cpus[1][0].to_ns), (200, true, 200));
    }
}
