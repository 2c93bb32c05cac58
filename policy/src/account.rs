//! Parts that several machines share (`papers/placement.md`): the account of weights, and the knowledge of programs.

use std::sync::Arc;

use crate::config::{MachineConfig, MachineError};
use crate::event::Event;
use crate::host;
use crate::id::{CpuMask, TaskId};
use crate::machine::{Machine, Programs, find_host};
use crate::spec::{FLOW, Spec};
use crate::weight::Weight;

/// Works out the weights of the tasks of several machines: the modifiers of a spec, over all CPUs and all tasks. It is a machine that
/// never picks. The machines that do have no modifiers of weights of their own, and are given these weights as the tasks' own.
pub struct Account(Machine);

impl Account {
    /// The modifiers of weights that a spec has or its selection includes, on so many CPUs; `None` if there is none.
    ///
    /// # Errors
    /// As [`Machine::from_spec`], but it ignores the placement.
    pub fn new(spec: &Spec, cpus: u32, quantum_ns: u64) -> Result<Option<Account>, MachineError> {
        let includes = find_host(spec.selection.name).map_or(0, |host| host.modifiers);
        let included = host::modifiers().iter().filter(|modifier| modifier.bit & includes > 0);
        // SAFETY: a string constant.
        let included = included.map(|modifier| unsafe { crate::text(modifier.name) });
        let asked = spec.modifiers.iter().map(|modifier| modifier.name).filter(|name| *name != FLOW);
        let mut names: Vec<&str> = asked.chain(included).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Ok(None);
        }
        Ok(Some(Account(never_picks(spec, names, cpus, quantum_ns)?)))
    }

    /// See [`Machine::set_group`].
    pub fn set_group(&mut self, group: u32, parent: u32, weight: Weight) {
        self.0.set_group(group, parent, weight, 0);
    }

    /// A task exists, and is not runnable yet.
    pub fn add(&mut self, task: TaskId, process: TaskId, weight: Weight, now_ns: u64) {
        self.0.add(task, process, weight, now_ns);
    }

    /// See [`Machine::enter_group`].
    pub fn enter_group(&mut self, task: TaskId, group: u32, now_ns: u64) {
        self.0.enter_group(task, group, now_ns);
    }

    /// See [`Machine::set_allowed`].
    pub fn set_allowed(&mut self, task: TaskId, mask: &CpuMask, now_ns: u64) {
        self.0.set_allowed(task, mask, now_ns);
    }

    /// It becomes runnable. Returns its weight.
    pub fn join(&mut self, task: TaskId, now_ns: u64) -> Weight {
        self.0.tell(&Event::Runnable { task, is_new: false }, now_ns);
        self.0.weight(task)
    }

    /// It is not runnable any more.
    pub fn leave(&mut self, task: TaskId, now_ns: u64) {
        self.0.withdraw(task, false, now_ns);
    }

    /// A task that is not runnable is gone.
    pub fn remove(&mut self, task: TaskId, now_ns: u64) {
        self.0.remove(task, now_ns);
    }

    /// The next runnable task whose weight is another one than it was, with its weight. Each is there once; to be asked until there is
    /// none.
    pub fn next_change(&mut self, now_ns: u64) -> Option<(TaskId, Weight)> {
        // SAFETY: the machine is initialised.
        let task = TaskId::from_raw(unsafe { (self.0.host.changed)(self.0.raw.as_ptr(), now_ns) })?;
        Some((task, self.0.weight(task)))
    }
}

impl Programs {
    /// Nothing is known yet. `None` if the spec has no use for it.
    ///
    /// # Errors
    /// As [`Account::new`].
    pub fn new(spec: &Spec, quantum_ns: u64) -> Result<Option<Arc<Programs>>, MachineError> {
        if !spec.knows_programs() {
            return Ok(None);
        }
        Ok(Some(Arc::new(Programs(never_picks(spec, vec![FLOW], 1, quantum_ns)?))))
    }
}

/// A machine with these modifiers, as the spec has set them, with the account for a selection.
fn never_picks(
    spec: &Spec,
    modifiers: Vec<&str>,
    cpus: u32,
    quantum_ns: u64,
) -> Result<Machine, MachineError> {
    let mut config = MachineConfig::from_spec(&spec.without_placement(), cpus, quantum_ns)?;
    config.policy = "account";
    config.params.retain(|param| modifiers.contains(&param.owner));
    let config = MachineConfig { modifiers, ..config };
    Machine::of_host(host::account(), &config)
}
