//! Makes a replay of a recording: each thread's own program, as far as the recording shows it.
//!
//! A program says how much CPU time a thread needs and what it waits for. It does not say when the recorded scheduler let it run.
//! Wakes and forks of other threads are steps of the waker's program, at the point of its CPU demand at which they happened.
//!
//! A replay cannot deadlock. Label each wait and each wake with the time at which the recorded sleep ended. In every program a wake
//! stands behind waits with smaller labels only, and the waits of a thread have ascending labels, one wake each. Suppose all are
//! stuck, and take the wake with the smallest label that has not happened: the wait in front of it has a smaller label, so its own
//! wake has happened, and all earlier waits of that thread have used up only earlier ones. So it is not stuck. The same holds for forks.
//! Where lost events break that order, [`progress`] gives the sleeps that would not end their recorded lengths.

use crate::classify::{Class, Sleep, WakeCounts, sleeps};
use crate::interval::{Activity, Wake};
use crate::measured::Measured;
use crate::program::{Cause, ReplayTask, Start, Step, Timing};
use crate::progress;
use crate::recording::{Recording, Thread};
use crate::repeat;
use crate::tick;
use std::collections::BTreeMap;

/// How sleeps end in a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WakePolicy {
    /// By their classes: dependencies are kept.
    #[default]
    Dependency,
    /// Each after its recorded duration.
    Fixed,
    /// Each at its recorded time. Threads start at their recorded times too.
    Open,
}

/// A workload made from a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// CPUs of the recording.
    pub cpus: u32,
    /// Length of the recording.
    pub span_ns: u64,
    /// The period of the recorded kernel's tick, at which slices end, if it was found.
    pub tick_ns: Option<u64>,
    /// The threads that ran, in the order in which they were first seen.
    pub tasks: Vec<ReplayTask>,
    /// The measured times of each task in the recording, in the order of `tasks`.
    pub measured: Vec<Measured>,
    /// Classes of the sleeps, before `WakePolicy` overrode them.
    pub wakes: WakeCounts,
}

impl Replay {
    /// The tasks that never end: how much CPU time they were given says nothing about how much they would use.
    pub fn endless(&self) -> impl Iterator<Item = &ReplayTask> {
        self.tasks.iter().filter(|task| task.is_endless())
    }
}

/// Makes a workload of a recording. Threads that never ran are left out.
pub fn replayable(recording: &Recording, policy: WakePolicy) -> Replay {
    let known = recording.quality.interrupts_known;
    let mut task_of = Vec::with_capacity(recording.threads.len());
    let mut ran = 0;
    for thread in &recording.threads {
        let runs = thread.intervals.iter().any(|i| matches!(i.activity, Activity::Run { .. }));
        task_of.push(runs.then_some(ran));
        ran += usize::from(runs);
    }
    let leaders = recording
        .threads
        .iter()
        .filter(|t| t.process == Some(t.tid))
        .map(|t| (t.tid, t.name.as_str()))
        .collect();
    let builder = Builder { recording, policy, task_of, leaders };
    let mut wakes = WakeCounts::default();
    let plans: Vec<ThreadPlan> =
        builder.threads().map(|thread| builder.plan(thread, sleeps(thread, known), &mut wakes)).collect();
    let mut acts = builder.acts(&plans);
    let mut tasks: Vec<ReplayTask> = builder
        .threads()
        .zip(&plans)
        .zip(&mut acts)
        .map(|((thread, plan), acts)| builder.task(thread, plan, acts))
        .collect();
    let slept: Vec<Vec<u64>> =
        builder.threads().zip(&plans).map(|(thread, plan)| plan.dependencies_ns(thread)).collect();
    progress::ensure(&mut tasks, &slept);
    if tasks.iter().any(ReplayTask::is_endless) {
        repeat::repeat(&mut tasks, builder.threads(), recording.span_ns);
    }
    Replay {
        cpus: recording.cpus,
        span_ns: recording.span_ns,
        tick_ns: tick::period_ns(recording),
        tasks,
        measured: builder.threads().map(|thread| Measured::of(&thread.intervals)).collect(),
        wakes,
    }
}

