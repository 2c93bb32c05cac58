//! A machine: one policy with its modifiers, running tasks on CPUs.

use std::alloc::dealloc;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::called::Called;
use crate::config::{MachineConfig, MachineError};
use crate::event::{Answer, Event};
use crate::host;
use crate::host::{Host, RawMachine, allocate, layout, modifier_bit};
use crate::id::{CpuId, CpuMask, MAX_CPUS, MAX_GROUPS, MAX_TASKS, TaskId};
use crate::spec::{FLOW, Spec};
use crate::text;
use crate::weight::Weight;

/// The decision of a machine for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The task.
    pub task: TaskId,
    /// Its slice, in ns; `u64::MAX` is without end.
    pub slice_ns: u64,
    /// Another CPU that is to dispatch, because this one was asked to for the sake of another task.
    pub asked: Option<CpuId>,
}

/// A limit of CPU time, as `cpu.max` and `cpu.max.burst` of a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuLimit {
    /// CPU time in each period, in ns; not 0.
    pub quota_ns: u64,
    /// The period, in ns; not 0.
    pub period_ns: u64,
    /// CPU time that may be saved up beside the quota, in ns.
    pub burst_ns: u64,
}

/// A number that a policy keeps of each task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// As its paper calls it.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
}

/// How far predictions were from what they predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Predictions {
    /// Runs that were predicted.
    pub runs: u64,
    /// CPU time that these runs used.
    pub actual_ns: u64,
    /// The differences from what was predicted, each counted as positive.
    pub error_ns: u64,
}

/// The knowledge of the modifier flow about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramState {
    /// Predictions in all executions.
    pub predictions: Predictions,
    /// Predictions in the execution that ended last.
    pub last: Predictions,
    /// Executions that ended and had a run.
    pub executions: u64,
    /// Times that a timeslice's end was put off.
    pub delays: u64,
    /// Times that the CPU then was released before the delay was over.
    pub met: u64,
    /// Timeslices that were shortened.
    pub early_switches: u64,
    /// Its PFS: each run with the wait after it, in ns.
    pub sequence: Vec<(u64, u64)>,
}

/// One policy with its modifiers. It is told the events of sched_ext, in the kernel's order, and decides.
///
/// Its methods do not check their arguments' order (the engine above does): ids must be known and below
/// [`MAX_TASKS`], CPUs below the number given, and time may not go backwards.
pub struct Machine {
    pub(crate) raw: NonNull<RawMachine>,
    pub(crate) host: &'static Host,
    cpus: u32,
    quantum_ns: u64,
    knows_programs: bool,
    /// Some group has, or had, a limit: else nobody is held.
    is_limited: bool,
    /// Keeps what is shared as long as it is used.
    pub(crate) programs: Option<Arc<Programs>>,
    /// The functions of a policy that is not written in C. They live as long as the machine.
    pub(crate) author: Option<Called>,
}

impl Machine {
    /// A new machine, on which there are no tasks.
    ///
    /// # Errors
    /// [`MachineError`] says which name is unknown or which number is out of range.
    pub fn new(config: &MachineConfig) -> Result<Machine, MachineError> {
        let policy = config.policy;
        Machine::of_host(
            find_host(policy).ok_or_else(|| MachineError::UnknownPolicy(policy.to_owned()))?,
            config,
        )
    }

    /// The same of a policy whose table is at hand.
    pub(crate) fn of_host(host: &'static Host, config: &MachineConfig) -> Result<Machine, MachineError> {
        Machine::around(host, config, None)
    }

    /// The same of a policy whose functions are not in the table.
    pub(crate) fn around(
        host: &'static Host,
        config: &MachineConfig,
        author: Option<Called>,
    ) -> Result<Machine, MachineError> {
        let &MachineConfig { policy, cpus, quantum_ns, .. } = config;
        if cpus == 0 || cpus > MAX_CPUS {
            return Err(MachineError::Cpus(cpus));
        }
        let mut bits = 0;
        for &name in &config.modifiers {
            bits |= modifier_bit(name).ok_or_else(|| MachineError::UnknownModifier(name.to_owned()))?;
        }
        let knows_programs = config.modifiers.contains(&FLOW);
        let raw = allocate(host, cpus);
        let (is_limited, programs) = (false, None);
        let machine = Machine { raw, host, cpus, quantum_ns, knows_programs, is_limited, programs, author };
        let raw = machine.raw.as_ptr();
        // SAFETY: zeroed memory of the host's size, and the calls in the order that host.h states.
        unsafe { (host.prepare)(raw, bits) };
        if let Some(author) = &machine.author {
            author.attach(machine.raw, host);
        }
        for param in &config.params {
            let (owner, count) = machine.param_owner(policy, param.owner)?;
            let index = u32::try_from(param.index).ok().filter(|index| *index < count);
            let index =
                index.ok_or_else(|| MachineError::ParamIndex { owner: param.owner.to_owned(), count })?;
            // SAFETY: the index is within the owner's parameters.
            unsafe { (host.set_param)(raw, owner, index, param.raw) };
        }
        // SAFETY: as above.
        unsafe { (host.init)(raw, cpus, quantum_ns) };
        Ok(machine)
    }

