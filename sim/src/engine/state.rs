//! A run in progress: its parts, and how they are made from a workload.

use std::collections::BTreeMap;

use super::accounting::Accounting;
use super::class::Class;
use super::clock::{Clock, NEVER, Timer};
use super::cpus::Cpus;
use super::masks::Masks;
use super::notifier::Notifier;
use super::programs::Programs;
use super::scheduler::{Change, Scheduler};
use super::setup::Setup;
use super::sync::{SyncObjects, Tokens};
use super::tasks::Tasks;
use super::violation::Violation;
use crate::entitlement::Entitled;
use divvy_policy::{Machine, Shown};
use divvy_results::figures::Samples;
use divvy_results::observation::Observer;
use divvy_workload::program::Program;
use divvy_workload::{Arrivals, Purpose, Workload, stream};

/// One run in progress.
pub struct Engine<'a, S = Machine> {
    pub(super) workload: &'a Workload,
    pub(super) setup: Setup,
    /// Decides which task runs where.
    pub(super) scheduler: S,
    pub(super) clock: Clock,
    /// When tasks that are held are looked at next; [`NEVER`] if none is.
    pub(super) release_ns: u64,
    pub(super) cpus: Cpus,
    pub(super) tasks: Tasks,
    /// By index into the workload's tasks.
    pub(super) classes: Vec<Class>,
    pub(super) masks: Masks,
    pub(super) code: Vec<Program>,
    pub(super) programs: Programs,
    pub(super) sync: SyncObjects,
    /// Switches take no time: a task that gets a CPU is served at once.
    pub(super) switches_at_once: bool,
    /// The fluid model: what each task is entitled to.
    pub(super) entitled: Entitled,
    pub(super) accounts: Accounting,
    pub(super) sampling: Sampling,
    pub(super) notifier: Notifier<'a>,
    /// CPUs that have other tasks now, as a scheduler says that decides by itself.
    pub(super) changes: Vec<Change>,
}

/// Series over time, for figures.
pub(super) struct Sampling {
    pub wanted: bool,
    pub samples: Option<Samples>,
    /// When the next sample is due; [`NEVER`] without series.
    pub due_ns: u64,
}

impl<'a, S: Scheduler> Engine<'a, S> {
    /// A run of `workload` under `scheduler`, which must be new and have the workload's number of CPUs.
    #[must_use]
    pub fn new(workload: &'a Workload, scheduler: S, setup: Setup) -> Engine<'a, S> {
        let n = workload.cpus as usize;
        let mut engine = Engine {
            workload,
            scheduler,
            clock: Clock::default(),
            release_ns: NEVER,
            cpus: Cpus::new(n),
            tasks: Tasks::new(),
            classes: Vec::new(),
            masks: Masks::default(),
            code: Vec::new(),
            programs: Programs::default(),
            sync: SyncObjects::new(workload),
            switches_at_once: workload.switches_take_no_time(),
            entitled: Entitled::new(workload.cpus, setup.sharing, &workload.groups),
            accounts: Accounting::new(n, workload.warmup_ns == 0, setup.schedule),
            sampling: Sampling { wanted: false, samples: None, due_ns: NEVER },
            notifier: Notifier::default(),
            changes: Vec::new(),
            setup,
        };
        engine.make_groups();
        engine.make_classes();
        engine
    }

    /// Tells `observer` what happens to tasks. To be called before the run.
    pub fn observe(&mut self, observer: Observer<'a>) {
        self.notifier.observer = Some(observer);
    }

    /// Keeps series over time for the report's figures. To be called before the run.
    pub fn keep_series(&mut self) {
        self.sampling.wanted = true;
        self.restart_samples();
    }

    /// Tells the observer the values that the policy keeps of each task, too. Returns what they are. To be called
    /// before the run.
    pub fn tell_of_values(&mut self) -> Vec<Shown> {
        let shown = self.scheduler.shown();
        self.notifier.values = shown.len() as u32;
        shown
    }

    /// Begins the series over time, if they are wanted and the warm-up is over.
    pub(super) fn restart_samples(&mut self) {
        if self.sampling.wanted && self.accounts.warm {
            let samples = Samples::new(self.clock.now_ns, self.setup.until_ns, self.accounts.rows.len());
            self.sampling.due_ns = samples.due_ns();
            self.sampling.samples = Some(samples);
        }
    }

    pub(super) fn violation(&self, what: String) -> Violation {
        Violation { at_ns: self.clock.now_ns, what }
    }

    /// A group's id for the scheduler is its index plus 1, because 0 is none.
    fn make_groups(&mut self) {
        for (group, id) in self.workload.groups.iter().zip(1..) {
            let parent = group.parent.map_or(0, |parent| parent as u32 + 1);
            self.scheduler.set_group(id, parent, group.weight.weight());
            if let Some(limit) = group.cpu_max {
                self.scheduler.set_limit(id, limit);
            }
        }
    }

    fn make_classes(&mut self) {
        let workload = self.workload;
        let mut processes: BTreeMap<&str, usize> = BTreeMap::new();
        // Before all other timers: what begins when statistics do is counted.
        if !self.accounts.warm {
            self.clock.set(workload.warmup_ns, Timer::WarmedUp);
        }
        for (index, task) in workload.tasks.iter().enumerate() {
            let process = task.process.as_deref().map(|name| {
                let next = processes.len();
                *processes.entry(name).or_insert(next)
            });
            let (first_row, rows) = self.accounts.add_rows(index, task, &self.setup.rows);
            let executable = self.programs.number(workload.executable(index));
            let left = match task.arrivals {
                Arrivals::Open { limit, .. } => limit.unwrap_or(NEVER),
                _ => 0,
            };
            if index == 0 || workload.tasks[index - 1].program != task.program {
                self.code.push(Program::new(&task.program));
            }
            let key = divvy_workload::instance(index, 0);
            self.classes.push(Class {
                program: self.code.len() - 1,
                sleep_ends_job: !matches!(task.arrivals, Arrivals::Open { .. } | Arrivals::Closed { .. }),
                first_row,
                rows,
                weight: task.weight.weight(),
                mask: self.masks.number(task.affinity.as_deref()),
                process,
                group: task.group,
                executable,
                born: 0,
                arrivals: stream(self.setup.seed, self.setup.rep, key, Purpose::Arrival),
                left,
                stopped: false,
                instance: None,
                tokens: Tokens::default(),
            });
            if !matches!(task.arrivals, Arrivals::Forked { .. }) {
                self.clock.set(task.start_ns, Timer::Start { class: index as u32 });
            }
            if let Some(stop) = task.stop_ns {
                self.clock.set(stop, Timer::Stop { class: index as u32 });
            }
        }
        self.tasks.reserve_processes(processes.len());
    }
}
