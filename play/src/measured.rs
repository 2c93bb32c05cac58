//! From what was seen of real threads that ran a workload to a run's report: the rows, the fluid model and the
//! statistics are those of a simulation.
//!
//! What was seen of a thread between two stamps of its CPU clock is not known. Its service error is taken at stamps
//! only, so its extremes are as sharp as stamps are dense; where statistics begin, service is interpolated.

use divvy_policy::TaskId;
use divvy_results::metrics;
use divvy_results::metrics::{Delays, Job, Row};
use divvy_results::report::Run;
use divvy_sim::entitlement::Entitled;
use divvy_sim::sharing::Sharing;
use divvy_workload::{Task, Workload};

/// Something that was seen of a thread. Times are those of the run, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It came upon so much work; `u64::MAX` has no end.
    Brings {
        /// When, in ns.
        at_ns: u64,
        /// How much.
        work_ns: u64,
    },
    /// Its CPU clock.
    Stamp {
        /// When, in ns.
        at_ns: u64,
        /// CPU time since its birth.
        received_ns: u64,
    },
    /// It got a CPU for the first time since a wake-up.
    Ran {
        /// When it woke, in ns.
        woken_ns: u64,
        /// How long that took.
        delay_ns: u64,
    },
    /// A job is done.
    JobDone {
        /// When it was due, in ns.
        began_ns: u64,
        /// When it was done, in ns.
        ended_ns: u64,
        /// CPU time that it got.
        service_ns: u64,
        /// Time that it was runnable without a CPU.
        wait_ns: u64,
    },
}

/// What was seen of one instance of a task.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// Index into the workload's tasks.
    pub class: usize,
    /// Its number among the instances of its task, from 0.
    pub number: u32,
    /// When it became runnable for the first time, or began to think.
    pub born_ns: u64,
    /// When it was gone.
    pub ended_ns: u64,
    /// CPU time in all.
    pub received_ns: u64,
    /// Times that it left its CPU since statistics began.
    pub switches: u64,
    /// Times that it ran on another CPU than the last time since statistics began, where that is known.
    pub migrations: Option<u64>,
    /// In the order in which they were seen.
    pub sights: Vec<Sight>,
}

/// A run of real threads.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Who scheduled them.
    pub policy: String,
    /// Repetition.
    pub rep: u32,
    /// What tasks are entitled to by their weights.
    pub sharing: Sharing,
    /// In any order.
    pub lives: Vec<Life>,
}

/// What a run came to. Whoever was seen after the workload's end is taken to have been seen then.
pub fn report(workload: &Workload, observation: &Observation) -> Run {
    let mut account = Account::new(workload, observation);
    for event in events(observation, account.end_ns) {
        account.take(event);
    }
    account.report(observation)
}

#[derive(Clone, Copy, Debug)]
enum What {
    Born,
    Seen(Sight),
    Gone,
}

/// Something that happened to a life, by index.
#[derive(Clone, Copy, Debug)]
struct Event {
    at_ns: u64,
    life: usize,
    what: What,
}

/// All that happened, in order; of one life, in the order in which it was seen.
fn events(observation: &Observation, end_ns: u64) -> Vec<Event> {
    let mut events = Vec::new();
    for (life, seen) in observation.lives.iter().enumerate() {
        let mut last_ns = seen.born_ns.min(end_ns);
        let mut add = |at_ns: u64, what: What| {
            // A wake-up is told late; nothing else is.
            last_ns = last_ns.max(at_ns.min(end_ns));
            events.push(Event { at_ns: last_ns, life, what });
        };
        add(seen.born_ns, What::Born);
        seen.sights.iter().for_each(|&sight| add(sight.at_ns(), What::Seen(sight)));
        add(seen.ended_ns, What::Gone);
    }
    events.sort_by_key(|event| event.at_ns);
    events
}

impl Sight {
    fn at_ns(&self) -> u64 {
        match *self {
            Self::Brings { at_ns, .. } | Self::Stamp { at_ns, .. } => at_ns,
            Self::Ran { woken_ns, .. } => woken_ns,
            Self::JobDone { ended_ns, .. } => ended_ns,
        }
    }
}

