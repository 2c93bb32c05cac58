//! A schedule as the events that a kernel would have recorded.

use std::collections::BTreeMap;

use divvy_policy::CpuId;
use divvy_results::schedule::{NICE_0, Schedule, Slice, State};

use crate::event::{Comm, Context, Event, Kind, TaskRef};

/// The order of events that have the same time. A thread is woken before it runs, and leaves one CPU before it comes on
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Wake,
    Leave,
    Lose,
    Enter,
}

/// The events of a schedule, in order of time.
pub fn events(schedule: &Schedule) -> Vec<Event> {
    let processes = schedule.tasks.iter().map(|task| (task.tid, task.process)).collect();
    Events { schedule, processes }.all()
}

struct Events<'a> {
    schedule: &'a Schedule,
    /// The process of each thread.
    processes: BTreeMap<i32, i32>,
}

impl Events<'_> {
    fn all(&self) -> Vec<Event> {
        let mut events: Vec<(u64, Rank, Event)> = Vec::new();
        for (cpu, runs) in (0..).map(CpuId::new).zip(&self.schedule.cpus) {
            let mut switch = |t_ns, rank, prev: Option<&Slice>, next: Option<u32>| {
                let state = prev.map_or(State::Runnable, |run| run.left);
                let prev = self.task(prev.map(|run| run.task), cpu);
                let context = self.context(prev.tid, false);
                let kind = Kind::Switch { prev, state, next: self.task(next, cpu) };
                events.push((t_ns, rank, Event { t_ns, cpu, context, kind }));
            };
            let mut former: Option<&Slice> = None;
            for run in runs {
                let meets = former.filter(|last| last.to_ns == run.from_ns && last.task != run.task);
                match (former, meets) {
                    // One switch from the last thread to this one, unless this one leaves another CPU at the same time.
                    (_, Some(last)) if !self.leaves(run.task, run.from_ns) => {
                        switch(run.from_ns, Rank::Leave, Some(last), Some(run.task));
                    }
                    (Some(last), _) => {
                        switch(last.to_ns, Rank::Leave, Some(last), None);
                        switch(run.from_ns, Rank::Enter, None, Some(run.task));
                    }
                    (None, _) => switch(run.from_ns, Rank::Enter, None, Some(run.task)),
                }
                former = Some(run);
            }
            if let Some(last) = former {
                switch(last.to_ns, Rank::Leave, Some(last), None);
            }
        }
        for wake in &self.schedule.wakes {
            let cpu = wake.by.unwrap_or_else(|| self.interrupted(wake.at_ns));
            let context = self.context(self.current(cpu, wake.at_ns), wake.by.is_none());
            let task = self.task(Some(wake.task), cpu);
            let kind = if wake.is_new { Kind::WokenNew { task } } else { Kind::Waking { task } };
            events.push((wake.at_ns, Rank::Wake, Event { t_ns: wake.at_ns, cpu, context, kind }));
        }
        for loss in &self.schedule.losses {
            let kind = Kind::Lost { events: loss.events };
            let (t_ns, cpu, context) = (loss.at_ns, loss.cpu, Context::UNKNOWN);
            events.push((t_ns, Rank::Lose, Event { t_ns, cpu, context, kind }));
        }
        events.sort_by_key(|&(t_ns, rank, _)| (t_ns, rank));
        events.into_iter().map(|(_, _, event)| event).collect()
    }

    /// Whether a thread leaves a CPU at this time.
    fn leaves(&self, task: u32, at_ns: u64) -> bool {
        self.schedule.cpus.iter().any(|runs| {
            let at = runs.partition_point(|run| run.to_ns < at_ns);
            runs[at..].iter().take_while(|run| run.to_ns == at_ns).any(|run| run.task == task)
        })
    }

    /// The thread id on a CPU just before this time; 0 is idle.
    fn current(&self, cpu: CpuId, at_ns: u64) -> i32 {
        let Some(runs) = self.schedule.cpus.get(cpu.index()) else { return 0 };
        let at = runs.partition_point(|run| run.to_ns < at_ns);
        let run = runs.get(at).filter(|run| run.from_ns < at_ns);
        run.map_or(0, |run| self.schedule.tasks[run.task as usize].tid)
    }

    /// The CPU of an interrupt that the schedule does not place: the first that was idle, for there it disturbs nobody.
    fn interrupted(&self, at_ns: u64) -> CpuId {
        let mut cpus = (0..self.schedule.cpus.len()).map(CpuId::at);
        cpus.find(|&cpu| self.current(cpu, at_ns) == 0).unwrap_or(CpuId::new(0))
    }

    fn context(&self, tid: i32, interrupt: bool) -> Context {
        let process = self.processes.get(&tid).copied().unwrap_or(-1);
        Context { tid, process, interrupt: Some(interrupt) }
    }

    fn task(&self, task: Option<u32>, cpu: CpuId) -> TaskRef {
        match task.map(|index| &self.schedule.tasks[index as usize]) {
            Some(t) => TaskRef { tid: t.tid, comm: comm(&t.name), prio: Some(t.prio) },
            None => TaskRef { tid: 0, comm: comm(&format!("swapper/{cpu}")), prio: Some(NICE_0) },
        }
    }
}

/// The kernel's short name. It is cut at the end of a character, so that it stays UTF-8.
fn comm(name: &str) -> Comm {
    let end = (0..=name.len().min(15)).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    Comm::new(&name.as_bytes()[..end])
}
