//! A recording: what each thread did, reconstructed from the events of a trace.

use crate::engine::{Engine, Keep, Life};
use crate::error::{ErrorKind, TraceError};
use crate::interval::{Activity, Interval, Wake};
use crate::quality::Quality;
use divvy_results::schedule::Loss;
use std::collections::BTreeMap;

/// A recording, thread by thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Number of CPUs: the highest that was seen, and one.
    pub cpus: u32,
    /// The trace's own clock at the first event.
    pub origin_ns: u64,
    /// From the first event to the last, nanoseconds.
    pub span_ns: u64,
    /// In the order in which they were first seen.
    pub threads: Vec<Thread>,
    /// How complete it is.
    pub quality: Quality,
    /// The paths of cgroups, by their numbers.
    pub cgroups: BTreeMap<u64, String>,
    /// Where events were lost, in the order of the file.
    pub losses: Vec<Loss>,
    /// CPU time of the threads that [`Recording::keep`] removed.
    pub removed_run_ns: u64,
}

/// One thread of a recording: a number and its generation, for numbers are used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its last name, printable.
    pub name: String,
    /// The name under which it was first seen: before exec, its parent's.
    pub first_name: String,
    /// Thread id.
    pub tid: i32,
    /// Process id, when the trace says it.
    pub process: Option<i32>,
    /// Number of its last cgroup, when the trace says it.
    pub cgroup: Option<u64>,
    /// Index of the thread that made it, if that was seen.
    pub parent: Option<usize>,
    /// Kernel priority as last seen: 100..=139 is nice -20..=19, lower is real-time.
    pub prio: Option<i16>,
    /// When it became runnable for the first time; 0 if it was there before.
    pub start_ns: u64,
    /// It was made within the recording.
    pub born: bool,
    /// It ended within the recording.
    pub exited: bool,
    /// CPU time, in ns.
    pub run_ns: u64,
    /// Number of times it came on another CPU than it was last on.
    pub migrations: u64,
    /// Its intervals in order, without gaps. Empty if [`crate::ReadOptions::intervals`] is off.
    pub intervals: Vec<Interval>,
}

/// Which threads to keep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Threads with one of these names, first or last.
    pub names: Vec<String>,
    /// Threads with one of these numbers.
    pub tids: Vec<i32>,
    /// Threads of one of these processes.
    pub processes: Vec<i32>,
    /// And everything that they fork, at any depth.
    pub descendants: bool,
}

impl Recording {
    /// Keeps chosen threads. Sleeps that a removed thread ended count as ended by [`Wake::Removed`].
    pub fn keep(mut self, filter: &Filter) -> Recording {
        let mut new_index: Vec<Option<usize>> = Vec::with_capacity(self.threads.len());
        let mut kept = 0;
        for (index, thread) in self.threads.iter().enumerate() {
            // A parent is seen before its child, or not at all.
            let by_parent = thread.parent.is_some_and(|p| p < index && new_index[p].is_some());
            let keep = filter.selects(thread) || (filter.descendants && by_parent);
            new_index.push(keep.then_some(kept));
            kept += usize::from(keep);
        }
        let mut index = 0..;
        self.threads.retain(|thread| {
            let keep = index.next().is_some_and(|i: usize| new_index[i].is_some());
            self.removed_run_ns += if keep { 0 } else { thread.run_ns };
            keep
        });
        for thread in &mut self.threads {
            thread.parent = thread.parent.and_then(|p| new_index[p]);
            for interval in &mut thread.intervals {
                if let Activity::Blocked { wake: wake @ Wake::By(_), .. } = &mut interval.activity {
                    let Wake::By(by) = *wake else { continue };
                    *wake = new_index[by as usize].map_or(Wake::Removed, |by| Wake::By(by as u32));
                }
            }
        }
        self
    }
}

impl Filter {
    fn selects(&self, thread: &Thread) -> bool {
        self.names.iter().any(|n| *n == thread.name || *n == thread.first_name)
            || self.tids.contains(&thread.tid)
            || thread.process.is_some_and(|p| self.processes.contains(&p))
    }
}

/// Keeps intervals by thread, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    by_thread: Vec<Vec<Interval>>,
    /// How many more.
    room: usize,
    /// Keep none, only the engine's totals.
    none: bool,
}

impl Intervals {
    pub fn new(most: usize, keep: bool) -> Self {
        Intervals { by_thread: Vec::new(), room: most, none: !keep }
    }
}

impl Keep for Intervals {
    fn keep(&mut self, thread: usize, interval: Interval) -> Result<(), TraceError> {
        if self.none {
            return Ok(());
        }
        self.room = self.room.checked_sub(1).ok_or_else(|| {
            TraceError::new(ErrorKind::TooLarge, "more intervals than the limit allows")
                .advise("record a shorter time, or raise the limit on intervals (40 bytes each)")
        })?;
        if self.by_thread.len() <= thread {
            self.by_thread.resize_with(thread + 1, Vec::new);
        }
        self.by_thread[thread].push(interval);
        Ok(())
    }
}

impl From<Engine<Intervals>> for Recording {
    fn from(engine: Engine<Intervals>) -> Self {
        let (cpus, quality, losses) = (engine.cpu_count(), engine.quality, engine.losses);
        let intervals = engine.keep.by_thread.into_iter().chain(std::iter::repeat_with(Vec::new));
        let threads =
            engine.threads.into_iter().zip(intervals).map(|(life, intervals)| Thread::new(life, intervals));
        let (span_ns, threads) = (quality.span_ns, threads.collect());
        let origin_ns = engine.origin_ns.unwrap_or(0);
        let cgroups = BTreeMap::new();
        Recording { cpus, origin_ns, span_ns, threads, quality, cgroups, losses, removed_run_ns: 0 }
    }
}

impl Thread {
    fn new(life: Life, intervals: Vec<Interval>) -> Thread {
        Thread {
            name: life.comm.printable(),
            first_name: life.first_comm.printable(),
            tid: life.tid,
            process: life.process,
            cgroup: life.cgroup,
            parent: life.parent,
            prio: life.prio,
            start_ns: life.start_ns,
            born: life.born,
            exited: life.exiting || life.phase == crate::engine::Phase::Dead,
            run_ns: life.run_ns,
            migrations: life.migrations,
            intervals,
        }
    }
}