struct Builder<'a> {
    recording: &'a Recording,
    policy: WakePolicy,
    /// Index of each thread's task; `None` for threads that never ran.
    task_of: Vec<Option<usize>>,
    /// Names of the processes' first threads.
    leaders: BTreeMap<i32, &'a str>,
}

/// How a task starts, and its waits.
struct ThreadPlan {
    start: Start,
    start_ns: u64,
    /// The interval at which its program begins.
    first: usize,
    /// By the index of the interval.
    waits: Vec<(usize, Cause)>,
    /// Wakes that it waits for: time and the task that does it.
    needs: Vec<(u64, usize)>,
}

impl ThreadPlan {
    /// Lengths of the sleeps that a wake ends, in order.
    fn dependencies_ns(&self, thread: &Thread) -> Vec<u64> {
        let waits = self.waits.iter().filter(|(_, cause)| *cause == Cause::Dependency);
        waits.map(|&(index, _)| thread.intervals[index].len_ns()).collect()
    }
}

/// Something a task does to another, at a time of the recording.
struct Act {
    at_ns: u64,
    step: Step,
}

impl<'a> Builder<'a> {
    fn threads(&self) -> impl Iterator<Item = &'a Thread> {
        self.recording
            .threads
            .iter()
            .zip(&self.task_of)
            .filter(|(_, task)| task.is_some())
            .map(|(thread, _)| thread)
    }

    fn plan(&self, thread: &Thread, sleeps: Vec<Sleep>, counts: &mut WakeCounts) -> ThreadPlan {
        let parent = thread
            .parent
            .and_then(|p| self.task_of[p])
            .filter(|_| thread.born && self.policy != WakePolicy::Open);
        let (mut first, mut start_ns) = (0, thread.start_ns);
        if !thread.born {
            (first, start_ns) = first_known(thread);
        }
        let mut plan = ThreadPlan {
            start: parent.map_or(Start::At(start_ns), Start::ForkedBy),
            start_ns,
            first,
            waits: Vec::new(),
            needs: Vec::new(),
        };
        for Sleep { index, class, ns } in sleeps.into_iter().filter(|sleep| sleep.index >= first) {
            let interval = &thread.intervals[index];
            let waker = match interval.activity {
                Activity::Blocked { wake: Wake::By(by), .. } => self.task_of[by as usize],
                _ => None,
            };
            let class = if class == Class::Dependency && waker.is_none() { Class::Unknown } else { class };
            counts.count(class);
            let cause = self.cause(class, ns, interval.end_ns);
            if let (Cause::Dependency, Some(waker)) = (cause, waker) {
                plan.needs.push((interval.end_ns, waker));
            }
            plan.waits.push((index, cause));
        }
        plan
    }

    fn cause(&self, class: Class, ns: u64, at_ns: u64) -> Cause {
        match (self.policy, class) {
            (WakePolicy::Open, _) => Cause::External { at_ns },
            (_, Class::Device) => Cause::Device { ns },
            (_, Class::Timer) | (WakePolicy::Fixed, Class::Periodic) => Cause::Timer { ns },
            (WakePolicy::Fixed, _) | (_, Class::Unknown) => Cause::Unknown { ns },
            (WakePolicy::Dependency, Class::Dependency) => Cause::Dependency,
            (WakePolicy::Dependency, Class::Periodic) => Cause::Periodic { at_ns },
            (WakePolicy::Dependency, Class::External) => Cause::External { at_ns },
        }
    }

    /// The wakes and forks that each task does, in order of time.
    fn acts(&self, plans: &[ThreadPlan]) -> Vec<Vec<Act>> {
        let mut acts: Vec<Vec<Act>> = plans.iter().map(|_| Vec::new()).collect();
        for (task, plan) in plans.iter().enumerate() {
            if let Start::ForkedBy(parent) = plan.start {
                acts[parent].push(Act { at_ns: plan.start_ns, step: Step::Fork { task } });
            }
            for &(at_ns, waker) in &plan.needs {
                acts[waker].push(Act { at_ns, step: Step::Wake { task } });
            }
        }
        for acts in &mut acts {
            acts.sort_by_key(|act| act.at_ns); // stable
        }
        acts
    }

    fn task(&self, thread: &Thread, plan: &ThreadPlan, acts: &[Act]) -> ReplayTask {
        let mut program = Program { steps: Vec::new(), acts };
        let mut waits = plan.waits.iter().peekable();
        for (index, interval) in thread.intervals.iter().enumerate().skip(plan.first) {
            match interval.activity {
                Activity::Run { .. } => program.run(interval.start_ns, interval.end_ns),
                Activity::Wait { .. } => {}
                Activity::Unknown => program.wait(interval.end_ns, Cause::Unknown { ns: interval.len_ns() }),
                Activity::Blocked { .. } => {
                    if let Some((_, cause)) = waits.next_if(|(at, _)| *at == index) {
                        program.wait(interval.end_ns, *cause);
                    }
                }
            }
        }
        program.act_until(u64::MAX);
        if thread.exited {
            program.steps.push(Step::Exit);
        } else if self.is_endless(thread, plan, &program.steps) {
            program.steps.push(Step::Endless);
        }
        let nice = thread.prio.map_or(0, |prio| (i32::from(prio) - 120).clamp(-20, 19));
        ReplayTask {
            name: thread.name.clone(),
            tid: thread.tid,
            process: self.process(thread),
            start: plan.start,
            nice,
            steps: program.steps,
        }
    }

    /// It was runnable from its start to the recording's end, and that for most of the recording: of a thread that was seen for
    /// a moment, nobody knows.
    fn is_endless(&self, thread: &Thread, plan: &ThreadPlan, steps: &[Step]) -> bool {
        let never_waits = !steps.iter().any(|step| matches!(step, Step::Wait(_)));
        let last = thread.intervals.last().map(|interval| interval.activity);
        let is_runnable = matches!(last, Some(Activity::Run { .. } | Activity::Wait { .. }));
        never_waits && is_runnable && plan.start_ns <= self.recording.span_ns / 2
    }

    fn process(&self, thread: &Thread) -> String {
        let Some(process) = thread.process else {
            return format!("{}:{}", thread.name, thread.tid);
        };
        format!("{}:{process}", self.leaders.get(&process).unwrap_or(&thread.name.as_str()))
    }
}

