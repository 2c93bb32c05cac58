//! Turns the observations of real threads into the report of a run. The rows, the fluid model and the statistics are those
//! of a simulation.
//!
//! The service of a thread is known at its stamps, which are reads of its CPU clock, and not between them. Its service error
//! is taken at stamps only, so the extremes are as precise as stamps are frequent. At the end of the warm-up, service is
//! interpolated.

use divvy_policy::TaskId;
use divvy_results::metrics;
use divvy_results::metrics::{DelayResults, Delays, Job, Row};
use divvy_results::report::Run;
use divvy_sim::entitlement::Entitled;
use divvy_sim::sharing::Sharing;
use divvy_workload::{Task, Workload};

/// An event that a thread observed of itself. Times are times of the run, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// The program asked for work.
    WorkArrives {
        /// When, in ns.
        at_ns: u64,
        /// CPU time that it needs, in ns; `u64::MAX` means without end.
        work_ns: u64,
    },
    /// A read of its CPU clock.
    Stamp {
        /// When, in ns.
        at_ns: u64,
        /// CPU time since its start, in ns.
        received_ns: u64,
    },
    /// It got a CPU for the first time since a wake-up.
    Ran {
        /// When it woke, in ns.
        woken_ns: u64,
        /// The time from the wake-up to the CPU, in ns.
        delay_ns: u64,
    },
    /// A job is finished.
    JobDone {
        /// When it was due, in ns.
        began_ns: u64,
        /// When it was finished, in ns.
        ended_ns: u64,
        /// CPU time that it got, in ns.
        service_ns: u64,
        /// Time that it was runnable without a CPU, in ns.
        wait_ns: u64,
    },
}

/// The measurements of one instance of a task.
#[derive(Clone, Debug, Default)]
pub struct MeasuredThread {
    /// Index into the workload's tasks.
    pub class: usize,
    /// Its number among the instances of its task, from 0.
    pub number: u32,
    /// When it became runnable for the first time, or began to think, in ns of the run.
    pub started_ns: u64,
    /// When it ended, in ns of the run.
    pub ended_ns: u64,
    /// Total CPU time, in ns.
    pub received_ns: u64,
    /// How often it left its CPU after the warm-up.
    pub switches: u64,
    /// How often it changed its CPU after the warm-up. `None` if the kernel does not count that.
    pub migrations: Option<u64>,
    /// The observations, in the order in which they were made.
    pub observations: Vec<Observation>,
}

/// The measurements of a run.
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// Name of the scheduler.
    pub policy: String,
    /// Number of the repetition, from 0.
    pub rep: u32,
    /// The service that tasks are entitled to by their weights.
    pub sharing: Sharing,
    /// The threads, in any order.
    pub threads: Vec<MeasuredThread>,
}

/// The report of a run. Events after the end of the workload count as events at its end.
pub fn report(workload: &Workload, measured_run: &MeasuredRun) -> Run {
    let mut account = Account::new(workload, measured_run);
    for event in events(measured_run, account.end_ns) {
        account.take(event);
    }
    account.report(measured_run)
}

#[derive(Clone, Copy, Debug)]
enum EventKind {
    Started,
    Observed(Observation),
    Ended,
}

/// An event of a thread, given by index.
#[derive(Clone, Copy, Debug)]
struct Event {
    at_ns: u64,
    thread: usize,
    kind: EventKind,
}

/// All events in order of time. Events of one thread stay in the order in which it made them.
fn events(measured_run: &MeasuredRun, end_ns: u64) -> Vec<Event> {
    let mut events = Vec::new();
    for (thread, measured) in measured_run.threads.iter().enumerate() {
        let mut last_ns = measured.started_ns.min(end_ns);
        let mut add = |at_ns: u64, kind: EventKind| {
            // A wake-up is observed after it happened; other events at once.
            last_ns = last_ns.max(at_ns.min(end_ns));
            events.push(Event { at_ns: last_ns, thread, kind });
        };
        add(measured.started_ns, EventKind::Started);
        measured
            .observations
            .iter()
            .for_each(|&observation| add(observation.at_ns(), EventKind::Observed(observation)));
        add(measured.ended_ns, EventKind::Ended);
    }
    events.sort_by_key(|event| event.at_ns);
    events
}

