//! A schedule on its way out: what the writers of all formats are given, be it from a recording or from a simulation.

use crate::event::{Comm, Context, Event, Kind, TaskRef};
use crate::interval::{Activity, Queued, Wake};
use crate::recording::Recording;
use crate::state::State;

/// Threads that have no number of a kernel's are numbered from here on, so that they are not taken for its first ones.
pub const FIRST_TID: i32 = 1000;

/// Who ran where, who was woken, and what else is known over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outgoing {
    /// All that ran or were woken.
    pub threads: Vec<OutThread>,
    /// A list a CPU, in order of time, without overlap.
    pub cpus: Vec<Vec<OutRun>>,
    /// In order of time.
    pub wakes: Vec<OutWake>,
    /// Numbers over time.
    pub counters: Vec<Counter>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutThread {
    /// Positive, and no other's.
    pub tid: i32,
    /// Number of its process.
    pub process: i32,
    /// Its name.
    pub name: String,
    /// Its process's name.
    pub process_name: String,
    /// Kernel priority: 120 is nice 0.
    pub prio: i16,
}

/// A thread on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutRun {
    /// Index into the threads.
    pub thread: usize,
    /// From, in ns.
    pub from_ns: u64,
    /// Until, in ns.
    pub to_ns: u64,
    /// In which state it leaves the CPU.
    pub left: State,
}

/// A thread becomes runnable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutWake {
    /// Index into the threads.
    pub thread: usize,
    /// When, in ns.
    pub at_ns: u64,
    /// The CPU whose thread did it; none if it was an interrupt.
    pub by: Option<u32>,
    /// For the first time.
    pub is_new: bool,
}

/// A number over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    /// What it is.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Time in ns, and value.
    pub points: Vec<(u64, i64)>,
}

/// In which order events of one time are written. Who is woken is woken before it runs; who goes from one CPU to another
/// has left before it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Wake,
    Leave,
    Enter,
}

impl Outgoing {
    /// Of a recording, from its intervals.
    pub fn of(recording: &Recording) -> Outgoing {
        let mut out = Outgoing { cpus: vec![Vec::new(); recording.cpus as usize], ..Outgoing::default() };
        let mut wakers: Vec<(usize, OutWake)> = Vec::new();
        for (index, thread) in recording.threads.iter().enumerate() {
            let process = thread.process.filter(|&process| process > 0).unwrap_or(thread.tid);
            out.threads.push(OutThread {
                tid: thread.tid,
                process,
                name: thread.name.clone(),
                process_name: thread.name.clone(),
                prio: thread.prio.unwrap_or(120),
            });
            let ended = if thread.exited { State::Dead } else { State::Runnable };
            for (at, interval) in thread.intervals.iter().enumerate() {
                let (from_ns, to_ns) = (interval.start_ns, interval.end_ns);
                let wake = |at_ns, is_new| OutWake { thread: index, at_ns, by: None, is_new };
                match interval.activity {
                    Activity::Run { cpu } => {
                        let left = match thread.intervals.get(at + 1).map(|next| next.activity) {
                            Some(Activity::Blocked { state, .. }) => state,
                            Some(_) => State::Runnable,
                            None => ended,
                        };
                        out.cpus[cpu as usize].push(OutRun { thread: index, from_ns, to_ns, left });
                    }
                    Activity::Blocked { wake: Wake::By(waker), .. } => {
                        wakers.push((waker as usize, wake(to_ns, false)));
                    }
                    Activity::Blocked { wake: Wake::Interrupt | Wake::Removed, .. } => {
                        out.wakes.push(wake(to_ns, false));
                    }
                    Activity::Wait { why: Queued::New } => out.wakes.push(wake(from_ns, true)),
                    _ => {}
                }
            }
        }
        for cpu in &mut out.cpus {
            cpu.sort_by_key(|run| (run.from_ns, run.to_ns));
        }
        for (waker, wake) in wakers {
            let by = recording.threads.get(waker).and_then(|thread| {
                let at = thread.intervals.partition_point(|interval| interval.end_ns < wake.at_ns);
                thread.intervals[at..].iter().find_map(|interval| match interval.activity {
                    Activity::Run { cpu } if interval.start_ns <= wake.at_ns => Some(cpu),
                    _ => None,
                })
            });
            out.wakes.push(OutWake { by, ..wake });
        }
        out.wakes.sort_by_key(|wake| wake.at_ns);
        out
    }