/// Where the program of a thread begins that was there before the recording: the index of the interval, and the time.
fn first_known(thread: &Thread) -> (usize, u64) {
    match thread.intervals.first().map(|i| (i.activity, i.end_ns)) {
        // Unknown, or asleep and woken from outside: it starts when that is over.
        Some((Activity::Unknown, end_ns)) => (1, end_ns),
        Some((Activity::Blocked { wake: Wake::Interrupt | Wake::Missing | Wake::Removed, .. }, end_ns)) => {
            (1, end_ns)
        }
        _ => (0, thread.start_ns),
    }
}

struct Program<'a> {
    steps: Vec<Step>,
    /// Not yet placed.
    acts: &'a [Act],
}

impl Program<'_> {
    fn run(&mut self, start_ns: u64, end_ns: u64) {
        let mut done_ns = start_ns;
        while let Some((act, rest)) = self.acts.split_first().filter(|(act, _)| act.at_ns <= end_ns) {
            self.demand(act.at_ns.saturating_sub(done_ns));
            done_ns = done_ns.max(act.at_ns);
            self.steps.push(act.step);
            self.acts = rest;
        }
        self.demand(end_ns - done_ns);
    }

    /// Adds CPU demand to the run at the end, or begins one.
    fn demand(&mut self, more_ns: u64) {
        match self.steps.last_mut() {
            _ if more_ns == 0 => {}
            Some(Step::Run { ns }) => *ns += more_ns,
            _ => self.steps.push(Step::Run { ns: more_ns }),
        }
    }

    /// A wait that ended at `end_ns`. Acts up to then come first: see the proof above.
    fn wait(&mut self, end_ns: u64, cause: Cause) {
        self.act_until(end_ns);
        if cause.timing() != Timing::After(0) {
            self.steps.push(Step::Wait(cause));
        }
    }

    fn act_until(&mut self, end_ns: u64) {
        let count = self.acts.partition_point(|act| act.at_ns <= end_ns);
        self.steps.extend(self.acts[..count].iter().map(|act| act.step));
        self.acts = &self.acts[count..];
    }
}
