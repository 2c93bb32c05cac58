//! How long threads ran and waited for a CPU while they were watched, under whatever scheduler.
//!
//! The kernel keeps a sum of its waits for each thread (`schedstat`), not the waits. It adds a wait when it ends, or in parts when the thread
//! goes to another CPU meanwhile. So of the longest one only a bound is known: it is no shorter than the mean of the waits between two looks.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use divvy_trace::Per;

use super::Used;
use super::threads::Thread;

/// The kernel says so late how long a thread has run: at the next tick, and on a CPU without ticks once a second.
const LATE: Duration = Duration::from_millis(20);
const LATE_WITHOUT_TICKS: Duration = Duration::from_millis(1100);
/// There are no more rows than that, and one for the others, however many names and threads there are.
const MOST_ROWS: usize = 10_000;

/// The times of one thread, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The threads' name, or their cgroup's path.
    pub name: String,
    /// The thread's number, if the row is of one.
    pub tid: Option<u32>,
    /// Threads that ran or waited.
    pub threads: u64,
    /// CPU time, in ns.
    pub ran_ns: u64,
    /// Times that one came on a CPU.
    pub runs: u64,
    /// Time runnable without a CPU, in ns: after wake-ups, and after others took the CPU away.
    pub waited_ns: u64,
    /// Waits in `waited_ns` that had no run yet.
    pub unfinished: u64,
    /// The longest wait, in ns: about so long, or longer. None if none waited.
    pub longest_ns: Option<u64>,
}

impl Waits {
    /// The mean wait, in ns, over runs and waits that go on; None if there was none.
    #[must_use]
    pub fn mean_ns(&self) -> Option<u64> {
        self.waited_ns.checked_div(self.runs + self.unfinished)
    }
}

/// A thread that exists.
#[derive(Debug)]
struct Seen {
    /// Its counters at the last look.
    last: Thread,
    /// Rows in which it is counted.
    rows: Vec<usize>,
    /// Waits that the kernel added since it ran, in ns: parts of one that goes on.
    pending_ns: u64,
    /// Since when it is runnable and does not run, if it seems so.
    waits_since: Option<Instant>,
}

/// The time between two looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// A thread was read no longer ago than that.
    pub longest: Duration,
    /// A thread that began since then is new, in ticks since the machine started.
    pub from_ticks: u64,
}

impl Seen {
    /// How long it has waited until then, in ns, if that is certain.
    fn waited_until(&self, at: Instant) -> Option<u64> {
        let waited = at.saturating_duration_since(self.waits_since?);
        (waited > LATE_WITHOUT_TICKS).then_some(waited.as_nanos() as u64)
    }
}

/// All threads that were seen.
#[derive(Debug)]
pub struct Watched {
    /// How long, in ns.
    pub duration_ns: u64,
    /// CPUs of the machine at the end.
    pub cpus: u32,
    /// CPU time that the machine gave to programs meanwhile, seen or not, in ns, as far as its accounting is exact. None if `/proc/stat` does
    /// not say.
    pub used_ns: Option<u64>,
    per: Per,
    /// When the last look ended.
    looked: Instant,
    /// Those that exist, by number and when they began.
    threads: BTreeMap<(u32, u64), Seen>,
    rows: Vec<Waits>,
    /// The place of each row: by its name, or its thread.
    places: BTreeMap<(String, Option<(u32, u64)>), usize>,
    most_rows: usize,
}

impl Watched {
    pub(super) fn new(per: Per, at: Instant) -> Self {
        Self {
            duration_ns: 0,
            cpus: 0,
            used_ns: None,
            per,
            looked: at,
            threads: BTreeMap::new(),
            rows: Vec::new(),
            places: BTreeMap::new(),
            most_rows: MOST_ROWS,
        }
    }