impl Observation {
    fn at_ns(&self) -> u64 {
        match *self {
            Self::WorkArrives { at_ns, .. } | Self::Stamp { at_ns, .. } => at_ns,
            Self::Ran { woken_ns, .. } => woken_ns,
            Self::JobDone { ended_ns, .. } => ended_ns,
        }
    }
}

impl MeasuredThread {
    /// CPU time at this moment in ns, interpolated between the stamps around it.
    fn received_at(&self, at_ns: u64) -> u64 {
        let (mut before, mut after) = ((self.started_ns, 0), (self.ended_ns, self.received_ns));
        for observation in &self.observations {
            if let Observation::Stamp { at_ns: stamped_ns, received_ns } = *observation {
                if stamped_ns > at_ns {
                    after = (stamped_ns, received_ns);
                    break;
                }
                before = (stamped_ns, received_ns);
            }
        }
        if at_ns <= before.0 {
            return before.1;
        }
        let (passed, between) = (at_ns - before.0, after.0.saturating_sub(before.0).max(1));
        let got = u128::from(after.1.saturating_sub(before.1)) * u128::from(passed) / u128::from(between);
        before.1 + got as u64
    }
}

/// The state of a thread's evaluation.
#[derive(Clone, Copy, Debug)]
struct ThreadAccount {
    row: usize,
    alive: bool,
    /// Received and entitled service at the end of the warm-up.
    received_before_ns: u64,
    entitled_before_ns: f64,
    error_min_ns: f64,
    error_max_ns: f64,
}

struct Account<'a> {
    workload: &'a Workload,
    threads: &'a [MeasuredThread],
    accounts: Vec<ThreadAccount>,
    /// The process of each task, by number. The threads of a process may divide its weight.
    processes: Vec<Option<u32>>,
    entitled: Entitled,
    rows: Vec<Row>,
    delays: Delays,
    warm: bool,
    end_ns: u64,
}

