//! Makes a schedule from the observations of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use divvy_policy::{CpuId, Shown, TaskId};

use super::{Counter, FIRST_TID, Job, MOST_EVENTS, NICE_0, Schedule, Slice, State, Task, Wake};
use crate::observation::{JobDone, Observation, Service};
use crate::report::TaskResult;

/// The weight of nice 0.
const NICE_0_WEIGHT: f64 = 1024.0;
/// One step of nice changes the weight by about this factor.
const NICE_STEP: f64 = 1.25;

/// The part of a run to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start, in ns after the warm-up.
    pub from_ns: u64,
    /// End, in ns after the warm-up.
    pub to_ns: u64,
    /// Most slices, wake-ups and rests together. A schedule with more ends early and says when.
    pub most: usize,
    /// Whether to record the numbers that the policy keeps of each task; at most as many changes.
    pub values: bool,
    /// Whether to record jobs.
    pub jobs: bool,
}

impl Window {
    /// The whole run, as far as there is room for it, without jobs.
    pub const WHOLE: Window =
        Window { from_ns: 0, to_ns: u64::MAX, most: MOST_EVENTS, values: true, jobs: false };
}

/// A task that was seen.
struct Seen {
    /// Index into the run's tasks.
    row: usize,
    /// When it last rested: it then begins a new slice, even if that follows the last one at once.
    rested_ns: u64,
    /// When its job first ran.
    started_ns: Option<u64>,
    /// CPU and index of its last slice.
    last: Option<(CpuId, usize)>,
}

/// Records a schedule during a run.
pub struct Recorder {
    schedule: Schedule,
    /// In the order in which they were first seen.
    tasks: Vec<Seen>,
    /// The tasks alive, by the engine's number, which is used again.
    alive: BTreeMap<TaskId, u32>,
    room: usize,
    /// The changes of each number, by (index of the number, task).
    values: BTreeMap<(u32, u32), Vec<(u64, i64)>>,
    changes: usize,
    most_changes: usize,
    jobs: bool,
}

impl Recorder {
    /// Records a window of a run whose statistics begin at `counted_from_ns`.
    pub fn new(cpus: u32, counted_from_ns: u64, window: Window) -> Recorder {
        let schedule = Schedule {
            from_ns: counted_from_ns.saturating_add(window.from_ns),
            to_ns: counted_from_ns.saturating_add(window.to_ns),
            cpus: vec![Vec::new(); cpus as usize],
            ..Schedule::default()
        };
        Recorder {
            schedule,
            tasks: Vec::new(),
            alive: BTreeMap::new(),
            room: window.most,
            values: BTreeMap::new(),
            changes: 0,
            most_changes: if window.values { window.most } else { 0 },
            jobs: window.jobs,
        }
    }

    /// Takes the observations in order of time.
    pub fn record(&mut self, observation: Observation) {
        match observation {
            Observation::Served(service) => self.serve(service),
            Observation::Woken { task, row, at_ns, by } => self.wake(task, row, at_ns, by),
            Observation::Rests { task, at_ns } => {
                if let Some(&task) = self.alive.get(&task) {
                    self.tasks[task as usize].rested_ns = at_ns;
                    self.leave(task, at_ns, State::Sleep);
                }
            }
            Observation::Gone { task, at_ns } => {
                if let Some(task) = self.alive.remove(&task) {
                    self.leave(task, at_ns, State::Dead);
                }
            }
            Observation::Value { task, value, at_ns, number } => self.change(task, value, at_ns, number),
            Observation::JobDone(done) => self.end_job(done),
        }
    }

    /// The index of a task, and whether it was seen for the first time.
    fn task(&mut self, task: TaskId, row: usize) -> (u32, bool) {
        let next = self.tasks.len() as u32;
        let index = *self.alive.entry(task).or_insert(next);
        if index == next {
            self.tasks.push(Seen { row, rested_ns: u64::MAX, started_ns: None, last: None });
        }
        (index, index == next)
    }

