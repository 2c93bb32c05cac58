//! The schedule of a recording, from the intervals of its threads.

use std::sync::Arc;

use divvy_policy::CpuId;
use divvy_results::schedule::{Loss, NICE_0, Schedule, Slice, State, Task, Wake};

use crate::interval::{Activity, Queued, Wake as Cause};
use crate::recording::Recording;

impl Recording {
    /// Which thread ran on which CPU, and what woke it. The writers of all trace formats take it.
    pub fn schedule(&self) -> Schedule {
        let mut schedule = Schedule {
            to_ns: self.span_ns,
            cpus: vec![Vec::new(); self.cpus as usize],
            losses: self.losses.clone(),
            ..Schedule::default()
        };
        let mut wakers: Vec<(usize, Wake)> = Vec::new();
        for (index, thread) in self.threads.iter().enumerate() {
            let process = thread.process.filter(|&process| process > 0).unwrap_or(thread.tid);
            let task = index as u32;
            let name: Arc<str> = thread.name.as_str().into();
            schedule.tasks.push(Task {
                tid: thread.tid,
                process,
                name: name.clone(),
                process_name: name,
                prio: thread.prio.unwrap_or(NICE_0),
                row: index,
            });
            let ended = if thread.exited { State::Dead } else { State::Runnable };
            for (at, interval) in thread.intervals.iter().enumerate() {
                let (from_ns, to_ns) = (interval.start_ns, interval.end_ns);
                let wake = |at_ns, is_new| Wake { task, at_ns, by: None, is_new };
                match interval.activity {
                    Activity::Run { cpu } => {
                        let left = match thread.intervals.get(at + 1).map(|next| next.activity) {
                            Some(Activity::Blocked { state, .. }) => state,
                            Some(Activity::Unknown) => State::Unknown,
                            Some(_) => State::Runnable,
                            None => ended,
                        };
                        schedule.cpus[cpu.index()].push(Slice { task, from_ns, to_ns, left });
                    }
                    Activity::Blocked { wake: Cause::By(waker), .. } => {
                        wakers.push((waker as usize, wake(to_ns, false)));
                    }
                    Activity::Blocked { wake: Cause::Interrupt | Cause::Removed, .. } => {
                        schedule.wakes.push(wake(to_ns, false));
                    }
                    Activity::Wait { why: Queued::New } => schedule.wakes.push(wake(from_ns, true)),
                    _ => {}
                }
            }
        }
        for cpu in &mut schedule.cpus {
            cpu.sort_by_key(|run| (run.from_ns, run.to_ns));
        }
        for (waker, wake) in wakers {
            let by = self.threads.get(waker).and_then(|thread| {
                let at = thread.intervals.partition_point(|interval| interval.end_ns < wake.at_ns);
                thread.intervals[at..].iter().find_map(|interval| match interval.activity {
                    Activity::Run { cpu } if interval.start_ns <= wake.at_ns => Some(cpu),
                    _ => None,
                })
            });
            schedule.wakes.push(Wake { by, ..wake });
        }
        schedule.wakes.sort_by_key(|wake| wake.at_ns);
        // Where the recorder does not say when it lost them, the end is the one place that cuts nothing.
        let placed = self.losses.iter().fold(0, |sum: u64, loss| sum.saturating_add(loss.events));
        let elsewhere = self.quality.lost_events.saturating_sub(placed);
        if elsewhere > 0 && self.cpus > 0 {
            schedule.losses.push(Loss { cpu: CpuId::new(0), at_ns: self.span_ns, events: elsewhere });
        }
        schedule
    }
}
