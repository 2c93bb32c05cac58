//! Watches for some time how long threads run and wait for a CPU, under whatever scheduler.
//!
//! The kernel keeps a sum of its waits for each thread (`schedstat`), not the waits. So of the longest one only a bound is known: no
//! mean of a thread's waits between two samples is longer.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use super::Sampler;
use crate::load::{Period, Signals};

/// Time between two samples. A step in which a thread waited once says how long.
const STEP: Duration = Duration::from_millis(100);
/// No more than one part in so many of the time goes to reading `/proc`, however many threads there are.
const PART_FOR_READING: u32 = 5;

/// The threads of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// All threads of a name.
    #[default]
    Name,
    /// A thread.
    Thread,
    /// All threads of a cgroup.
    Cgroup,
}

/// The times of one thread, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The threads' name, or their cgroup's path.
    pub name: String,
    /// The thread's number, if the row is of one.
    pub tid: Option<u32>,
    /// Threads that ran or waited.
    pub threads: u32,
    /// CPU time, in ns.
    pub ran_ns: u64,
    /// Times that one came on a CPU.
    pub turns: u64,
    /// Time runnable without a CPU before these turns, in ns: after wake-ups, and after others took the CPU away.
    pub waited_ns: u64,
    /// One of them waited at least so long, in ns.
    pub longest_ns: u64,
}

impl Waits {
    /// The mean wait before a turn, in ns; None if there was none.
    #[must_use]
    pub fn mean_ns(&self) -> Option<u64> {
        self.waited_ns.checked_div(self.turns)
    }

    fn add(&mut self, other: &Waits) {
        self.ran_ns += other.ran_ns;
        self.turns += other.turns;
        self.waited_ns += other.waited_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// All threads that were seen.
#[derive(Debug, Default)]
pub struct Watched {
    /// How long, in ns.
    pub duration_ns: u64,
    /// CPUs of the machine at the end.
    pub cpus: u32,
    /// CPU time that the machine gave to programs meanwhile, seen or not, in ns: to within a tick of each CPU. None if `/proc/stat`
    /// does not say.
    pub used_ns: Option<u64>,
    /// By number and name, with their cgroups.
    threads: BTreeMap<(u32, String), (String, Waits)>,
}

impl Watched {
    fn add(&mut self, period: Period) {
        self.duration_ns = period.end_ns;
        self.cpus = period.cpus;
        for row in period.tasks.into_iter().filter(|row| row.turns > 0 || row.received_ns > 0) {
            let turns = row.turns.into();
            let longest_ns = row.waited_ns.checked_div(turns).unwrap_or(0);
            let (cgroup, waits) = self.threads.entry((row.pid, row.comm)).or_default();
            *cgroup = row.cgroup;
            waits.add(&Waits {
                ran_ns: row.received_ns,
                turns,
                waited_ns: row.waited_ns,
                longest_ns,
                ..Waits::default()
            });
        }
    }

    /// The part of [`Self::used_ns`] that the threads here used. Threads that begin and end between two samples are missing, and in a
    /// container those outside.
    #[must_use]
    pub fn seen(&self) -> Option<f64> {
        let ran_ns: u64 = self.threads.values().map(|(_, waits)| waits.ran_ns).sum();
        self.used_ns.filter(|used| *used > 0).map(|used| ran_ns as f64 / used as f64)
    }

    /// Those that used most CPU time first.
    #[must_use]
    pub fn rows(&self, per: Per) -> Vec<Waits> {
        let mut rows: BTreeMap<(&str, u32), Waits> = BTreeMap::new();
        for ((tid, comm), (cgroup, waits)) in &self.threads {
            let key = match per {
                Per::Name => (comm.as_str(), 0),
                Per::Thread => (comm.as_str(), *tid),
                Per::Cgroup => (cgroup.as_str(), 0),
            };
            let row = rows.entry(key).or_default();
            key.0.clone_into(&mut row.name);
            row.threads += 1;
            row.tid = (row.threads == 1).then_some(*tid);
            row.add(waits);
        }
        let mut rows: Vec<Waits> = rows.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.ran_ns)); // stable: names break ties
        rows
    }
}