    /// The machine that a spec describes.
    ///
    /// # Errors
    /// [`MachineError`] if the number of CPUs is out of range, or if the spec was not made by
    /// [`parse`](crate::spec::parse) and names what does not exist.
    pub fn from_spec(spec: &Spec, cpus: u32, quantum_ns: u64) -> Result<Machine, MachineError> {
        Machine::new(&MachineConfig::from_spec(spec, cpus, quantum_ns)?)
    }

    /// The same with tasks that are runnable from the beginning, each a process of its own. They come in this order.
    ///
    /// # Errors
    /// As [`Machine::from_spec`].
    pub fn with_runnable(
        spec: &Spec,
        cpus: u32,
        quantum_ns: u64,
        tasks: impl IntoIterator<Item = (TaskId, Weight)>,
    ) -> Result<Machine, MachineError> {
        let mut machine = Machine::from_spec(spec, cpus, quantum_ns)?;
        for (task, weight) in tasks {
            machine.add(task, task, weight, 0);
            machine.wake(task, true, 0);
        }
        Ok(machine)
    }

    /// How C names the owner of a parameter (0 is the policy, else a modifier's bit), and the number of its parameters.
    fn param_owner(&self, policy: &str, owner: &str) -> Result<(u32, u32), MachineError> {
        if owner == policy {
            return Ok((0, self.host.nparams));
        }
        let bit = modifier_bit(owner).ok_or_else(|| MachineError::UnknownOwner(owner.to_owned()))?;
        Ok((bit, host::modifiers().iter().find(|m| m.bit == bit).map_or(0, |m| m.nparams)))
    }

    /// A task exists, and is not runnable yet. `process` is the id of the task that stands for its process.
    pub fn add(&mut self, task: TaskId, process: TaskId, weight: Weight, now_ns: u64) {
        debug_assert!(task.get() < MAX_TASKS && process.get() < MAX_TASKS);
        // SAFETY: the machine is initialised and the ids are within its pool; so below.
        unsafe { (self.host.new)(self.raw.as_ptr(), task.get(), process.get(), weight.fixed(), now_ns) }
    }

    /// A task that is not runnable is gone.
    pub fn remove(&mut self, task: TaskId, now_ns: u64) {
        // SAFETY: see `add`.
        unsafe { (self.host.exit)(self.raw.as_ptr(), task.get(), now_ns) }
    }

    /// The program of a task begins this much work. Told before the task becomes runnable, or while it runs; policies
    /// that do not know the future do not hear of it.
    pub fn bring(&mut self, task: TaskId, work_ns: u64) {
        if let Some(bring) = self.host.bring {
            // SAFETY: see `add`.
            unsafe { bring(self.raw.as_ptr(), task.get(), work_ns) }
        }
    }

    /// A task becomes runnable: for the first time, or again. Returns the CPU that must dispatch because of it.
    pub fn wake(&mut self, task: TaskId, is_new: bool, now_ns: u64) -> Option<CpuId> {
        // SAFETY: see `add`.
        CpuId::from_answer(unsafe { (self.host.wake)(self.raw.as_ptr(), task.get(), now_ns, is_new.into()) })
    }

    /// A task that is on a CPU, where it ran for `ran_ns` since [`Machine::running`], blocks or exits.
    pub fn block(&mut self, task: TaskId, ran_ns: u64, exits: bool, now_ns: u64) {
        // SAFETY: see `add`.
        unsafe { (self.host.off)(self.raw.as_ptr(), task.get(), ran_ns, now_ns, exits.into()) }
    }