impl Life {
    /// CPU time at this moment, on a line between the stamps around it.
    fn received_at(&self, at_ns: u64) -> u64 {
        let (mut before, mut after) = ((self.born_ns, 0), (self.ended_ns, self.received_ns));
        for sight in &self.sights {
            if let Sight::Stamp { at_ns: stamped_ns, received_ns } = *sight {
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

/// What is known of a life so far.
#[derive(Clone, Copy, Debug)]
struct Standing {
    row: usize,
    alive: bool,
    /// Received and entitled when statistics began.
    received_before_ns: u64,
    entitled_before_ns: f64,
    error_min_ns: f64,
    error_max_ns: f64,
}

struct Account<'a> {
    workload: &'a Workload,
    lives: &'a [Life],
    standings: Vec<Standing>,
    /// The number of each life's process, where threads divide their weight.
    processes: Vec<Option<u32>>,
    entitled: Entitled,
    rows: Vec<Row>,
    delays: Delays,
    warm: bool,
    end_ns: u64,
}

impl<'a> Account<'a> {
    fn new(workload: &'a Workload, observation: &'a Observation) -> Account<'a> {
        let mut rows = Vec::new();
        let mut places = Vec::new();
        for task in &workload.tasks {
            let own = metrics::rows_of(task);
            places.push((rows.len(), own.len()));
            rows.extend(own);
        }
        let standing = |life: &Life| {
            let (first, count) = places[life.class];
            Standing {
                row: first + (life.number as usize).min(count - 1),
                alive: false,
                received_before_ns: 0,
                entitled_before_ns: 0.0,
                error_min_ns: 0.0,
                error_max_ns: 0.0,
            }
        };
        let last_ns = observation.lives.iter().map(|life| life.ended_ns).max().unwrap_or(0);
        Account {
            workload,
            lives: &observation.lives,
            standings: observation.lives.iter().map(standing).collect(),
            processes: processes(workload),
            entitled: Entitled::new(workload.cpus, observation.sharing, &workload.groups),
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
        let (life, task) = (event.life, id(event.life));
        match event.what {
            What::Born => {
                let class = self.lives[life].class;
                let Task { weight, group, .. } = &self.workload.tasks[class];
                self.entitled.add(task, weight.weight(), self.processes[class], *group);
                self.standings[life].alive = true;
            }
            What::Seen(Sight::Brings { work_ns, .. }) => self.entitled.bring(task, work_ns, event.at_ns),
            What::Seen(Sight::Stamp { received_ns, .. }) => self.stamp(life, received_ns, event.at_ns),
            What::Seen(Sight::Ran { woken_ns, delay_ns }) => {
                if self.counts(woken_ns) {
                    self.rows[self.standings[life].row].delays.wake_delay.record(delay_ns);
                    self.delays.wake_delay.record(delay_ns);
                }
            }
            What::Seen(Sight::JobDone { began_ns, ended_ns, service_ns, wait_ns }) => {
                let row = &mut self.rows[self.standings[life].row];
                row.finished_ns = row.finished_ns.max(Some(event.at_ns));
                if self.counts(began_ns) {
                    let response_ns = ended_ns.saturating_sub(began_ns);
                    let job = Job { response_ns, wait_ns, service_ns };
                    self.rows[self.standings[life].row].delays.job(job);
                    self.delays.job(job);
                }
            }
            What::Gone => self.bury(life, event.at_ns),
        }
    }

    /// Whether what began then is counted.
    fn counts(&self, began_ns: u64) -> bool {
        self.warm && began_ns >= self.workload.warmup_ns
    }

    /// Statistics begin: what came before does not count, but for when a task's last job was done.
    fn warm_up(&mut self) {
        self.warm = true;
        let now = self.workload.warmup_ns;
        for life in 0..self.lives.len() {
            if self.standings[life].alive {
                let entitled = self.entitled.service_ns(id(life), now);
                let standing = &mut self.standings[life];
                standing.entitled_before_ns = entitled;
                standing.received_before_ns = self.lives[life].received_at(now);
            }
        }
        self.rows.iter_mut().for_each(Row::reset);
    }

    fn stamp(&mut self, life: usize, received_ns: u64, now_ns: u64) {
        if !self.warm {
            return;
        }
        let entitled = self.entitled.service_ns(id(life), now_ns);
        let standing = &mut self.standings[life];
        let received = received_ns as f64 - standing.received_before_ns as f64;
        let error_ns = received - (entitled - standing.entitled_before_ns);
        standing.error_min_ns = standing.error_min_ns.min(error_ns);
        standing.error_max_ns = standing.error_max_ns.max(error_ns);
    }

    fn bury(&mut self, life: usize, now_ns: u64) {
        let received_ns = self.lives[life].received_ns;
        self.entitled.withdraw(id(life), now_ns);
        self.standings[life].alive = false;
        if !self.warm {
            return;
        }
        self.stamp(life, received_ns, now_ns);
        let standing = self.standings[life];
        let entitled = self.entitled.service_ns(id(life), now_ns);
        let row = &mut self.rows[standing.row];
        row.service_ns += received_ns.saturating_sub(standing.received_before_ns);
        row.entitled_ns += entitled - standing.entitled_before_ns;
        row.error_min_ns = row.error_min_ns.min(standing.error_min_ns);
        row.error_max_ns = row.error_max_ns.max(standing.error_max_ns);
    }

    fn report(self, observation: &Observation) -> Run {
        let duration_ns = self.end_ns.saturating_sub(self.workload.warmup_ns);
        let cpu_time_ns = duration_ns * u64::from(self.workload.cpus);
        let busy_ns: u64 = self.rows.iter().map(|row| row.service_ns).sum();
        let lives = &observation.lives;
        Run {
            policy: observation.policy.clone(),
            rep: observation.rep,
            duration_ns,
            switches: lives.iter().map(|life| life.switches).sum(),
            migrations: lives.iter().map(|life| life.migrations).sum(),
            decisions: None,
            utilization: if cpu_time_ns == 0 { 0.0 } else { busy_ns as f64 / cpu_time_ns as f64 },
            jain: metrics::jain(&self.rows),
            response_ns: self.delays.response.finish(),
            wait_ns: self.delays.wait.finish(),
            wait_buckets: self.delays.wait_buckets.finish(),
            wake_delay_ns: self.delays.wake_delay.finish(),
            slowdown: self.delays.slowdown.finish_ratio(),
            tasks: self.rows.iter().map(|row| row.result(cpu_time_ns)).collect(),
            programs: Vec::new(),
            first_decisions: None,
            figures: None,
            schedule: None,
        }
    }
}

/// The fluid model's task of a life; 0 is none.
fn id(life: usize) -> TaskId {
    life as TaskId + 1
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
