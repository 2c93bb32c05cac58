//! Lets threads go on to the end of a replay that lasts as long as the recording.
//!
//! Such a replay has threads that never end. Under a policy that serves a sleeper earlier than the recorded one did, the sleeper
//! would come to the end of its recorded program too early, and leave its CPU to the others for the rest. So a thread that was
//! there from the start of the recording to its end begins its program again.
//!
//! That is possible if nothing in the program belongs to one moment of the recording: no time of the outside world, no fork. Threads
//! that wake each other begin again together or not at all, and only if each wait has its wake: then the proof of [`crate::replay`]
//! holds for the repeated programs as well, with labels that grow by the recording's length in each round.

use crate::interval::{Activity, Interval, Wake};
use crate::program::{Cause, ReplayTask, Start, Step, Timing};
use crate::recording::Thread;

/// A thread that was born in the first part of the recording, of so many parts, was there all the time.
const BEGIN: u64 = 100;

/// Appends [`Step::Repeat`] where it is possible. `threads` are those of `tasks`.
pub(crate) fn repeat<'a>(
    tasks: &mut [ReplayTask],
    threads: impl Iterator<Item = &'a Thread>,
    recording_ns: u64,
) {
    let gaps: Vec<Option<u64>> = threads.map(|thread| gap_ns(thread, recording_ns)).collect();
    let mut together = Together::new(tasks.len());
    for (waker, task) in tasks.iter().enumerate() {
        for step in &task.steps {
            if let Step::Wake { task } = step {
                together.join(waker, *task);
            }
        }
    }
    let unused = unused_wakes(tasks);
    let mut may = vec![true; tasks.len()];
    for (index, task) in tasks.iter().enumerate() {
        may[together.of(index)] &= gaps[index].is_some() && may_repeat(task) && unused[index] == 0;
    }
    for (index, gap) in gaps.into_iter().enumerate() {
        let Some(gap_ns) = gap.filter(|_| may[together.of(index)]) else { continue };
        let steps = &mut tasks[index].steps;
        if gap_ns > 0 {
            steps.push(Step::Wait(Cause::Unknown { ns: gap_ns }));
        }
        steps.push(Step::Repeat);
    }
}

/// The sleep that the recording cut in two, at its end and at its start; `None` for a thread that was not there all the time.
fn gap_ns(thread: &Thread, recording_ns: u64) -> Option<u64> {
    let (first, last) = (thread.intervals.first()?, thread.intervals.last()?);
    let is_there = (!thread.born || thread.start_ns <= recording_ns / BEGIN) && !thread.exited;
    let rests = |activity| matches!(activity, Activity::Blocked { .. } | Activity::Unknown);
    // A sleep that another thread ends is a step of the program already.
    let by_another = |activity| matches!(activity, Activity::Blocked { wake: Wake::By(_), .. });
    let head_ns =
        if by_another(first.activity) || !rests(first.activity) { thread.start_ns } else { first.end_ns };
    let waits = thread.intervals.iter().filter(|interval| rests(interval.activity));
    let ended: Vec<&Interval> = waits.filter(|interval| !interval.censored).collect();
    let is_woken = !ended.is_empty() && ended.iter().all(|interval| by_another(interval.activity));
    let longest_ns = ended.iter().map(|interval| interval.len_ns()).max().unwrap_or(0);
    let tail_ns = if rests(last.activity) { recording_ns.saturating_sub(last.start_ns) } else { 0 };
    // Its next wake-up is in the next round. After a sleep that is longer than all others it would have come long ago: two threads that
    // woke each other for a moment would go on to the end.
    let is_due = is_woken && tail_ns <= longest_ns;
    is_there.then_some(head_ns.saturating_add(if is_due { 0 } else { tail_ns }))
}

fn may_repeat(task: &ReplayTask) -> bool {
    let belongs_to_a_moment = |step: &Step| match step {
        Step::Wait(cause) => matches!(cause.timing(), Timing::At(_)),
        Step::Fork { .. } | Step::Exit | Step::Endless => true,
        _ => false,
    };
    let rests = |step: &Step| matches!(step, Step::Wait(_));
    let runs = |step: &Step| matches!(step, Step::Run { .. });
    matches!(task.start, Start::At(_))
        && task.steps.iter().any(rests)
        && task.steps.iter().any(runs)
        && !task.steps.iter().any(belongs_to_a_moment)
}

/// Wakes for each task, less its waits for them
fn unused_wakes(tasks: &[ReplayTask]) -> Vec<i64> {
    let mut unused = vec![0; tasks.len()];
    for (index, task) in tasks.iter().enumerate() {
        for step in &task.steps {
            match *step {
                Step::Wake { task } => unused[task] += 1,
                Step::Wait(Cause::Dependency) => unused[index] -= 1,
                _ => {}
            }
        }
    }
    unused
}

/// Disjoint sets of tasks.
struct Together {
    parent: Vec<usize>,
}

impl Together {
    fn new(count: usize) -> Self {
        Together { parent: (0..count).collect() }
    }

    fn of(&mut self, mut index: usize) -> usize {
        while self.parent[index] != index {
            self.parent[index] = self.parent[self.parent[index]];
            index = self.parent[index];
        }
        index
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        self.parent[a] = b;
    }
}
