//! The model as the engine's scheduler: tasks get numbers of the model, and what happens to them becomes commands.

use std::path::Path;

use divvy_log::{Header, LogWriter};
use divvy_policy::spec::Spec;
use divvy_policy::{CpuId, CpuLimit, TaskId, Weight};
use divvy_results::report::HostCalls;
use divvy_sim::engine::{Birth, Change, Scheduler};
use divvy_sim::run::seeded;
use divvy_workload::{Purpose, Workload, stream};

use super::check::cpu_weight;
use super::error::HostedError;
use super::message::{Change as ModelChange, Command, Opening};
use super::options::HostedOptions;
use super::processes::Processes;
use super::program::POOL;
use super::session::{Reply, Session};
use crate::load::Grouping;
use crate::load::cpus::Cpus;
use crate::load::grouping::looks_at_groups;
use crate::load::host::Config;

/// As the loader has it by default: half of the kernel's longest wait.
const STARVATION_LIMIT_MS: u32 = 15_000;

/// A task in the model.
#[derive(Clone, Copy, Debug)]
struct Known {
    task: TaskId,
    process: Option<usize>,
    /// The model was told that it ends.
    ends: bool,
}

/// A policy in the BPF host, in a model of sched_ext.
pub struct Hosted {
    session: Session,
    /// The model's time, ns.
    now_ns: u64,
    /// All CPUs, a bit each.
    all_cpus: u64,
    has_cgroups: bool,
    /// The modifiers look at the weights of cgroups.
    has_weights: bool,
    /// The model's number of each task, by id; that of a task which is gone means nothing.
    numbers: Vec<u32>,
    /// The tasks, by the model's number.
    known: Vec<Option<Known>>,
    free: Vec<u32>,
    processes: Processes,
    /// The task of each CPU, by the model's number.
    on_cpu: Vec<Option<u32>>,
    changes: Vec<Change>,
    decisions: u64,
    faults: u64,
    calls: HostCalls,
    log: Option<LogWriter>,
    /// Records of the log.
    records: u64,
    /// Why the run must end.
    failed: Option<String>,
}

impl Hosted {
    /// A new session with a model for a repetition of a workload, in which nothing has happened yet.
    ///
    /// # Errors
    /// If the model cannot be started, or its log not be written.
    pub(super) fn start(
        program: &Path,
        workload: &Workload,
        spec: &Spec,
        seed: u64,
        rep: u32,
        options: &HostedOptions,
    ) -> Result<Hosted, HostedError> {
        let spec = &seeded(spec, seed, rep);
        let cpus = &Cpus::first(workload.cpus as u16);
        let has_limits = workload.groups.iter().any(|group| group.cpu_max.is_some());
        let has_weights = looks_at_groups(spec);
        let has_cgroups = has_limits || has_weights && !workload.groups.is_empty();
        let config = Config {
            spec,
            cpus,
            quantum_ns: workload.quantum_ns,
            pool: POOL - 1,
            fail_every: 0,
            log: options.log.is_some(),
            rules: false,
            grouping: has_cgroups.then_some(Grouping::Cgroups),
            limits: has_limits,
            starvation_limit_ms: STARVATION_LIMIT_MS,
            sample: 0,
            tick_ns: options.kernel.tick_ns() as u32,
        };
        let header = || Header {
            spec: spec.to_string(),
            cpus: config.cpus.count(),
            pool: config.pool,
            quantum_ns: config.quantum_ns,
            shards: Vec::new(),
        };
        let log = options.log.as_ref().map(|path| LogWriter::create(path, &header())).transpose()?;
        let bytes = config.bytes();
        let opening = Opening {
            tick_ns: options.kernel.tick_ns(),
            seed: stream(seed, rep, 1, Purpose::Policy).next_u64(),
            cpus: workload.cpus,
            config_bytes: bytes.len() as u32,
            log: log.is_some(),
        };
        Ok(Hosted {
            session: Session::start(program, opening, &bytes)?,
            now_ns: 0,
            all_cpus: u64::MAX >> (64 - workload.cpus),
            has_cgroups,
            has_weights,
            numbers: Vec::new(),
            known: Vec::new(),
            free: Vec::new(),
            processes: Processes::default(),
            on_cpu: vec![None; workload.cpus as usize],
            changes: Vec::new(),
            decisions: 0,
            faults: 0,
            calls: HostCalls::default(),
            log,
            records: 0,
            failed: None,
        })
    }

    fn number(&self, task: TaskId) -> u32 {
        self.numbers[task.index()]
    }

    /// A number for a new task, if there is room.
    fn take_number(&mut self) -> Option<u32> {
        let number = self.free.pop().or_else(|| {
            let next = self.known.len() as u32;
            // One id of the pool is none.
            (next < POOL - 1).then(|| {
                self.known.push(None);
                next
            })
        });
        if number.is_none() && self.failed.is_none() {
            let most = POOL - 1;
            self.failed =
                Some(format!("more than {most} tasks at one time: the modelled kernel has no more ids"));
        }
        number
    }