    fn serve(&mut self, service: Service) {
        let (task, _) = self.task(service.task, service.row);
        self.tasks[task as usize].started_ns.get_or_insert(service.from_ns);
        let from_ns = service.from_ns.max(self.schedule.from_ns);
        let to_ns = service.to_ns.min(self.schedule.to_ns);
        if from_ns >= to_ns {
            return;
        }
        let rested_ns = self.tasks[task as usize].rested_ns;
        let continues =
            |last: &&mut Slice| last.task == task && last.to_ns == from_ns && rested_ns != from_ns;
        let cpu = service.cpu.index();
        if let Some(last) = self.schedule.cpus[cpu].last_mut().filter(continues) {
            last.to_ns = to_ns;
        } else if self.has_room(from_ns) {
            let slices = &mut self.schedule.cpus[cpu];
            slices.push(Slice { task, from_ns, to_ns, left: State::Runnable });
            self.tasks[task as usize].last = Some((service.cpu, slices.len() - 1));
        }
    }

    /// A task that is woken at the time at which it went to rest did not rest: it stays runnable, and this
    /// is not a wake-up.
    fn wake(&mut self, task: TaskId, row: usize, at_ns: u64, by: Option<CpuId>) {
        let (task, is_first) = self.task(task, row);
        if !self.is_kept(at_ns) {
            return;
        }
        if self.tasks[task as usize].rested_ns == at_ns {
            self.set_left(task, at_ns, State::Runnable);
        } else {
            let is_new = is_first && self.schedule.from_ns == 0;
            self.schedule.wakes.push(Wake { task, at_ns, by, is_new });
        }
    }

    fn end_job(&mut self, done: JobDone) {
        let JobDone { task, row, from_ns, to_ns, service_ns, wait_ns } = done;
        let (task, _) = self.task(task, row);
        let started_ns = self.tasks[task as usize].started_ns.take();
        if self.jobs && from_ns >= self.schedule.from_ns && self.is_kept(to_ns) {
            self.schedule.jobs.push(Job { task, from_ns, started_ns, to_ns, service_ns, wait_ns });
        }
    }

    fn leave(&mut self, task: u32, at_ns: u64, state: State) {
        if self.is_kept(at_ns) {
            self.set_left(task, at_ns, state);
        }
    }

    /// Sets the state in which a task left its CPU at this time, if it ran until then.
    fn set_left(&mut self, task: u32, at_ns: u64, state: State) {
        if let Some((cpu, index)) = self.tasks[task as usize].last {
            let slice = &mut self.schedule.cpus[cpu.index()][index];
            if slice.to_ns == at_ns {
                slice.left = state;
            }
        }
    }

    fn is_kept(&mut self, at_ns: u64) -> bool {
        at_ns >= self.schedule.from_ns && at_ns <= self.schedule.to_ns && self.has_room(at_ns)
    }

    /// Keeps a number if it changed. A window begins with the numbers that tasks have when they are next heard of.
    fn change(&mut self, task: TaskId, value: u32, at_ns: u64, number: i64) {
        let Some(&task) = self.alive.get(&task) else { return };
        if at_ns < self.schedule.from_ns || at_ns > self.schedule.to_ns {
            return;
        }
        let is_same = |points: &Vec<(u64, i64)>| points.last().is_some_and(|&(_, last)| last == number);
        if self.values.get(&(value, task)).is_some_and(is_same) {
            return;
        }
        if self.changes >= self.most_changes {
            self.schedule.counters_end_ns.get_or_insert(at_ns);
            return;
        }
        self.changes += 1;
        self.values.entry((value, task)).or_default().push((at_ns, number));
    }

    /// The schedule ends at the first event that has no room.
    fn has_room(&mut self, at_ns: u64) -> bool {
        match self.room.checked_sub(1) {
            Some(room) => self.room = room,
            None => {
                self.schedule.is_cut = true;
                self.schedule.to_ns = self.schedule.to_ns.min(at_ns);
            }
        }
        !self.schedule.is_cut
    }

