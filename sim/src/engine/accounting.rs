//! Counts of a run: service and delays by row, switches, CPU time, and the list of first decisions.

use std::collections::BTreeMap;

use super::instance::Instance;
use super::setup::Rows;
use divvy_policy::CpuId;
use divvy_results::metrics::{Delays, Job, Row, rows_of};
use divvy_results::stats::Seniority;
use divvy_workload::{Distance, Task};

pub(super) struct Accounting {
    /// Statistics have begun: the warm-up is over.
    pub warm: bool,
    pub counted_from_ns: u64,
    pub rows: Vec<Row>,
    /// Delays of all rows.
    pub delays: Delays,
    pub seniority: Seniority,
    pub switches: u64,
    pub migrations: u64,
    /// The same by [`Distance`], where the workload has a topology.
    pub by_distance: [u64; Distance::ALL.len()],
    /// Moves between shards before statistics began.
    pub moved_before: u64,
    /// CPU time since statistics began: spent on switches, given to tasks, and of idle CPUs.
    pub overhead_ns: u64,
    pub busy_ns: u64,
    pub idle_ns: u64,
    /// Decisions of the machine before statistics began.
    pub decisions_before: u64,
    pub first_decisions: FirstDecisions,
    /// Rows that several tasks of the workload share, by name.
    shared_rows: BTreeMap<String, usize>,
}

impl Accounting {
    /// `warm`: without a warm-up. `listed`: number of first decisions to list for each CPU.
    pub(super) fn new(cpus: usize, warm: bool, listed: usize) -> Accounting {
        Accounting {
            warm,
            counted_from_ns: 0,
            rows: Vec::new(),
            delays: Delays::default(),
            seniority: Seniority::default(),
            switches: 0,
            migrations: 0,
            by_distance: [0; Distance::ALL.len()],
            moved_before: 0,
            overhead_ns: 0,
            busy_ns: 0,
            idle_ns: 0,
            decisions_before: 0,
            first_decisions: FirstDecisions {
                by_cpu: vec![Vec::new(); cpus],
                most: listed,
                full: listed == 0,
            },
            shared_rows: BTreeMap::new(),
        }
    }

    /// Makes the rows of a task of the workload, by its index. Returns the first one, and their number.
    pub(super) fn add_rows(&mut self, index: usize, task: &Task, rows: &Rows) -> (usize, usize) {
        let first = self.rows.len();
        if let Rows::Named(names) = rows {
            let name = &names[index];
            if let Some(&row) = self.shared_rows.get(name) {
                return (row, 1);
            }
            self.shared_rows.insert(name.clone(), first);
            self.rows.push(Row::of(task, name.clone()));
        } else {
            self.rows.extend(rows_of(task));
        }
        (first, self.rows.len() - first)
    }

    /// A job ended now; `counts` if it began after the warm-up.
    pub(super) fn job(&mut self, row: usize, job: Job, counts: bool, now_ns: u64) {
        let row = &mut self.rows[row];
        row.finished_ns = Some(now_ns);
        if counts {
            row.delays.job(job);
            self.delays.job(job);
        }
    }

    /// The time from a wake-up to the CPU.
    pub(super) fn wake_up_latency(&mut self, row: usize, ns: u64) {
        self.rows[row].delays.wake_delay.record(ns);
        self.delays.wake_delay.record(ns);
    }

    /// Adds to its row what a task got; it is counted no more. (Rows are touched here and at the ends of jobs only: a
    /// run is as fast as the memory that a decision touches is small.)
    pub(super) fn collect(&mut self, t: &Instance, entitled_ns: f64) {
        let row = &mut self.rows[t.row()];
        row.service_ns += t.received_ns;
        row.entitled_ns += entitled_ns - t.entitled_before_ns;
        row.error_min_ns = row.error_min_ns.min(t.error_min_ns);
        row.error_max_ns = row.error_max_ns.max(t.error_max_ns);
    }

    /// Statistics begin now.
    pub(super) fn restart(&mut self, now_ns: u64, decisions: u64) {
        for row in &mut self.rows {
            row.reset();
        }
        self.delays = Delays::default();
        self.seniority.restart();
        self.warm = true;
        self.counted_from_ns = now_ns;
        self.switches = 0;
        self.migrations = 0;
        self.by_distance = [0; Distance::ALL.len()];
        self.busy_ns = 0;
        self.overhead_ns = 0;
        self.idle_ns = 0;
        self.decisions_before = decisions;
    }

    /// Time since statistics began; 0 if they never did.
    pub(super) fn counted_ns(&self, end_ns: u64) -> u64 {
        end_ns.saturating_sub(self.counted_from_ns)
    }

    /// Service handed out is CPU time less idle time and less the cost of switches. Says what is wrong, if it is not.
    pub(super) fn wrong_sum(&self, cpu_time_ns: u64) -> Option<String> {
        let received: u64 = self.rows.iter().map(|r| r.service_ns).sum();
        let given = i128::from(cpu_time_ns) - i128::from(self.idle_ns) - i128::from(self.overhead_ns);
        (i128::from(received) != given || received != self.busy_ns).then(|| {
            format!(
                "tasks received {received} ns of service; CPUs served for {} ns, and had {given} ns beside idleness and switches",
                self.busy_ns
            )
        })
    }
}

/// The first decisions of each CPU, as names of rows.
pub(super) struct FirstDecisions {
    by_cpu: Vec<Vec<String>>,
    most: usize,
    full: bool,
}

impl FirstDecisions {
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn add(&mut self, cpu: CpuId, name: &str) {
        if self.by_cpu[cpu.index()].len() < self.most {
            self.by_cpu[cpu.index()].push(name.to_owned());
        } else {
            self.full = self.by_cpu.iter().all(|listed| listed.len() >= self.most);
        }
    }

    /// The lists, if they were asked for.
    pub(super) fn finish(self) -> Option<Vec<Vec<String>>> {
        (self.most > 0).then_some(self.by_cpu)
    }
}