    /// As a kernel would have recorded them, in order of time.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events: Vec<(u64, Rank, Event)> = Vec::new();
        for (cpu, runs) in self.cpus.iter().enumerate() {
            let mut switch = |t_ns, rank, prev: Option<&OutRun>, next: Option<usize>| {
                let state = prev.map_or(State::Runnable, |run| run.left);
                let prev = self.task(prev.map(|run| run.thread), cpu);
                let context = self.context(prev.tid, false);
                let kind = Kind::Switch { prev, state, next: self.task(next, cpu) };
                events.push((t_ns, rank, Event { t_ns, cpu: cpu as u32, context, kind }));
            };
            let mut former: Option<&OutRun> = None;
            for run in runs {
                let meets = former.filter(|last| last.to_ns == run.from_ns && last.thread != run.thread);
                match (former, meets) {
                    // Both at once, unless it comes from another CPU just then.
                    (_, Some(last)) if !self.leaves(run.thread, run.from_ns) => {
                        switch(run.from_ns, Rank::Leave, Some(last), Some(run.thread));
                    }
                    (Some(last), _) => {
                        switch(last.to_ns, Rank::Leave, Some(last), None);
                        switch(run.from_ns, Rank::Enter, None, Some(run.thread));
                    }
                    (None, _) => switch(run.from_ns, Rank::Enter, None, Some(run.thread)),
                }
                former = Some(run);
            }
            if let Some(last) = former {
                switch(last.to_ns, Rank::Leave, Some(last), None);
            }
        }
        for wake in &self.wakes {
            let cpu = wake.by.unwrap_or(0);
            let context = self.context(self.current(cpu, wake.at_ns), wake.by.is_none());
            let task = self.task(Some(wake.thread), 0);
            let kind = if wake.is_new { Kind::WokenNew { task } } else { Kind::Waking { task } };
            events.push((wake.at_ns, Rank::Wake, Event { t_ns: wake.at_ns, cpu, context, kind }));
        }
        events.sort_by_key(|&(t_ns, rank, _)| (t_ns, rank));
        events.into_iter().map(|(_, _, event)| event).collect()
    }

    /// Whether a thread leaves a CPU at this time.
    fn leaves(&self, thread: usize, at_ns: u64) -> bool {
        self.cpus.iter().any(|runs| {
            let at = runs.partition_point(|run| run.to_ns < at_ns);
            runs[at..].iter().take_while(|run| run.to_ns == at_ns).any(|run| run.thread == thread)
        })
    }

    /// Who is on a CPU just before what happens at this time; 0 is idle.
    fn current(&self, cpu: u32, at_ns: u64) -> i32 {
        let Some(runs) = self.cpus.get(cpu as usize) else { return 0 };
        let at = runs.partition_point(|run| run.to_ns < at_ns);
        let run = runs.get(at).filter(|run| run.from_ns < at_ns);
        run.map_or(0, |run| self.threads[run.thread].tid)
    }

    fn context(&self, tid: i32, interrupt: bool) -> Context {
        Context { tid, process: -1, interrupt: Some(interrupt) }
    }

    fn task(&self, thread: Option<usize>, cpu: usize) -> TaskRef {
        match thread.map(|index| &self.threads[index]) {
            Some(t) => TaskRef { tid: t.tid, comm: comm(&t.name), prio: Some(t.prio) },
            None => TaskRef { tid: 0, comm: comm(&format!("swapper/{cpu}")), prio: Some(120) },
        }
    }
}

/// Cut where a character ends, so that it stays text.
fn comm(name: &str) -> Comm {
    let end = (0..=name.len().min(15)).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    Comm::new(&name.as_bytes()[..end])
}