    /// A task that waits is no longer runnable.
    pub fn withdraw(&mut self, task: TaskId, exits: bool, now_ns: u64) {
        // SAFETY: see `add`.
        unsafe { (self.host.quiescent)(self.raw.as_ptr(), task.get(), now_ns, exits.into()) }
    }

    /// Decides what a CPU runs from now on. A task that ran there and is not chosen again must be given to
    /// [`Machine::requeue`] before time goes on.
    pub fn dispatch(&mut self, on: CpuId, now_ns: u64) -> Option<Decision> {
        // SAFETY: see `add`.
        let order = unsafe { (self.host.dispatch)(self.raw.as_ptr(), on.get(), now_ns) };
        TaskId::from_raw(order.id).map(|task| Decision {
            task,
            slice_ns: order.slice,
            asked: CpuId::from_answer(order.kick),
        })
    }

    /// The task that a CPU ran for `ran_ns` is off it and still runnable. Returns the CPU that must dispatch.
    pub fn requeue(&mut self, task: TaskId, ran_ns: u64, now_ns: u64) -> Option<CpuId> {
        // SAFETY: see `add`.
        CpuId::from_answer(unsafe { (self.host.requeue)(self.raw.as_ptr(), task.get(), ran_ns, now_ns) })
    }

    /// A dispatched task is on its CPU.
    pub fn running(&mut self, task: TaskId, now_ns: u64) {
        // SAFETY: see `add`.
        unsafe { (self.host.running)(self.raw.as_ptr(), task.get(), now_ns) }
    }

    /// [`Machine::requeue`] for a task and [`Machine::running`] for the one that takes its CPU from `from_ns` on, in one call.
    pub fn change(
        &mut self,
        task: TaskId,
        ran_ns: u64,
        now_ns: u64,
        next: TaskId,
        from_ns: u64,
    ) -> Option<CpuId> {
        // SAFETY: see `add`.
        CpuId::from_answer(unsafe {
            (self.host.change)(self.raw.as_ptr(), task.get(), ran_ns, now_ns, next.get(), from_ns)
        })
    }

    /// The task on this CPU yields: the next dispatch there ends its slice as yielded.
    pub fn yielding(&mut self, on: CpuId) {
        // SAFETY: see `add`.
        unsafe { (self.host.yielding)(self.raw.as_ptr(), on.get()) }
    }

    /// A task's own weight changes.
    pub fn set_weight(&mut self, task: TaskId, weight: Weight, now_ns: u64) {
        // SAFETY: see `add`.
        unsafe { (self.host.set_weight)(self.raw.as_ptr(), task.get(), weight.fixed(), now_ns) }
    }

    /// A group of tasks exists, or has another weight; see [`Event::SetGroup`].
    pub fn set_group(&mut self, group: u32, parent: u32, weight: Weight, now_ns: u64) {
        debug_assert!(group > 0 && group < MAX_GROUPS && parent < MAX_GROUPS);
        self.tell(&Event::SetGroup { group, parent, weight }, now_ns);
    }

    /// A group gets at most so much CPU time from now on (`policy/limits.h`); with `None` as much as comes. Told before its tasks
    /// are runnable, or later.
    pub fn set_limit(&mut self, group: u32, limit: Option<CpuLimit>, now_ns: u64) {
        debug_assert!(group > 0 && group < MAX_GROUPS);
        let CpuLimit { quota_ns, period_ns, burst_ns } =
            limit.unwrap_or(CpuLimit { quota_ns: 0, period_ns: 1, burst_ns: 0 });
        self.is_limited = true;
        // SAFETY: see `add`.
        unsafe { (self.host.set_limit)(self.raw.as_ptr(), group, quota_ns, period_ns, burst_ns, now_ns) }
    }

    /// When a task that is held, because its group is used up, may run again at the earliest, in ns; `None` if none is held.
    pub fn release_due_ns(&self, now_ns: u64) -> Option<u64> {
        // SAFETY: see `add`.
        let due = unsafe { (self.host.due)(self.raw.as_ptr(), now_ns) };
        (due != u64::MAX).then_some(due)
    }

    /// Takes the next task that was held and may run now back among those that wait. With it comes the CPU that must
    /// dispatch because of it; `None` if there is no such task.
    pub fn release(&mut self, now_ns: u64) -> Option<(TaskId, Option<CpuId>)> {
        // SAFETY: see `add`.
        let order = unsafe { (self.host.release)(self.raw.as_ptr(), now_ns) };
        TaskId::from_raw(order.id).map(|task| (task, CpuId::from_answer(order.kick)))
    }

