//! Looks at all threads, and says how much CPU time each wants.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Instant;

use crate::stock::Used;
use crate::stock::threads::{Thread, Threads};

/// A thread that wants less than this part of the time is not in anybody's way, and is not touched.
const LITTLE: f64 = 0.05;
/// One that wants more than this counts as one that always wants a CPU, so that nothing changes from one interval to the next.
const ALWAYS: f64 = 0.9;

/// Compares samples.
#[derive(Debug)]
pub struct Surveyor {
    threads: Threads,
    before: BTreeMap<u32, Thread>,
    last: Option<Instant>,
}

/// All threads, and the part of the last interval in which each of them wanted a CPU.
#[derive(Debug, Default)]
pub struct Survey {
    pub threads: BTreeMap<u32, Thread>,
    demands: BTreeMap<u32, f64>,
}

impl Survey {
    /// From 0 to 1.
    pub fn demand(&self, tid: u32) -> f64 {
        self.demands.get(&tid).copied().unwrap_or(0.0)
    }
}

/// Kernel threads, real-time and idle threads and divvy itself are never touched.
pub fn may_touch(thread: &Thread) -> bool {
    !thread.is_kernel && thread.has_nice() && thread.tgid != std::process::id()
}

impl Surveyor {
    pub fn new(proc: &Path) -> Self {
        Self { threads: Threads::new(proc), before: BTreeMap::new(), last: None }
    }

    /// The threads now, and their demands since the last look. In the first look all that are runnable want a CPU.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn look(&mut self) -> io::Result<Survey> {
        let threads = self.threads.read()?;
        let now = Instant::now();
        let duration_ns = self.last.map_or(0, |last| (now - last).as_nanos() as u64);
        let demand = |thread: &Thread| {
            if duration_ns == 0 {
                return f64::from(u8::from(thread.is_runnable));
            }
            let before = self.before.get(&thread.tid);
            let used = Used::since(before, thread);
            // A wait that goes on is not counted yet.
            let waits = thread.is_runnable && before.is_some_and(|before| before.is_runnable);
            match used.demand_ns(thread, duration_ns) as f64 / duration_ns as f64 {
                part if part < LITTLE => 0.0,
                part if part > ALWAYS || (waits && part > 0.5) => 1.0,
                part => part,
            }
        };
        let demands = threads.values().map(|thread| (thread.tid, demand(thread))).collect();
        self.last = Some(now);
        self.before.clone_from(&threads);
        Ok(Survey { threads, demands })
    }
}