    /// Ends with the run. `shown` describes the policy's numbers; `tasks` are the run's tasks.
    pub fn finish(mut self, end_ns: u64, shown: &[Shown], tasks: &[TaskResult]) -> Schedule {
        let to_ns = self.schedule.to_ns.min(end_ns).max(self.schedule.from_ns);
        self.schedule.to_ns = to_ns;
        for slices in &mut self.schedule.cpus {
            slices.retain(|slice| slice.from_ns < to_ns);
            if let Some(last) = slices.last_mut().filter(|last| last.to_ns > to_ns) {
                (last.to_ns, last.left) = (to_ns, State::Runnable);
            }
        }
        self.schedule.wakes.retain(|wake| wake.at_ns <= to_ns);
        self.schedule.jobs.retain(|job| job.to_ns <= to_ns);
        self.schedule.tasks = named(&self.tasks, tasks);
        let counters =
            std::mem::take(&mut self.values).into_iter().filter_map(|((value, task), mut points)| {
                points.retain(|&(at_ns, _)| at_ns <= to_ns);
                let shown = shown.get(value as usize).filter(|_| !points.is_empty())?;
                let Task { tid, ref name, .. } = self.schedule.tasks[task as usize];
                let (number, unit) = (shown.name, shown.unit);
                Some(Counter { number, task: name.clone(), tid: Some(tid), unit, points })
            });
        let counters = counters.collect();
        Schedule { counters, ..self.schedule }
    }
}

/// Names and numbers of the tasks. The first task of a process gives the process its number.
fn named(seen: &[Seen], rows: &[TaskResult]) -> Vec<Task> {
    let mut processes: BTreeMap<&str, (i32, Arc<str>)> = BTreeMap::new();
    let mut names: Vec<Option<Arc<str>>> = vec![None; rows.len()];
    let task = |(&Seen { row, .. }, tid): (&Seen, i32)| {
        let TaskResult { name, process, weight, .. } = &rows[row];
        let name = names[row].get_or_insert_with(|| name.as_str().into()).clone();
        let (process, process_name) =
            processes.entry(process).or_insert_with(|| (tid, process.as_str().into())).clone();
        Task { tid, process, name, process_name, prio: prio(*weight), row }
    };
    seen.iter().zip(FIRST_TID..).map(task).collect()
}

