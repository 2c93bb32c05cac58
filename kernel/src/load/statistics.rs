//! Statistics of the scheduler between two samples.

use super::host::{Account, Shard, Stats, mean};
use super::names::Names;

/// The weight of 1 in the kernel's table, in which nice 0 is 1024.
const WEIGHT_ONE: f64 = 1024.0;

/// All counters of the scheduler at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Since the scheduler was loaded.
    pub at_ns: u64,
    /// Counted by the machine.
    pub cpus: u32,
    pub stats: Stats,
    /// In their order, if there are several.
    pub shards: Vec<Shard>,
    /// By the task's id.
    pub accounts: Vec<Account>,
}

/// The statistics between two samples.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Period {
    /// Since the scheduler was loaded.
    pub end_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Counted by the machine.
    pub cpus: u32,
    /// Counts in the interval; but `tasks`, `without_id` and `runnable` are those at its end.
    pub counts: Stats,
    /// The shards, if there are several: their counts in the interval.
    pub shards: Vec<Shard>,
    /// The tasks, ordered by CPU time received, the most first.
    pub tasks: Vec<TaskRow>,
}

/// A task in an interval.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct TaskRow {
    /// Thread.
    pub pid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub comm: String,
    /// The nominal weight, as in the kernel's table: nice 0 is 1024.
    pub weight: f64,
    /// The weight in use, after the modifiers.
    pub effective_weight: f64,
    /// Its real user; None if unknown.
    pub uid: Option<u32>,
    /// The path of its cgroup.
    pub cgroup: String,
    /// CPU time received, as of the last tick if it runs.
    pub received_ns: u64,
    /// CPU time entitled to, in the fluid model.
    pub entitled_ns: u64,
    /// Service error since loading: received minus entitled.
    pub error_ns: i64,
    /// Time for which it waited for a CPU, in waits that ended.
    pub waited_ns: u64,
    /// The number of those waits.
    pub waits: u32,
    /// Times that it came on a CPU.
    pub turns: u32,
    /// Whether it is runnable at the end.
    pub is_runnable: bool,
}

impl Period {
    /// A count per second.
    #[must_use]
    pub fn rate(&self, count: u64) -> f64 {
        if self.duration_ns == 0 { 0.0 } else { count as f64 * 1e9 / self.duration_ns as f64 }
    }

    /// CPU time as a share of the time of all CPUs.
    #[must_use]
    pub fn share(&self, service_ns: u64) -> f64 {
        let all = self.duration_ns as f64 * f64::from(self.cpus);
        if all == 0.0 { 0.0 } else { service_ns as f64 / all }
    }

    /// The mean time in ns that an event waited for the machine's lock.
    #[must_use]
    pub fn lock_wait_ns(&self) -> Option<f64> {
        mean(self.counts.lock_wait_ns, self.counts.lock_samples)
    }
}

/// Makes intervals from samples, and remembers the names of tasks that were shown.
#[derive(Debug, Default)]
pub struct History {
    /// How many of the active tasks are shown; None: all tasks.
    top: Option<usize>,
    last: Sample,
    names: Names,
}

impl History {
    /// Shows the active tasks that received the most.
    pub fn of_most(top: usize) -> Self {
        Self { top: Some(top), ..Self::default() }
    }

    /// Shows all tasks.
    pub fn of_all() -> Self {
        Self::default()
    }

    /// The interval since the last sample.
    pub fn interval(&mut self, sample: Sample) -> Period {
        let last = std::mem::take(&mut self.last);
        let interval = self.between(&last, &sample);
        self.last = sample;
        interval
    }

    /// The interval from loading to this sample.
    pub fn since_loading(&mut self, sample: Sample) -> Period {
        self.last = sample;
        self.total()
    }

    /// The interval from loading to the last sample.
    pub fn total(&mut self) -> Period {
        let last = std::mem::take(&mut self.last);
        let total = self.between(&Sample::default(), &last);
        self.last = last;
        total
    }

    fn between(&mut self, earlier: &Sample, later: &Sample) -> Period {
        let mut tasks: Vec<Change> = (0..later.accounts.len())
            .map(|id| Change::new(id, earlier.accounts.get(id), later.accounts[id]))
            .filter(|change| change.is_active() || self.top.is_none() && change.to.pid != 0)
            .collect();
        tasks.sort_by_key(|change| (std::cmp::Reverse(change.received_ns()), change.id));
        tasks.truncate(self.top.unwrap_or(usize::MAX));
        let counts = Stats {
            tasks: later.stats.tasks,
            without_id: later.stats.without_id,
            runnable: later.stats.runnable,
            ..later.stats.since(&earlier.stats)
        };
        self.names.next_look(tasks.len());
        Period {
            end_ns: later.at_ns,
            duration_ns: later.at_ns.saturating_sub(earlier.at_ns),
            cpus: later.cpus,
            counts,
            shards: later
                .shards
                .iter()
                .enumerate()
                .map(|(at, shard)| shard.since(earlier.shards.get(at)))
                .collect(),
            tasks: tasks.iter().map(|change| change.row(&mut self.names)).collect(),
        }
    }
}

/// A task's account in two samples.
struct Change {
    id: usize,
    from: Account,
    to: Account,
}