    /// Whether a task is held, because a group around it is used up.
    pub fn holds(&self, task: TaskId) -> bool {
        // SAFETY: see `add`.
        unsafe { (self.host.holds)(self.raw.as_ptr(), task.get()) }
    }

    /// Tasks that are held. It is asked at every instant, and mostly there is no limit.
    #[inline]
    pub fn held(&self) -> u64 {
        // SAFETY: see `add`.
        if self.is_limited { unsafe { (self.host.held)(self.raw.as_ptr()) }.into() } else { 0 }
    }

    /// A task is in another group, or in none (0).
    pub fn enter_group(&mut self, task: TaskId, group: u32, now_ns: u64) {
        debug_assert!(group < MAX_GROUPS);
        self.tell(&Event::EnterGroup { task, group }, now_ns);
    }

    /// Where a task may run from now on. Returns the CPU that must dispatch because of it.
    pub fn set_allowed(&mut self, task: TaskId, mask: &CpuMask, now_ns: u64) -> Option<CpuId> {
        let words = mask.words();
        // SAFETY: see `add`; so many words are there.
        CpuId::from_answer(unsafe {
            let n = words.len() as u32;
            (self.host.set_allowed)(self.raw.as_ptr(), task.get(), words.as_ptr(), n, now_ns)
        })
    }

    /// Turns of a whole quantum each, with nobody coming or going: again and again all CPUs decide, the first first,
    /// and run for a quantum, from `now_ns` on. The tasks that ran go into `ran`, round by round; `None` is idle. They are
    /// the calls that a caller could make one by one, without leaving C for each. Returns when the last quantum ends, in ns.
    ///
    /// # Panics
    /// If `ran` is not as long as some whole rounds.
    pub fn turns(&mut self, now_ns: u64, ran: &mut [Option<TaskId>]) -> u64 {
        self.turns_by(self.host.turns, now_ns, ran)
    }

    fn turns_by(&mut self, turns: host::TakeTurns, now_ns: u64, ran: &mut [Option<TaskId>]) -> u64 {
        let rounds = ran.len() / self.cpus as usize;
        assert_eq!(rounds * self.cpus as usize, ran.len(), "whole rounds of {} CPUs", self.cpus);
        // SAFETY: see `add`; the buffer holds so many rounds, and an `Option<TaskId>` is C's number, 0 for none.
        unsafe { turns(self.raw.as_ptr(), now_ns, rounds as u64, ran.as_mut_ptr().cast()) }
        now_ns + rounds as u64 * self.quantum_ns
    }

    /// Tells any event, as a kernel's host does; the time is taken as not before that of earlier ones. Events
    /// must come in an order that `policy/machine.h` permits.
    pub fn tell(&mut self, event: &Event, now_ns: u64) -> Answer {
        let (kind, mut raw) = event.raw(now_ns);
        // SAFETY: see `add`; the event is laid out as the machine's, which a test compares.
        unsafe { (self.host.tell)(self.raw.as_ptr(), kind, &raw mut raw) }
        event.answer(&raw)
    }

    /// Whether it is of use to tell it which programs tasks execute.
    pub fn knows_programs(&self) -> bool {
        self.knows_programs
    }

    /// The knowledge of the modifier flow about a program; `None` if nothing, or if there is no such modifier.
    pub fn program(&self, identity: u64) -> Option<ProgramState> {
        // SAFETY: see `add`; the program is in the machine, and nobody else reaches it now.
        let raw = unsafe { (self.host.program)(self.raw.as_ptr(), identity).as_ref() }?;
        let (mut run_ns, mut wait_ns) = (vec![0; raw.n as usize], vec![0; raw.n as usize]);
        // SAFETY: the identity is known and its sequence has n entries, as the vectors have.
        unsafe {
            let (run, wait) = (run_ns.as_mut_ptr(), wait_ns.as_mut_ptr());
            (self.host.sequence)(self.raw.as_ptr(), identity, run, wait, raw.n);
        }
        Some(ProgramState {
            predictions: Predictions { runs: raw.runs.into(), actual_ns: raw.actual, error_ns: raw.error },
            last: Predictions {
                runs: raw.last_runs.into(),
                actual_ns: raw.last_actual,
                error_ns: raw.last_error,
            },
            executions: raw.executions.into(),
            delays: raw.delays.into(),
            met: raw.met.into(),
            early_switches: raw.earlies.into(),
            sequence: run_ns.into_iter().zip(wait_ns).collect(),
        })
    }