/// Watches all threads for this time, or until a signal ends it, which is no error. Call it while the process has one thread.
/// `progress` gets the time so far.
///
/// # Errors
/// If `/proc` cannot be read, or the kernel does not count what threads use.
pub fn watch(duration: Duration, mut progress: impl FnMut(Duration)) -> io::Result<Watched> {
    let mut signals = Signals::block()?;
    let mut sampler = Sampler::default();
    let mut watched = Watched::default();
    let used_before = used_ns();
    let began = Instant::now();
    sampler.sample()?;
    let mut reading = began.elapsed();
    loop {
        let left = duration.saturating_sub(began.elapsed());
        let step = STEP.max(reading * PART_FOR_READING);
        let is_over = signals.wait_until(Instant::now() + step.min(left))? || step >= left;
        let start = Instant::now();
        watched.add(sampler.sample()?);
        reading = start.elapsed();
        progress(began.elapsed());
        if is_over {
            break;
        }
    }
    watched.used_ns = used_ns().zip(used_before).map(|(after, before)| after.saturating_sub(before));
    Ok(watched)
}

/// CPU time that all programs have received since the machine started, in ns.
fn used_ns() -> Option<u64> {
    used_ticks(&std::fs::read_to_string("/proc/stat").ok()?)
        .map(|ticks| ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second()))
}

/// proc_stat(5): of all CPUs together, in programs, in programs of positive nice values, and in the kernel for them.
fn used_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()?.saturating_add(next()?).saturating_add(next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::TaskRow;

    fn row(pid: u32, comm: &str, cgroup: &str, ran_ms: u64, turns: u32, waited_ms: u64) -> TaskRow {
        TaskRow {
            pid,
            comm: comm.to_owned(),
            cgroup: cgroup.to_owned(),
            received_ns: ran_ms * 1_000_000,
            turns,
            waited_ns: waited_ms * 1_000_000,
            ..TaskRow::default()
        }
    }

    fn watched() -> Watched {
        let mut watched = Watched { used_ns: Some(40_000_000), ..Watched::default() };
        for (end_ns, tasks) in [
            (
                100,
                vec![
                    row(7, "cc1", "/a", 10, 2, 30),
                    row(8, "cc1", "/b", 1, 1, 5),
                    row(9, "idle", "/b", 0, 0, 0),
                ],
            ),
            (200, vec![row(7, "cc1", "/a", 5, 1, 40), row(8, "sh", "/b", 4, 4, 8)]),
        ] {
            watched.add(Period { end_ns, cpus: 2, tasks, ..Period::default() });
        }
        watched
    }

    #[test]
    fn steps_are_added_and_the_longest_wait_is_no_shorter_than_any_mean() {
        let rows = watched().rows(Per::Name);
        let cc1 = Waits {
            name: "cc1".to_owned(),
            tid: None,
            threads: 2,
            ran_ns: 16_000_000,
            turns: 4,
            waited_ns: 75_000_000,
            longest_ns: 40_000_000,
        };
        assert_eq!((rows[0].clone(), rows.len()), (cc1.clone(), 2), "a thread that did nothing has no row");
        assert_eq!(cc1.mean_ns(), Some(18_750_000));
        assert_eq!(Waits::default().mean_ns(), None);
        assert_eq!(watched().duration_ns, 200);
    }

    #[test]
    fn rows_are_of_threads_or_cgroups() {
        let names = |per| {
            let rows = watched().rows(per);
            rows.into_iter().map(|row| (row.name, row.tid, row.threads, row.turns)).collect::<Vec<_>>()
        };
        let own = |text: &str| text.to_owned();
        assert_eq!(
            names(Per::Thread),
            [(own("cc1"), Some(7), 1, 3), (own("sh"), Some(8), 1, 4), (own("cc1"), Some(8), 1, 1)]
        );
        assert_eq!(names(Per::Cgroup), [(own("/a"), Some(7), 1, 3), (own("/b"), None, 2, 5)]);
    }

    #[test]
    fn what_was_not_seen_is_known() {
        assert_eq!(watched().seen(), Some(0.5));
        assert_eq!(Watched::default().seen(), None);
        assert_eq!(used_ticks("cpu  10 20 30 400 5 6 7\ncpu0 1 1 1\n"), Some(60));
        assert_eq!(used_ticks("cpu  10 20"), None);
        assert_eq!(used_ticks("intr 5"), None);
        assert!(used_ns().is_some_and(|ns| ns > 0), "Linux says so");
    }
}