    /// The task ends: by itself on its CPU, or from outside.
    fn end(&mut self, task: TaskId, itself: bool) {
        let number = self.number(task);
        let Some(known) = self.known.get_mut(number as usize).and_then(Option::as_mut) else { return };
        if known.ends {
            return;
        }
        known.ends = true;
        let process = known.process;
        let left = process.map(|process| self.processes.leave(process, number)).unwrap_or_default();
        self.session.tell(match itself {
            true => Command::Exit { task: number, lingers: left.lingers },
            false => Command::Kill { task: number, lingers: left.lingers },
        });
        if let Some(task) = left.reaped {
            self.session.tell(Command::Reap { task });
        }
    }

    fn hear(&mut self, reply: Reply) -> Result<(), String> {
        let Reply { answer, changes, records, error } = reply;
        (self.now_ns, self.decisions, self.faults) = (answer.now_ns, answer.decisions, answer.faults);
        self.calls = answer.calls;
        if let Some(log) = &mut self.log {
            log.records(&records).map_err(|error| error.to_string())?;
            self.records += (records.len() / divvy_log::RECORD_SIZE) as u64;
        }
        if let Some(error) = error {
            return Err(format!("the modelled kernel threw the scheduler out: {error}"));
        }
        for change in changes {
            match change {
                ModelChange::Gone { task } => {
                    self.known[task as usize] = None;
                    self.free.push(task);
                }
                ModelChange::Runs { cpu, task } => {
                    self.on_cpu[cpu as usize] = task;
                    let task = task.and_then(|number| self.known[number as usize]).map(|known| known.task);
                    self.changes.push(Change { cpu: CpuId::new(cpu), task });
                }
            }
        }
        Ok(())
    }
}

impl Scheduler for Hosted {
    const DECIDES_BY_ITSELF: bool = true;

    fn set_group(&mut self, group: u32, parent: u32, weight: Weight) {
        // Weights that no cgroup has were refused, unless nobody looks at them.
        let weight = if self.has_weights { weight } else { Weight::NICE_0 };
        if let Some(cpu_weight) = cpu_weight(weight).filter(|_| self.has_cgroups) {
            self.session.tell(Command::Group { number: group, parent, cpu_weight });
        }
    }

    fn set_limit(&mut self, group: u32, limit: CpuLimit) {
        self.session.tell(Command::Limit { group, limit });
    }

    fn add(&mut self, birth: &Birth<'_>, _now_ns: u64) {
        let Some(number) = self.take_number() else { return };
        let &Birth { task, process, weight, parent, group, mask } = birth;
        if self.numbers.len() <= task.index() {
            self.numbers.resize(task.index() + 1, 0);
        }
        self.numbers[task.index()] = number;
        self.known[number as usize] = Some(Known { task, process, ends: false });
        let nice = weight.nice();
        self.session.tell(Command::Create {
            task: number,
            parent: parent.map(|parent| self.number(parent)),
            leader: process.map_or(number, |process| self.processes.join(process, number)),
            nice: nice.unwrap_or(0).into(),
            weight: if nice.is_some() { 0 } else { weight.fixed() },
            group: group.filter(|_| self.has_cgroups).unwrap_or(0),
            mask: mask.and_then(|mask| mask.words().first().copied()).unwrap_or(self.all_cpus)
                & self.all_cpus,
        });
    }

    fn wake(&mut self, task: TaskId, _is_new: bool, by: Option<CpuId>, _now_ns: u64) -> Option<CpuId> {
        if self.failed.is_none() {
            self.session.tell(Command::Wake { task: self.number(task), by: by.map(CpuId::get) });
        }
        None
    }

    fn block(&mut self, task: TaskId, _ran_ns: u64, exits: bool, _now_ns: u64) {
        if exits {
            self.end(task, true);
        } else {
            self.session.tell(Command::Block { task: self.number(task) });
        }
    }

    /// [`Scheduler::remove`] follows.
    fn withdraw(&mut self, _task: TaskId, _now_ns: u64) {}

    fn remove(&mut self, task: TaskId, _now_ns: u64) {
        if self.failed.is_none() {
            self.end(task, false);
        }
    }

    fn yielding(&mut self, on: CpuId) {
        if let Some(task) = self.on_cpu[on.index()] {
            self.session.tell(Command::Yield { task });
        }
    }

    fn decisions(&self) -> u64 {
        self.decisions
    }

    fn faults(&self) -> u64 {
        self.faults
    }

    fn host_calls(&self) -> Option<HostCalls> {
        Some(self.calls)
    }

    fn run_until(&mut self, until_ns: u64) -> Result<u64, String> {
        loop {
            if let Some(failed) = self.failed.take() {
                return Err(failed);
            }
            let reply = self.session.run(self.now_ns, until_ns)?;
            self.hear(reply)?;
            // It may answer early, with records or with tasks that are gone.
            if !self.changes.is_empty() || self.now_ns >= until_ns {
                return Ok(self.now_ns);
            }
        }
    }

    fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    fn finish(&mut self) -> Result<(), String> {
        let finished = self.log.take().map_or(Ok(()), |log| log.finish(self.records, 0));
        finished.map_err(|error| error.to_string())
    }
}