    /// A task's effective weight, after the modifiers.
    pub fn weight(&self, task: TaskId) -> Weight {
        // SAFETY: see `add`.
        Weight::from_fixed(unsafe { (self.host.weight)(self.raw.as_ptr(), task.get()) })
    }

    /// The group in which a group is, 0 for the root. [`Event::SetGroup`] does not move a group whose tasks the policy keeps in
    /// its queue, and some policies keep tasks that have blocked.
    pub fn group_parent(&self, group: u32) -> u32 {
        // SAFETY: see `add`.
        unsafe { (self.host.group_parent)(self.raw.as_ptr(), group) }
    }

    /// The values that the policy keeps of each task, for figures; in the order in which [`Machine::value`] numbers them.
    pub fn shown(&self) -> Vec<Shown> {
        // SAFETY: a constant table of string constants, of that length.
        unsafe {
            let rows = std::slice::from_raw_parts(self.host.shown, self.host.nshown as usize);
            rows.iter().map(|row| Shown { name: text(row.name), unit: text(row.unit) }).collect()
        }
    }

    /// One of these values of a task that exists. To look changes nothing.
    pub fn value(&self, index: u32, task: TaskId, now_ns: u64) -> i64 {
        // SAFETY: see `add`.
        unsafe { (self.host.show)(self.raw.as_ptr(), index, task.get(), now_ns) }
    }

    /// The tags of a task are `by_ns` later, or earlier if that is negative: it brings a lag from another machine. Told between
    /// [`Event::Runnable`] and [`Event::Enqueue`], to a policy that compares tasks by tags of their own only (sfq). In ns of a
    /// nice-0 task.
    pub fn carry(&mut self, task: TaskId, by_ns: i64, now_ns: u64) {
        // SAFETY: see `add`.
        unsafe { (self.host.carry)(self.raw.as_ptr(), task.get(), by_ns.cast_unsigned(), now_ns) }
    }

    /// A task that is on no CPU goes to another machine: gone from here, but its program goes on.
    pub fn depart(&mut self, task: TaskId, now_ns: u64) {
        // SAFETY: see `add`.
        unsafe { (self.host.depart)(self.raw.as_ptr(), task.get(), now_ns) }
    }

    /// The service that a task owes when it becomes runnable for the first time, because another one forked it, in ns.
    pub fn debit_ns(&self, task: TaskId) -> u64 {
        // SAFETY: see `add`.
        unsafe { (self.host.debit)(self.raw.as_ptr(), task.get()) }
    }

    /// Number of decisions that the policy was asked for.
    pub fn decisions(&self) -> u64 {
        // SAFETY: see `add`.
        unsafe { (self.host.decisions)(self.raw.as_ptr()) }
    }

    /// Times that the policy broke its contract; 0, or the policy is wrong.
    pub fn faults(&self) -> u64 {
        // SAFETY: see `add`.
        unsafe { (self.host.faults)(self.raw.as_ptr()) }
    }
}

/// The knowledge of programs, for all machines that it is [given to](Machine::share_programs).
pub struct Programs(pub(crate) Machine);

// SAFETY: only machines reach it, and those that share it are used by one thread at a time.
unsafe impl Sync for Programs {}

impl Machine {
    /// It uses and extends this knowledge of programs from now on. All machines that share it must be used by one thread at a time.
    pub fn share_programs(&mut self, programs: &Arc<Programs>) {
        let Machine { host: of_programs, raw, .. } = &programs.0;
        // SAFETY: both machines are initialised, `struct flow` is the same in all, and this one keeps it.
        unsafe { (self.host.share_flow)(self.raw.as_ptr(), (of_programs.flow)(raw.as_ptr())) }
        self.programs = Some(Arc::clone(programs));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.raw.as_ptr().cast(), layout(self.host, self.cpus)) }
    }
}

// SAFETY: a machine is plain memory that only its owner reaches.
unsafe impl Send for Machine {}

pub(crate) fn find_host(policy: &str) -> Option<&'static Host> {
    host::all()
        .into_iter()
        // SAFETY: a string constant.
        .find(|h| unsafe { text(h.name) } == policy)
        .or_else(|| crate::file::find(policy).map(|file| file.host()))
}

#[cfg(test)]
mod tests;
mod turn;
mod turns;

pub use turn::Turn;
pub use turns::Turns;