impl<'a> Account<'a> {
    fn new(workload: &'a Workload, measured_run: &'a MeasuredRun) -> Account<'a> {
        let mut rows = Vec::new();
        let mut places = Vec::new();
        for task in &workload.tasks {
            let own = metrics::rows_of(task);
            places.push((rows.len(), own.len()));
            rows.extend(own);
        }
        let account = |thread: &MeasuredThread| {
            let (first, count) = places[thread.class];
            ThreadAccount {
                row: first + (thread.number as usize).min(count - 1),
                alive: false,
                received_before_ns: 0,
                entitled_before_ns: 0.0,
                error_min_ns: 0.0,
                error_max_ns: 0.0,
            }
        };
        let last_ns = measured_run.threads.iter().map(|thread| thread.ended_ns).max().unwrap_or(0);
        Account {
            workload,
            threads: &measured_run.threads,
            accounts: measured_run.threads.iter().map(account).collect(),
            processes: processes(workload),
            entitled: Entitled::new(workload.cpus, measured_run.sharing, &workload.groups),
            rows,
            delays: Delays::default(),
            warm: workload.warmup_ns == 0,
            end_ns: last_ns.min(workload.duration_ns.unwrap_or(u64::MAX)),
        }
    }

    fn take(&mut self, event: Event) {
        if !self.warm && event.at_ns >= self.workload.warmup_ns {
            self.warm_up();
        }
        let (thread, task) = (event.thread, id(event.thread));
        match event.kind {
            EventKind::Started => {
                let class = self.threads[thread].class;
                let Task { weight, group, affinity, .. } = &self.workload.tasks[class];
                self.entitled.add(task, weight.weight(), self.processes[class], *group, event.at_ns);
                if let Some(cpus) = affinity {
                    self.entitled.restrict(task, &cpus.iter().copied().collect());
                }
                self.accounts[thread].alive = true;
            }
            EventKind::Observed(Observation::WorkArrives { work_ns, .. }) => {
                self.entitled.bring(task, work_ns, event.at_ns)
            }
            EventKind::Observed(Observation::Stamp { received_ns, .. }) => {
                self.stamp(thread, received_ns, event.at_ns)
            }
            EventKind::Observed(Observation::Ran { woken_ns, delay_ns }) => {
                if self.counts(woken_ns) {
                    self.rows[self.accounts[thread].row].delays.wake_delay.record(delay_ns);
                    self.delays.wake_delay.record(delay_ns);
                }
            }
            EventKind::Observed(Observation::JobDone { began_ns, ended_ns, service_ns, wait_ns }) => {
                let row = &mut self.rows[self.accounts[thread].row];
                row.finished_ns = row.finished_ns.max(Some(event.at_ns));
                if self.counts(began_ns) {
                    let response_ns = ended_ns.saturating_sub(began_ns);
                    let job = Job { response_ns, wait_ns, service_ns };
                    self.rows[self.accounts[thread].row].delays.job(job);
                    self.delays.job(job);
                }
            }
            EventKind::Ended => self.end_thread(thread, event.at_ns),
        }
    }

    /// Whether a wake-up or a job that began at this time counts.
    fn counts(&self, began_ns: u64) -> bool {
        self.warm && began_ns >= self.workload.warmup_ns
    }

    /// Ends the warm-up: nothing before it counts, except the time at which a task's last job was finished.
    fn warm_up(&mut self) {
        self.warm = true;
        let now = self.workload.warmup_ns;
        for thread in 0..self.threads.len() {
            if self.accounts[thread].alive {
                let entitled = self.entitled.service_ns(id(thread), now);
                let account = &mut self.accounts[thread];
                account.entitled_before_ns = entitled;
                account.received_before_ns = self.threads[thread].received_at(now);
            }
        }
        self.rows.iter_mut().for_each(Row::reset);
    }

    fn stamp(&mut self, thread: usize, received_ns: u64, now_ns: u64) {
        if !self.warm {
            return;
        }
        let entitled = self.entitled.service_ns(id(thread), now_ns);
        let account = &mut self.accounts[thread];
        let received = received_ns as f64 - account.received_before_ns as f64;
        let error_ns = received - (entitled - account.entitled_before_ns);
        account.error_min_ns = account.error_min_ns.min(error_ns);
        account.error_max_ns = account.error_max_ns.max(error_ns);
    }

    fn end_thread(&mut self, thread: usize, now_ns: u64) {
        let received_ns = self.threads[thread].received_ns;
        self.entitled.withdraw(id(thread), now_ns);
        self.accounts[thread].alive = false;
        if !self.warm {
            return;
        }
        self.stamp(thread, received_ns, now_ns);
        let account = self.accounts[thread];
        let entitled = self.entitled.service_ns(id(thread), now_ns);
        let row = &mut self.rows[account.row];
        row.service_ns += received_ns.saturating_sub(account.received_before_ns);
        row.entitled_ns += entitled - account.entitled_before_ns;
        row.error_min_ns = row.error_min_ns.min(account.error_min_ns);
        row.error_max_ns = row.error_max_ns.max(account.error_max_ns);
    }

    fn report(self, measured_run: &MeasuredRun) -> Run {
        let duration_ns = self.end_ns.saturating_sub(self.workload.warmup_ns);
        let cpu_time_ns = duration_ns * u64::from(self.workload.cpus);
        let busy_ns: u64 = self.rows.iter().map(|row| row.service_ns).sum();
        let threads = &measured_run.threads;
        let DelayResults { response_ns, wait_ns, wait_buckets, wake_delay_ns, slowdown } =
            self.delays.finish();
        Run {
            policy: measured_run.policy.clone(),
            rep: measured_run.rep,
            deterministic: None,
            duration_ns,
            switches: threads.iter().map(|thread| thread.switches).sum(),
            migrations: threads.iter().map(|thread| thread.migrations).sum(),
            migrations_by_distance: None,
            shard_migrations: None,
            decisions: None,
            host_calls: None,
            utilization: if cpu_time_ns == 0 { 0.0 } else { busy_ns as f64 / cpu_time_ns as f64 },
            jain: metrics::jain(&self.rows),
            seniority: None,
            response_ns,
            wait_ns,
            wait_buckets,
            wake_delay_ns,
            slowdown,
            tasks: metrics::results(self.rows, cpu_time_ns),
            programs: Vec::new(),
            first_decisions: None,
            figures: None,
            schedule: None,
        }
    }
}

/// The task of a thread in the fluid model.
fn id(thread: usize) -> TaskId {
    TaskId::at(thread + 1)
}

fn processes(workload: &Workload) -> Vec<Option<u32>> {
    let mut names: Vec<&str> = workload.tasks.iter().filter_map(|task| task.process.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    let number = |name: &str| names.binary_search(&name).ok().map(|i| i as u32);
    let process = |name: &Option<String>| name.as_deref().and_then(number);
    workload.tasks.iter().map(|task| process(&task.process)).collect()
}

#[cfg(test)]
mod tests;
