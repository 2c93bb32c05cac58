//! The kernel's own scheduler, as `/proc` shows it: what each thread received and waited for, and what it was entitled to by nice values
//! and `cpu.weight`. It needs no policy, no BPF and no root.
//!
//! A thread's demand in an interval is the time in which it ran or waited, by its `schedstat`. The CPU time that the threads of the fair
//! class received together is divided among them by weight, and none gets more than it demanded: the fluid model of the reports, in which
//! demand is spread evenly over the interval. Affinity is not known to it.
//!
//! Not seen: a thread that begins and ends between two samples, and a wait before it ends (`schedstat` counts it when the thread runs).

pub(crate) mod entitled;
pub(crate) mod threads;
mod waits;
mod watch;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use divvy_policy::{Failure, FailureKind};

use crate::load::{Missing, Period, TaskRow};
use entitled::{Claim, divide};
use threads::{Thread, Threads};
pub use waits::{Waits, Watched};
pub use watch::watch;

/// Why threads cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The kernel does not count what they use, or shows none of them.
    #[error(transparent)]
    Missing(Missing),
    /// The system failed.
    #[error("cannot read what threads use: {0}")]
    Io(io::Error),
    /// The system cannot wait for the next look.
    #[error("cannot wait: {0}")]
    Wait(io::Error),
}

impl Failure for SampleError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Missing(missing) => missing.kind(),
            Self::Io(_) | Self::Wait(_) => FailureKind::Failed,
        }
    }
}

impl From<io::Error> for SampleError {
    fn from(error: io::Error) -> Self {
        if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::NotFound) {
            return Self::Missing(Missing::new(
                error.to_string(),
                "a kernel with CONFIG_SCHED_INFO, and a /proc with this user's processes, show them",
            ));
        }
        Self::Io(error)
    }
}

/// Makes intervals of samples of all threads.
#[derive(Debug)]
pub struct Sampler {
    threads: Threads,
    cgroups: PathBuf,
    began: Option<Instant>,
    last: Instant,
    before: BTreeMap<u32, Thread>,
    /// Received minus entitled CPU time since the first sample, of each thread by its number and when it began.
    errors_ns: BTreeMap<(u32, u64), i64>,
}

impl Default for Sampler {
    fn default() -> Self {
        Self::at(Path::new("/proc"), Path::new("/sys/fs/cgroup"))
    }
}

impl Sampler {
    /// With other directories, for tests.
    fn at(proc: &Path, cgroups: &Path) -> Self {
        Self {
            threads: Threads::new(proc),
            cgroups: cgroups.to_owned(),
            began: None,
            last: Instant::now(),
            before: BTreeMap::new(),
            errors_ns: BTreeMap::new(),
        }
    }

    /// The interval since the last sample. The first one is empty.
    ///
    /// # Errors
    /// If `/proc` cannot be read. Threads that end meanwhile are left out.
    pub fn sample(&mut self) -> Result<Period, SampleError> {
        let now = self.threads.read()?;
        let at = Instant::now();
        let began = *self.began.get_or_insert(at);
        let is_first = began == at;
        let duration_ns = if is_first { 0 } else { (at - self.last).as_nanos() as u64 };
        let cpus = online();
        let tasks = if is_first { Vec::new() } else { self.rows(&now, duration_ns) };
        self.last = at;
        self.before = now;
        Ok(Period { end_ns: (at - began).as_nanos() as u64, duration_ns, cpus, tasks, ..Period::default() })
    }

    fn rows(&mut self, now: &BTreeMap<u32, Thread>, duration_ns: u64) -> Vec<TaskRow> {
        let used: Vec<Used> =
            now.values().map(|thread| Used::since(self.before.get(&thread.tid), thread)).collect();
        let claims: Vec<Claim<'_>> = now
            .values()
            .zip(&used)
            .map(|(thread, used)| Claim {
                path: &thread.cgroup,
                weight: thread.weight(),
                demand_ns: used.demand_ns(thread, duration_ns),
                received_ns: used.ran_ns,
                is_fair: thread.is_fair(),
            })
            .collect();
        let entitled = divide(&claims, &self.cgroups);
        self.errors_ns
            .retain(|(tid, started), _| now.get(tid).is_some_and(|thread| thread.started == *started));
        let mut rows: Vec<TaskRow> = now
            .values()
            .zip(&used)
            .zip(entitled)
            .map(|((thread, used), entitled_ns)| {
                let error_ns = self.errors_ns.entry((thread.tid, thread.started)).or_insert(0);
                *error_ns += used.ran_ns as i64 - entitled_ns as i64;
                TaskRow {
                    pid: thread.tid,
                    tgid: thread.tgid,
                    comm: thread.comm.clone(),
                    weight: thread.weight(),
                    effective_weight: thread.weight(),
                    uid: thread.uid,
                    cgroup: thread.cgroup.clone(),
                    received_ns: used.ran_ns,
                    entitled_ns,
                    error_ns: *error_ns,
                    waited_ns: used.waited_ns,
                    waits: u32::try_from(used.turns).unwrap_or(u32::MAX),
                    turns: u32::try_from(used.turns).unwrap_or(u32::MAX),
                    is_runnable: thread.is_runnable,
                }
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.received_ns));
        rows
    }
}