impl Change {
    fn new(id: usize, from: Option<&Account>, to: Account) -> Self {
        let from = from.copied().filter(|from| is_same_task(from, &to)).unwrap_or_default();
        Self { id, from, to }
    }

    fn received_ns(&self) -> u64 {
        self.to.received_ns.saturating_sub(self.from.received_ns)
    }

    /// The task received CPU time, or was entitled to some.
    fn is_active(&self) -> bool {
        self.received_ns() > 0 || self.to.entitled_ns > self.from.entitled_ns
    }

    fn row(&self, names: &mut Names) -> TaskRow {
        let Self { from, to, .. } = self;
        let name = names.of(self.id, to);
        TaskRow {
            pid: name.pid,
            tgid: to.tgid,
            comm: name.comm,
            weight: to.nominal as f64 / WEIGHT_ONE,
            effective_weight: to.weight as f64 / WEIGHT_ONE,
            uid: name.uid,
            cgroup: name.cgroup,
            received_ns: self.received_ns(),
            entitled_ns: to.entitled_ns.saturating_sub(from.entitled_ns),
            error_ns: to.received_ns.cast_signed().wrapping_sub(to.entitled_ns.cast_signed()),
            waited_ns: to.waited_ns.saturating_sub(from.waited_ns),
            waits: to.waits.saturating_sub(from.waits),
            turns: to.turns.saturating_sub(from.turns),
            is_runnable: to.runnable != 0,
        }
    }
}

/// False if the id was given to another task in between.
fn is_same_task(earlier: &Account, later: &Account) -> bool {
    (earlier.pid == later.pid || later.pid == 0)
        && earlier.tgid == later.tgid
        && earlier.received_ns <= later.received_ns
}

#[cfg(test)]
mod tests {
    use super::super::host::ShardStats;
    use super::*;

    fn account(pid: u32, received_ns: u64, entitled_ns: u64) -> Account {
        Account { pid, tgid: 900_000_000, received_ns, entitled_ns, weight: 1 << 20, ..Account::default() }
    }

    fn sample(at_ns: u64, accounts: &[Account]) -> Sample {
        Sample { at_ns, cpus: 2, accounts: accounts.to_vec(), ..Sample::default() }
    }

    fn received(interval: &Period) -> Vec<(u32, u64)> {
        interval.tasks.iter().map(|task| (task.pid, task.received_ns)).collect()
    }

    #[test]
    fn an_interval_has_what_was_added() {
        let mut history = History::of_most(2);
        let first =
            [Account::default(), account(900_000_001, 5, 5), account(900_000_002, 7, 7), account(9, 1, 1)];
        history.interval(sample(10, &first));
        let second =
            [Account::default(), account(900_000_001, 9, 9), account(900_000_002, 17, 7), account(9, 2, 2)];
        let interval = history.interval(sample(30, &second));
        assert_eq!((interval.duration_ns, interval.end_ns, interval.cpus), (20, 30, 2));
        assert_eq!(received(&interval), [(900_000_002, 10), (900_000_001, 4)], "two, the most first");
        assert_eq!(interval.tasks[0].error_ns, 10, "since loading");
        assert_eq!(received(&history.total()), [(900_000_002, 17), (900_000_001, 9)]);
    }

    #[test]
    fn a_shard_has_what_was_added_and_who_is_runnable_now() {
        let shard = |decisions, runnable| Shard {
            cpus: "0-1".to_owned(),
            counts: ShardStats { decisions, runnable, ..ShardStats::default() },
        };
        let of = |shards: &[Shard]| Sample { shards: shards.to_vec(), ..Sample::default() };
        let mut history = History::of_all();
        history.interval(of(&[shard(5, 9), shard(7, 9)]));
        let interval = history.interval(of(&[shard(8, 2), shard(7, 1)]));
        assert_eq!(interval.shards, [shard(3, 2), shard(0, 1)]);
        assert_eq!(history.total().shards, [shard(8, 2), shard(7, 1)]);
    }

    #[test]
    fn a_task_that_waits_and_receives_nothing_is_shown() {
        let mut history = History::of_most(9);
        history.interval(sample(10, &[Account::default(), account(900_000_001, 5, 5)]));
        let interval = history.interval(sample(30, &[Account::default(), account(900_000_001, 5, 25)]));
        assert_eq!(received(&interval), [(900_000_001, 0)]);
        assert_eq!((interval.tasks[0].entitled_ns, interval.tasks[0].error_ns), (20, -20));
        let interval = history.interval(sample(40, &[Account::default(), account(900_000_001, 5, 25)]));
        assert!(interval.tasks.is_empty(), "it sleeps");
        let mut all = History::of_all();
        all.interval(sample(10, &[account(900_000_001, 5, 5)]));
        assert_eq!(received(&all.interval(sample(20, &[account(900_000_001, 5, 5)]))), [(900_000_001, 0)]);
    }

    #[test]
    fn an_id_that_another_task_has_begins_at_nothing() {
        let mut history = History::of_all();
        history.interval(sample(10, &[account(900_000_001, 50, 50)]));
        let interval = history.interval(sample(20, &[account(900_000_002, 60, 60)]));
        assert_eq!(received(&interval), [(900_000_002, 60)]);
    }
}
