//! The schedule of a log: which task ran on which CPU. The trace writers take it.

use std::collections::HashMap;
use std::path::Path;

use divvy_policy::{CpuId, Event, TaskId};
use divvy_results::schedule::{FIRST_TID, MOST_EVENTS, NICE_0, Schedule, Slice, State, Task, Wake};

use super::error::LogError;
use super::told::Told;
use super::verify::{Report, verify};

/// The schedule of a log.
#[derive(Debug)]
pub struct Scheduled {
    /// The schedule. A log has the numbers of tasks but not their names. Times are the kernel's.
    pub schedule: Schedule,
    /// How far the log was read, and why not farther.
    pub report: Report,
}

/// Reads a log as [`verify`] does, as far as its events are known for certain: to the first that is missing, or that was
/// answered otherwise than natively.
///
/// # Errors
/// Those of [`verify`].
pub fn schedule(file: &Path) -> Result<Scheduled, LogError> {
    let mut recorder = Recorder::new(MOST_EVENTS);
    let report = verify(file, &mut |told| {
        recorder.record(told);
        Ok(())
    })?;
    if !report.header.shards.is_empty() {
        let what = "a log of several shards, which is not drawn: it does not say where visiting tasks ran"
            .to_owned();
        return Err(LogError::Foreign { file: file.to_owned(), what });
    }
    let schedule = recorder.end(report.header.cpus, report.first_ns, report.last_ns);
    Ok(Scheduled { schedule, report })
}

/// A task in the log, until its id is another's.
struct Logged {
    /// Index into the schedule's tasks.
    index: u32,
    /// The CPU that it was last dispatched to.
    cpu: Option<CpuId>,
    /// CPU and index of its last slice, if nothing happened to it since.
    left: Option<(CpuId, usize)>,
}

struct Recorder {
    schedule: Schedule,
    tasks: HashMap<TaskId, Logged>,
    /// The task that runs on each CPU, and since when.
    running: Vec<Option<(TaskId, u64)>>,
    room: usize,
    /// When the room was used up.
    cut_ns: Option<u64>,
}

impl Recorder {
    fn new(room: usize) -> Recorder {
        Recorder {
            schedule: Schedule::default(),
            tasks: HashMap::new(),
            running: Vec::new(),
            room,
            cut_ns: None,
        }
    }

    fn record(&mut self, told: &Told) {
        if self.cut_ns.is_some() {
            return;
        }
        match told.event {
            Event::New { task, process, .. } => self.new_task(task, process),
            Event::Exit { task, .. } => drop(self.tasks.remove(&task)),
            Event::Runnable { task, is_new } => self.wake(task, is_new, told.now_ns),
            Event::Dispatch { cpu } => {
                if let Some(task) = told.answer.task.and_then(|task| self.tasks.get_mut(&task)) {
                    task.cpu = Some(cpu);
                }
            }
            Event::Running { task } => self.begin(task, told.now_ns),
            Event::Stopping { task, .. } => self.stop(task, told.now_ns),
            Event::Quiescent { task, exits } => self.rest(task, exits),
            _ => {}
        }
    }

    fn new_task(&mut self, task: TaskId, process: TaskId) {
        let row = self.schedule.tasks.len();
        // Each event is a record, and a file has fewer than 2^31 records.
        let (index, tid) = (row as u32, FIRST_TID + row as i32);
        let leader = self.tasks.get(&process).map(|leader| &self.schedule.tasks[leader.index as usize]);
        let of_process = leader.map_or(tid, |leader| leader.process);
        self.schedule.tasks.push(Task {
            tid,
            process: if process == task { tid } else { of_process },
            name: format!("task {task}").into(),
            process_name: format!("process {process}").into(),
            prio: NICE_0,
            row,
        });
        self.tasks.insert(task, Logged { index, cpu: None, left: None });
    }

    fn has_room(&mut self, now_ns: u64) -> bool {
        match self.room.checked_sub(1) {
            Some(room) => self.room = room,
            None => self.cut_ns = Some(now_ns),
        }
        self.cut_ns.is_none()
    }

    fn wake(&mut self, task: TaskId, is_new: bool, at_ns: u64) {
        let Some(task) = self.tasks.get_mut(&task) else { return };
        (task.left, task.cpu) = (None, None);
        let wake = Wake { task: task.index, at_ns, by: None, is_new };
        if self.has_room(at_ns) {
            self.schedule.wakes.push(wake);
        }
    }

    /// A task comes on a CPU. If another one still runs there, it ends first.
    fn begin(&mut self, task: TaskId, now_ns: u64) {
        let Some(cpu) = self.tasks.get(&task).and_then(|task| task.cpu) else { return };
        let cpus = self.running.len().max(cpu.index() + 1);
        self.running.resize(cpus, None);
        if let Some((before, _)) = self.running[cpu.index()] {
            self.stop(before, now_ns);
        }
        self.running[cpu.index()] = Some((task, now_ns));
    }