    /// The first look, or one after a step. It ended now.
    pub(super) fn look(&mut self, now: BTreeMap<u32, Thread>, at: Instant, step: Option<Step>) {
        let mut before = std::mem::take(&mut self.threads);
        for (tid, mut thread) in now {
            let key = (tid, thread.started);
            let mut seen = before.remove(&key).unwrap_or_else(|| Seen {
                // A look can miss a thread. One that is new has done everything since the last look.
                last: match step {
                    Some(step) if thread.started >= step.from_ticks => {
                        Thread { started: thread.started, ..Thread::default() }
                    }
                    _ => thread.clone(),
                },
                rows: Vec::new(),
                pending_ns: 0,
                waits_since: None,
            });
            if thread.cgroup.is_empty() {
                thread.cgroup.clone_from(&seen.last.cgroup);
            }
            if let Some(step) = step {
                self.add(&mut seen, &thread, step.longest);
            }
            seen.last = thread;
            self.threads.insert(key, seen);
        }
        // The others have ended.
        let looked = self.looked;
        before.into_values().for_each(|seen| self.finish(seen, looked));
        self.looked = at;
    }

    fn add(&mut self, seen: &mut Seen, now: &Thread, step: Duration) {
        let used = Used::since(Some(&seen.last), now);
        if is_another(&seen.last, now, &used, step) {
            (seen.pending_ns, seen.waits_since) = (0, None);
            return;
        }
        let is_still = used.ran_ns == 0 && used.turns == 0;
        let known_ns = if is_still { None } else { seen.waited_until(self.looked) };
        seen.waits_since = match seen.waits_since {
            _ if !is_still || !now.is_runnable => None,
            Some(since) => Some(since),
            None => seen.last.is_runnable.then_some(self.looked),
        };
        seen.pending_ns += used.waited_ns;
        if is_still && used.waited_ns == 0 {
            return;
        }
        let mean_ns = (seen.pending_ns > 0).then(|| seen.pending_ns / used.turns.max(1));
        if used.turns > 0 {
            seen.pending_ns = 0;
        }
        let row = self.row(seen, now);
        row.ran_ns += used.ran_ns;
        row.runs += used.turns;
        row.waited_ns += used.waited_ns;
        row.longest_ns = row.longest_ns.max(mean_ns).max(known_ns);
    }

    /// The row of a thread, in which it is counted.
    fn row(&mut self, seen: &mut Seen, now: &Thread) -> &mut Waits {
        let name = match self.per {
            Per::Name | Per::Thread => now.comm.clone(),
            Per::Cgroup if now.cgroup.is_empty() => "?".to_owned(),
            Per::Cgroup => now.cgroup.clone(),
        };
        let key = match self.per {
            Per::Thread => (String::new(), Some((now.tid, now.started))),
            _ => (name.clone(), None),
        };
        let others = self.most_rows;
        let at = match self.places.get(&key) {
            Some(at) => *at,
            None if self.rows.len() < others => {
                self.places.insert(key, self.rows.len());
                self.rows.push(Waits::default());
                self.rows.len() - 1
            }
            None => {
                self.rows.resize_with(others + 1, Waits::default);
                others
            }
        };
        let row = &mut self.rows[at];
        row.name = if at < others { name } else { "(others)".to_owned() };
        if !seen.rows.contains(&at) {
            seen.rows.push(at);
            row.threads += 1;
            row.tid = (row.threads == 1).then_some(now.tid);
        }
        row
    }

    /// The thread is not looked at any more. Its wait, if it waits, goes on, or ended with it.
    fn finish(&mut self, mut seen: Seen, at: Instant) {
        let waited_ns = seen.waited_until(at).unwrap_or(0).max(seen.pending_ns);
        if waited_ns == 0 {
            return;
        }
        let (now, pending_ns) = (seen.last.clone(), seen.pending_ns);
        let row = self.row(&mut seen, &now);
        row.unfinished += 1;
        row.waited_ns += waited_ns - pending_ns;
        row.longest_ns = row.longest_ns.max(Some(waited_ns));
    }