/// Number of CPUs of the machine that are online, also of those that this process may not use.
#[must_use]
pub fn online() -> u32 {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
    let ranges = listed.and_then(|text| crate::cpu_list::parse(&text));
    let count = ranges.map(|ranges| ranges.into_iter().map(|range| range.len() as u32).sum());
    count.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32))
}

/// A thread's use of the CPUs in an interval.
pub(crate) struct Used {
    ran_ns: u64,
    waited_ns: u64,
    turns: u64,
}

impl Used {
    /// A thread that was not there before, or whose number another one had, used all of it now.
    pub fn since(before: Option<&Thread>, now: &Thread) -> Self {
        let none = Thread::default();
        let before = before.filter(|before| before.started == now.started).unwrap_or(&none);
        Self {
            ran_ns: now.ran_ns.saturating_sub(before.ran_ns),
            waited_ns: now.waited_ns.saturating_sub(before.waited_ns),
            turns: now.turns.saturating_sub(before.turns),
        }
    }

    /// At most the interval. A thread that is runnable and got nothing has waited all the time.
    pub fn demand_ns(&self, thread: &Thread, duration_ns: u64) -> u64 {
        match self.ran_ns + self.waited_ns {
            0 if thread.is_runnable => duration_ns,
            demand_ns => demand_ns.min(duration_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A `/proc` with threads of one process each: number, nice value, CPU time and waiting time in ms.
    fn write(proc: &Path, threads: &[(u32, i32, u64, u64)]) {
        for (tid, nice, ran_ms, waited_ms) in threads {
            let dir = proc.join(format!("{tid}/task/{tid}"));
            fs::create_dir_all(&dir).expect("a directory");
            let stat = format!(
                "{tid} (a (b) c) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 {nice} 1 0 {} 0 0 {}\n",
                tid * 10,
                ["0"; 18].join(" ")
            );
            fs::write(dir.join("stat"), stat).expect("stat");
            let schedstat = format!("{} {} 7\n", ran_ms * 1_000_000, waited_ms * 1_000_000);
            fs::write(dir.join("schedstat"), schedstat).expect("schedstat");
            fs::write(dir.join("cgroup"), "0::/\n").expect("cgroup");
            fs::write(dir.join("status"), "Name:\tx\nUid:\t1000\t0\t0\t0\n").expect("status");
        }
    }

    #[test]
    fn received_and_entitled_are_those_of_the_interval() {
        let dir = std::env::temp_dir().join(format!("divvy-stock-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let mut sampler = Sampler::at(&dir, &dir.join("none"));
        write(&dir, &[(11, 0, 1_000, 500), (12, 5, 1_000, 500)]);
        assert!(sampler.sample().expect("readable").tasks.is_empty());
        std::thread::sleep(std::time::Duration::from_millis(30));
        // Both wanted a CPU all the time; the second one got half, and its weight is 335 beside 1024.
        write(&dir, &[(11, 0, 1_010, 510), (12, 5, 1_010, 510)]);
        let period = sampler.sample().expect("readable");
        let row = |tid: u32| period.tasks.iter().find(|row| row.pid == tid).expect("a row");
        assert_eq!((row(11).received_ns, row(12).received_ns), (10_000_000, 10_000_000));
        assert_eq!((row(11).comm.as_str(), row(11).uid, row(11).weight), ("a (b) c", Some(1000), 1024.0));
        assert!(row(11).entitled_ns.abs_diff(15_070_000) < 10_000, "{}", row(11).entitled_ns);
        assert!(row(12).entitled_ns.abs_diff(4_930_000) < 10_000, "{}", row(12).entitled_ns);
        assert_eq!(row(12).error_ns, 10_000_000 - row(12).entitled_ns as i64);
        fs::remove_dir_all(&dir).expect("it is there");
    }

    /// Whoever runs the tests has threads, and this one is runnable.
    #[test]
    fn this_machine_can_be_sampled() {
        let mut sampler = Sampler::default();
        sampler.sample().expect("/proc");
        let end = Instant::now() + std::time::Duration::from_millis(50);
        while Instant::now() < end {}
        let period = sampler.sample().expect("/proc");
        let own = period.tasks.iter().find(|row| row.tgid == std::process::id() && row.received_ns > 0);
        assert!(own.is_some(), "{period:?}");
    }
}