    fn stop(&mut self, task: TaskId, now_ns: u64) {
        let Some(&Logged { index, cpu: Some(cpu), .. }) = self.tasks.get(&task) else { return };
        let Some(running) = self.running.get_mut(cpu.index()) else { return };
        let Some((_, from_ns)) = running.take_if(|(who, _)| *who == task) else { return };
        if from_ns == now_ns || !self.has_room(now_ns) {
            return;
        }
        let cpus = self.schedule.cpus.len().max(cpu.index() + 1);
        self.schedule.cpus.resize_with(cpus, Vec::new);
        let runs = &mut self.schedule.cpus[cpu.index()];
        runs.push(Slice { task: index, from_ns, to_ns: now_ns, left: State::Runnable });
        let at = (cpu, runs.len() - 1);
        self.tasks.entry(task).and_modify(|task| task.left = Some(at));
    }

    /// The task did not only leave its CPU: it sleeps or ends.
    fn rest(&mut self, task: TaskId, exits: bool) {
        if let Some((cpu, at)) = self.tasks.get_mut(&task).and_then(|task| task.left.take()) {
            self.schedule.cpus[cpu.index()][at].left = if exits { State::Dead } else { State::Sleep };
        }
    }

    /// Ends the slices of the tasks that still run.
    fn end(mut self, cpus: u32, first_ns: u64, last_ns: u64) -> Schedule {
        let end_ns = self.cut_ns.unwrap_or(last_ns);
        let is_cut = self.cut_ns.take().is_some();
        // These always have room.
        self.room = self.running.len();
        for cpu in 0..self.running.len() {
            if let Some((task, _)) = self.running[cpu] {
                self.stop(task, end_ns);
            }
        }
        self.schedule.cpus.resize_with(cpus as usize, Vec::new);
        Schedule { from_ns: first_ns, to_ns: end_ns, is_cut, ..self.schedule }
    }
}

#[cfg(test)]
mod tests {
    use divvy_policy::Answer;

    use super::*;
    use divvy_policy::Weight;

    fn recorded(room: usize, events: &[(u64, Event, Option<TaskId>)]) -> Schedule {
        let mut recorder = Recorder::new(room);
        for (now_ns, event, chosen) in events.iter().cloned() {
            let answer = Answer { task: chosen, ..Answer::default() };
            recorder.record(&Told { number: 0, record: 0, offset: 0, now_ns, shard: None, event, answer });
        }
        recorder.end(2, 0, events.last().map_or(0, |event| event.0))
    }

    /// Two threads of a process on a CPU. The first continues on another CPU; the second ends, and its id is used again.
    fn events() -> Vec<(u64, Event, Option<TaskId>)> {
        let [one, two] = [1, 2].map(TaskId::new);
        let [first, second] = [0, 1].map(CpuId::new);
        let new = |task, process| Event::New { task, process, weight: Weight::MIN };
        let stopping = |task, ran_ns| Event::Stopping { task, ran_ns };
        vec![
            (0, new(one, one), None),
            (0, new(two, one), None),
            (1, Event::Runnable { task: one, is_new: true }, None),
            (2, Event::Dispatch { cpu: first }, Some(one)),
            (3, Event::Running { task: one }, None),
            (5, Event::Runnable { task: two, is_new: true }, None),
            (9, Event::Dispatch { cpu: first }, Some(two)),
            (9, stopping(one, 6), None),
            (9, Event::Enqueue { task: one }, None),
            (10, Event::Running { task: two }, None),
            (12, stopping(two, 2), None),
            (12, Event::Quiescent { task: two, exits: false }, None),
            (13, Event::Dispatch { cpu: second }, Some(one)),
            (14, Event::Running { task: one }, None),
            (15, Event::Runnable { task: two, is_new: false }, None),
            (15, Event::Dispatch { cpu: first }, Some(two)),
            (16, Event::Running { task: two }, None),
            (18, stopping(two, 2), None),
            (18, Event::Quiescent { task: two, exits: true }, None),
            (18, Event::Exit { task: two, moves: false }, None),
            (19, new(two, two), None),
            (20, Event::Runnable { task: two, is_new: true }, None),
        ]
    }

    #[test]
    fn who_ran_where_and_how_it_left() {
        let schedule = recorded(100, &events());
        let runs = |cpu: usize| -> Vec<_> {
            schedule.cpus[cpu].iter().map(|run| (run.task, run.from_ns, run.to_ns, run.left)).collect()
        };
        let expected = [(0, 3, 9, State::Runnable), (1, 10, 12, State::Sleep), (1, 16, 18, State::Dead)];
        assert_eq!(runs(0), expected);
        assert_eq!(runs(1), [(0, 14, 20, State::Runnable)]);
        let wakes: Vec<_> = schedule.wakes.iter().map(|wake| (wake.task, wake.at_ns, wake.is_new)).collect();
        assert_eq!(wakes, [(0, 1, true), (1, 5, true), (1, 15, false), (2, 20, true)]);
        let of: Vec<_> = schedule.tasks.iter().map(|t| (t.tid, t.process, &*t.name)).collect();
        assert_eq!(of, [(1000, 1000, "task 1"), (1001, 1000, "task 2"), (1002, 1002, "task 2")]);
        assert!(!schedule.is_cut);
    }

    #[test]
    fn what_finds_no_room_ends_it() {
        let schedule = recorded(4, &events());
        assert!(schedule.is_cut);
        assert_eq!(schedule.cpus.iter().flatten().count() + schedule.wakes.len(), 5);
        assert_eq!(schedule.cpus[1], [Slice { task: 0, from_ns: 14, to_ns: 15, left: State::Runnable }]);
    }
}