    /// Nobody looks any more.
    pub(super) fn end(&mut self, at: Instant) {
        let threads = std::mem::take(&mut self.threads);
        threads.into_values().for_each(|seen| self.finish(seen, at));
    }

    /// About the part of [`Self::used_ns`] that the threads here used. Missing are threads that begin and end between two looks, what a
    /// thread used after the last look before its end, and threads that this process does not see.
    #[must_use]
    pub fn seen(&self) -> Option<f64> {
        let ran_ns: u64 = self.rows.iter().map(|waits| waits.ran_ns).sum();
        self.used_ns.filter(|used| *used > 0).map(|used| ran_ns as f64 / used as f64)
    }

    /// Those that used most CPU time first.
    #[must_use]
    pub fn rows(&self) -> Vec<Waits> {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| b.ran_ns.cmp(&a.ran_ns).then_with(|| (&a.name, a.tid).cmp(&(&b.name, b.tid))));
        rows
    }
}

/// Whether a thread's counters are those of another one: a thread that executes a program gets the number of its process's first thread, and
/// keeps its own counters. Counters do not fall, and nobody runs longer than the time, or waits longer who did not wait before.
fn is_another(before: &Thread, now: &Thread, used: &Used, step: Duration) -> bool {
    let late = if before.comm == now.comm { LATE_WITHOUT_TICKS } else { LATE };
    let waited_ns = if before.is_runnable { 0 } else { used.waited_ns };
    now.ran_ns < before.ran_ns
        || now.waited_ns < before.waited_ns
        || now.turns < before.turns
        || used.ran_ns.saturating_add(waited_ns) > (step + late).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const STEP: Duration = Duration::from_millis(100);

    /// Number, name, cgroup, CPU time and waits in ms, runs, whether it is runnable.
    type Line<'a> = (u32, &'a str, &'a str, u64, u64, u64, bool);

    fn threads(lines: &[Line<'_>]) -> BTreeMap<u32, Thread> {
        let thread = |&(tid, comm, cgroup, ran, waited, turns, is_runnable): &Line<'_>| Thread {
            tid,
            comm: comm.to_owned(),
            cgroup: cgroup.to_owned(),
            ran_ns: ran * MS,
            waited_ns: waited * MS,
            turns,
            is_runnable,
            started: 5,
            ..Thread::default()
        };
        lines.iter().map(|line| (line.0, thread(line))).collect()
    }

    /// Looks every 100 ms.
    fn watched(per: Per, looks: &[&[Line<'_>]]) -> Watched {
        let start = Instant::now();
        let mut watched = Watched::new(per, start);
        for (at, lines) in looks.iter().enumerate() {
            let step = (at > 0).then_some(Step { longest: STEP, from_ticks: 5 });
            watched.look(threads(lines), start + STEP * at as u32, step);
        }
        watched.end(start + STEP * (looks.len() - 1) as u32);
        watched
    }

    fn only(watched: &Watched) -> Waits {
        let [row] = &watched.rows()[..] else { panic!("one row: {watched:?}") };
        row.clone()
    }

    #[test]
    fn steps_are_added_and_the_longest_wait_is_no_shorter_than_any_mean() {
        let looks: [&[Line<'_>]; 3] = [
            &[(7, "cc1", "/a", 1000, 500, 90, false), (9, "idle", "/a", 3, 3, 3, false)],
            &[
                (7, "cc1", "/a", 1010, 530, 92, false),
                (8, "cc1", "/b", 1, 5, 1, false),
                (9, "idle", "/a", 3, 3, 3, false),
            ],
            &[(7, "cc1", "/a", 1015, 570, 93, false), (8, "cc1", "/b", 1, 5, 1, false)],
        ];
        let row = Waits {
            name: "cc1".to_owned(),
            tid: None,
            threads: 2,
            ran_ns: 16 * MS,
            runs: 4,
            waited_ns: 75 * MS,
            unfinished: 0,
            longest_ns: Some(40 * MS),
        };
        assert_eq!(only(&watched(Per::Name, &looks)), row, "a thread that did nothing has no row");
        assert_eq!(row.mean_ns(), Some(18_750_000));
        assert_eq!(Waits::default().mean_ns(), None);
    }

    #[test]
    fn a_wait_in_parts_is_one_wait() {
        // Twice it goes to another CPU while it waits; then it runs.
        let looks: [&[Line<'_>]; 4] = [
            &[(7, "a", "/", 0, 0, 1, true)],
            &[(7, "a", "/", 0, 90, 1, true)],
            &[(7, "a", "/", 0, 190, 1, true)],
            &[(7, "a", "/", 5, 250, 2, true)],
        ];
        let row = only(&watched(Per::Name, &looks));
        assert_eq!((row.waited_ns, row.runs, row.longest_ns), (250 * MS, 1, Some(250 * MS)));
        let row = only(&watched(Per::Name, &looks[..3]));
        assert_eq!(
            (row.waited_ns, row.runs, row.longest_ns, row.mean_ns()),
            (190 * MS, 0, Some(190 * MS), Some(190 * MS))
        );
    }

    #[test]
    fn a_thread_that_never_gets_a_cpu_waits_all_the_time() {
        let line: &[Line<'_>] = &[(7, "a", "/", 3, 3, 3, true)];
        let row = only(&watched(Per::Thread, &[line; 31]));
        let waited = Waits {
            name: "a".to_owned(),
            tid: Some(7),
            threads: 1,
            waited_ns: 3_000 * MS,
            unfinished: 1,
            ..Waits::default()
        };
        assert_eq!(row, Waits { longest_ns: Some(3_000 * MS), ..waited });
        // So does one that sleeps, runs for a moment, and then waits in two parts.
        let mut looks: Vec<&[Line<'_>]> =
            vec![&[(7, "a", "/", 1, 0, 1, false)], &[(7, "a", "/", 2, 4, 2, true)]];
        looks.extend([&[(7, "a", "/", 2, 504, 2, true)][..]; 20]);
        let row = only(&watched(Per::Thread, &looks));
        assert_eq!((row.waited_ns, row.longest_ns, row.runs), (2_004 * MS, Some(2_000 * MS), 1));
        // It may run on a CPU without a tick.
        assert!(watched(Per::Thread, &[line; 11]).rows().is_empty());
        // Two of them, and one that runs: the mean is over all waits.
        let mut looks: Vec<&[Line<'_>]> =
            vec![
                &[(7, "a", "/", 3, 3, 3, true), (8, "a", "/", 3, 3, 3, true), (9, "a", "/", 3, 3, 3, true)];
                31
            ];
        looks[30] =
            &[(7, "a", "/", 3, 3, 3, true), (8, "a", "/", 3, 3, 3, true), (9, "a", "/", 4, 3_003, 4, true)];
        let row = only(&watched(Per::Name, &looks));
        assert_eq!((row.runs, row.unfinished, row.mean_ns()), (1, 2, Some(3_000 * MS)));
    }

    #[test]
    fn a_long_wait_is_not_forgotten_when_it_ends() {
        let waits: &[Line<'_>] = &[(7, "a", "/", 3, 0, 3, true)];
        let longest = |last: &[Line<'_>]| {
            let mut looks = vec![waits; 31];
            looks.push(last);
            only(&watched(Per::Name, &looks)).longest_ns
        };
        // Many short waits follow, or its end before the next look.
        assert_eq!(longest(&[(7, "a", "/", 30, 3_050, 53, true)]), Some(3_000 * MS));
        assert_eq!(longest(&[]), Some(3_000 * MS));
    }

    #[test]
    fn a_thread_that_a_look_missed_is_not_new() {
        let start = Instant::now();
        let mut watched = Watched::new(Per::Name, start);
        let thread = |ran, waited, turns| threads(&[(7, "a", "/", ran, waited, turns, false)]);
        let step = |from_ticks| Some(Step { longest: STEP, from_ticks });
        watched.look(thread(40, 60, 3), start, None);
        watched.look(threads(&[]), start + STEP, step(100));
        watched.look(thread(50, 60, 4), start + 2 * STEP, step(110));
        watched.look(thread(51, 65, 5), start + 3 * STEP, step(120));
        let row = only(&watched);
        assert_eq!((row.ran_ns, row.waited_ns, row.runs), (MS, 5 * MS, 1));
    }

    #[test]
    fn nobody_runs_longer_than_the_time() {
        // Executing a program, thread 8 becomes thread 7, and takes its counters along.
        let looks: [&[Line<'_>]; 4] = [
            &[(7, "go", "/", 20, 1, 2, false)],
            &[(7, "sh", "/", 1500, 900, 70, true)],
            &[(7, "sh", "/", 1520, 905, 71, true)],
            &[(7, "sh", "/", 3, 905, 71, true)],
        ];
        let row = only(&watched(Per::Name, &looks));
        assert_eq!((row.name.as_str(), row.ran_ns, row.runs, row.waited_ns), ("sh", 20 * MS, 1, 5 * MS));
        // Nor does one wait longer that did not wait at the last look.
        let looks: [&[Line<'_>]; 2] =
            [&[(7, "go", "/", 5, 1, 2, false)], &[(7, "sh", "/", 60, 10_000, 300, true)]];
        assert!(watched(Per::Name, &looks).rows().is_empty());
    }

    #[test]
    fn rows_are_of_threads_or_cgroups() {
        let looks: [&[Line<'_>]; 3] = [
            &[],
            &[(7, "cc1", "/a", 10, 0, 2, false), (8, "sh", "/b", 1, 0, 1, false)],
            &[
                (7, "cc1", "", 15, 0, 3, false),
                (8, "cc1", "/b", 5, 0, 4, false),
                (6, "x", "", 1, 0, 1, false),
            ],
        ];
        let names = |per| {
            let rows = watched(per, &looks).rows();
            rows.into_iter().map(|row| (row.name, row.tid, row.threads, row.runs)).collect::<Vec<_>>()
        };
        let own = |text: &str| text.to_owned();
        assert_eq!(
            names(Per::Thread),
            [(own("cc1"), Some(7), 1, 3), (own("cc1"), Some(8), 1, 4), (own("x"), Some(6), 1, 1)]
        );
        assert_eq!(
            names(Per::Cgroup),
            [(own("/a"), Some(7), 1, 3), (own("/b"), Some(8), 1, 4), (own("?"), Some(6), 1, 1)]
        );
        assert_eq!(
            names(Per::Name),
            [(own("cc1"), None, 2, 6), (own("sh"), Some(8), 1, 1), (own("x"), Some(6), 1, 1)]
        );
    }

    #[test]
    fn there_are_not_more_rows_than_fit() {
        let mut watched = Watched { most_rows: 2, ..Watched::new(Per::Name, Instant::now()) };
        let lines =
            [(1, "a", "/", 1, 0, 1, false), (2, "b", "/", 1, 0, 1, false), (3, "c", "/", 1, 0, 1, false)];
        watched.look(threads(&[]), Instant::now(), None);
        watched.look(
            threads(&[&lines[..], &[(4, "d", "/", 1, 0, 1, false)]].concat()),
            Instant::now(),
            Some(Step { longest: STEP, from_ticks: 0 }),
        );
        let rows = watched.rows();
        assert_eq!(
            (rows.len(), rows[0].name.as_str(), rows[0].threads, rows[0].tid),
            (3, "(others)", 2, None)
        );
    }

    #[test]
    fn what_was_not_seen_is_known() {
        let looks: [&[Line<'_>]; 2] = [&[], &[(7, "a", "/", 20, 0, 1, false)]];
        let half = Watched { used_ns: Some(40 * MS), ..watched(Per::Name, &looks) };
        assert_eq!(half.seen(), Some(0.5));
        assert_eq!(Watched::new(Per::Name, Instant::now()).seen(), None);
    }
}
