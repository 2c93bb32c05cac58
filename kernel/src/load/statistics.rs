//! What the scheduler did between two looks at it.

use std::fs;

use super::host::{Account, Stats};

/// The weight of 1 in the kernel's table, in which nice 0 is 1024.
const WEIGHT_ONE: f64 = 1024.0;

/// A look at the scheduler.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub at_ns: u64,
    pub stats: Stats,
    /// By the task's id.
    pub accounts: Vec<Account>,
}

/// What happened between two samples.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Interval {
    /// Since the scheduler was loaded.
    pub end_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Of the machine.
    pub cpus: u32,
    /// Counts in the interval; but `tasks`, `without_id` and `runnable` are those at its end.
    pub counts: Stats,
    /// Tasks that received the most, the most first.
    pub tasks: Vec<TaskRow>,
}

/// A task in an interval.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TaskRow {
    /// Thread.
    pub pid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub comm: String,
    /// As its owner asked, in the kernel's table, where nice 0 is 1024.
    pub weight: f64,
    /// After the modifiers.
    pub effective_weight: f64,
    /// CPU time received. A turn counts when it ends.
    pub received_ns: u64,
    /// CPU time entitled to, in the fluid model.
    pub entitled_ns: u64,
    /// Received over entitled since loading, less in the negative.
    pub error_ns: i64,
    /// Turns begun.
    pub turns: u32,
}

impl Interval {
    /// Of a count: a second.
    #[must_use]
    pub fn rate(&self, count: u64) -> f64 {
        if self.duration_ns == 0 { 0.0 } else { count as f64 * 1e9 / self.duration_ns as f64 }
    }

    /// Of CPU time: the part of all that the CPUs have.
    #[must_use]
    pub fn share(&self, service_ns: u64) -> f64 {
        let all = self.duration_ns as f64 * f64::from(self.cpus);
        if all == 0.0 { 0.0 } else { service_ns as f64 / all }
    }

    /// ns that an event waited for the machine's lock.
    #[must_use]
    pub fn lock_wait_ns(&self) -> Option<f64> {
        let samples = self.counts.lock_samples;
        (samples > 0).then(|| self.counts.lock_wait_ns as f64 / samples as f64)
    }
}

/// Makes intervals of samples, and remembers the names of tasks that it showed.
#[derive(Debug)]
pub struct History {
    cpus: u32,
    top: usize,
    last: Sample,
    /// By the task's id; of an earlier task where the id was not shown since.
    names: Vec<(u32, u32, String)>,
}

impl History {
    pub fn new(cpus: u32, top: usize) -> Self {
        Self { cpus, top, last: Sample::default(), names: Vec::new() }
    }

    /// The interval since the last sample.
    pub fn interval(&mut self, sample: Sample) -> Interval {
        let last = std::mem::take(&mut self.last);
        let interval = self.between(&last, &sample);
        self.last = sample;
        interval
    }

    /// From loading to the last sample.
    pub fn total(&mut self) -> Interval {
        let last = std::mem::take(&mut self.last);
        let total = self.between(&Sample::default(), &last);
        self.last = last;
        total
    }

    fn between(&mut self, earlier: &Sample, later: &Sample) -> Interval {
        let mut tasks: Vec<(usize, Account, Account)> = (0..later.accounts.len())
            .map(|id| (id, earlier.accounts.get(id).copied().unwrap_or_default(), later.accounts[id]))
            .map(
                |(id, from, to)| {
                    if is_same_task(&from, &to) { (id, from, to) } else { (id, Account::default(), to) }
                },
            )
            .filter(|(_, from, to)| to.received_ns > from.received_ns)
            .collect();
        tasks.sort_by_key(|(id, from, to)| (std::cmp::Reverse(to.received_ns - from.received_ns), *id));
        tasks.truncate(self.top);
        let counts = Stats {
            tasks: later.stats.tasks,
            without_id: later.stats.without_id,
            runnable: later.stats.runnable,
            ..later.stats.since(&earlier.stats)
        };
        Interval {
            end_ns: later.at_ns,
            duration_ns: later.at_ns.saturating_sub(earlier.at_ns),
            cpus: self.cpus,
            counts,
            tasks: tasks.iter().map(|(id, from, to)| self.row(*id, from, to)).collect(),
        }
    }

    fn row(&mut self, id: usize, from: &Account, to: &Account) -> TaskRow {
        let (pid, comm) = self.name(id, to);
        TaskRow {
            pid,
            tgid: to.tgid,
            comm,
            weight: to.nominal as f64 / WEIGHT_ONE,
            effective_weight: to.weight as f64 / WEIGHT_ONE,
            received_ns: to.received_ns - from.received_ns,
            entitled_ns: to.entitled_ns.saturating_sub(from.entitled_ns),
            error_ns: to.received_ns.cast_signed().wrapping_sub(to.entitled_ns.cast_signed()),
            turns: to.turns.saturating_sub(from.turns),
        }
    }

    /// A task that exited has neither a pid nor a name any more: those that it had when it was shown last.
    fn name(&mut self, id: usize, account: &Account) -> (u32, String) {
        if self.names.len() <= id {
            self.names.resize(id + 1, (0, 0, String::new()));
        }
        let known = &mut self.names[id];
        if account.pid != 0
            && let Ok(comm) = fs::read_to_string(format!("/proc/{}/comm", account.pid))
        {
            *known = (account.pid, account.tgid, comm.trim_end().to_owned());
        }
        let (pid, tgid, comm) = known;
        let is_it = if account.pid == 0 { *tgid == account.tgid } else { *pid == account.pid };
        if is_it { (*pid, comm.clone()) } else { (account.pid, String::new()) }
    }
}

/// Whether the id was not given to another task in between.
fn is_same_task(earlier: &Account, later: &Account) -> bool {
    (earlier.pid == later.pid || later.pid == 0)
        && earlier.tgid == later.tgid
        && earlier.received_ns <= later.received_ns
}