/// The priority of the nice value whose weight is nearest; nice 0 if none is near.
fn prio(weight: f64) -> i16 {
    let nice = (libm::log(NICE_0_WEIGHT / weight) / libm::log(NICE_STEP)).round();
    let is_near = (weight * libm::pow(NICE_STEP, nice) / NICE_0_WEIGHT - 1.0).abs() < 0.1;
    if (-20.0..=19.0).contains(&nice) && is_near { NICE_0 + nice as i16 } else { NICE_0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    const ONE: TaskId = TaskId::new(1);

    fn slice(cpu: u32, task: u32, from_ns: u64, to_ns: u64) -> Observation {
        let (cpu, task) = (CpuId::new(cpu), TaskId::new(task));
        Observation::Served(Service { cpu, row: 0, task, from_ns, to_ns })
    }

    fn recorded(window: Window, observations: &[Observation]) -> Schedule {
        let mut recorder = Recorder::new(2, 100, window);
        observations.iter().for_each(|observation| recorder.record(*observation));
        let report = samples::endless(&[("rr", 1)]);
        recorder.finish(1000, &[], &report.runs[0].tasks)
    }

    #[test]
    fn continued_service_is_one_slice_unless_the_task_rested() {
        let rests = Observation::Rests { task: ONE, at_ns: 300 };
        let woken = Observation::Woken { task: ONE, row: 0, at_ns: 300, by: None };
        let seen = [slice(0, 1, 50, 150), slice(0, 1, 150, 300), rests, woken, slice(0, 1, 300, 400)];
        let kept = recorded(Window::WHOLE, &seen);
        let ends: Vec<_> = kept.cpus[0].iter().map(|s| (s.from_ns, s.to_ns, s.left)).collect();
        assert_eq!(ends, [(100, 300, State::Runnable), (300, 400, State::Runnable)]);
        assert_eq!(kept.wakes, []);
        assert_eq!((kept.to_ns, kept.is_cut), (1000, false));
    }

    #[test]
    fn jobs_are_kept_if_they_are_asked_for_and_began_in_the_window() {
        let done = |from_ns, to_ns, service_ns| {
            let wait_ns = to_ns - from_ns - service_ns;
            Observation::JobDone(JobDone { task: ONE, row: 0, from_ns, to_ns, service_ns, wait_ns })
        };
        let seen = [
            slice(0, 1, 60, 90),
            done(50, 120, 30),
            slice(0, 1, 150, 200),
            slice(1, 1, 220, 240),
            done(130, 240, 70),
        ];
        let kept = recorded(Window { jobs: true, ..Window::WHOLE }, &seen);
        let job =
            Job { task: 0, from_ns: 130, started_ns: Some(150), to_ns: 240, service_ns: 70, wait_ns: 40 };
        assert_eq!(kept.jobs, [job]);
        assert_eq!(recorded(Window::WHOLE, &seen).jobs, []);
        assert_eq!(recorded(Window { jobs: true, to_ns: 130, ..Window::WHOLE }, &seen).jobs, []);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_task() {
        let seen =
            [slice(0, 1, 100, 200), Observation::Gone { task: ONE, at_ns: 200 }, slice(0, 1, 200, 300)];
        let kept = recorded(Window::WHOLE, &seen);
        assert_eq!(kept.cpus[0].iter().map(|s| s.task).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(kept.tasks.iter().map(|t| (t.tid, t.row)).collect::<Vec<_>>(), [(1000, 0), (1001, 0)]);
    }

    #[test]
    fn only_the_window_is_kept_and_what_there_is_room_for() {
        let seen =
            [slice(0, 1, 100, 200), slice(1, 2, 100, 260), slice(0, 2, 200, 270), slice(0, 1, 280, 300)];
        let kept = recorded(Window { from_ns: 50, to_ns: 150, most: 9, values: false, jobs: false }, &seen);
        let total: u64 = kept.cpus.iter().flatten().map(|s| s.to_ns - s.from_ns).sum();
        assert_eq!((kept.from_ns, kept.to_ns, total), (150, 250, 50 + 100 + 50));
        let kept = recorded(Window { most: 2, ..Window::WHOLE }, &seen);
        assert_eq!((kept.to_ns, kept.is_cut, kept.cpus[1][0].to_ns), (200, true, 200));
    }

    #[test]
    fn the_state_in_which_a_task_leaves_is_known_unless_the_slice_is_cut() {
        let seen = [
            slice(0, 1, 100, 200),
            Observation::Rests { task: ONE, at_ns: 200 },
            Observation::Woken { task: ONE, row: 0, at_ns: 250, by: Some(CpuId::new(1)) },
            slice(0, 1, 250, 300),
            Observation::Gone { task: ONE, at_ns: 300 },
        ];
        let left = |schedule: &Schedule| schedule.cpus[0].iter().map(|s| s.left).collect::<Vec<_>>();
        let kept = recorded(Window::WHOLE, &seen);
        assert_eq!(left(&kept), [State::Sleep, State::Dead]);
        assert_eq!(kept.wakes, [Wake { task: 0, at_ns: 250, by: Some(CpuId::new(1)), is_new: false }]);
        let kept = recorded(Window { to_ns: 180, ..Window::WHOLE }, &seen);
        assert_eq!((left(&kept), kept.cpus[0][1].to_ns), (vec![State::Sleep, State::Runnable], 280));
    }
}
