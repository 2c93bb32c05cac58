//! Tasks on several shards: `SPEC@PLACEMENT`. A shard is a machine of its own for some neighbouring CPUs, at most 64.
//!
//! `papers/placement.md` has the algorithm and what is proved. [`Sharded`] is a [`Scheduler`](crate::engine::Scheduler) of the
//! engine: it owns the machines, tells each the events of its own tasks, and moves tasks between them. The policies are unchanged,
//! and none of them knows that there are others.
//!
//! | file | what it does |
//! |---|---|
//! | `shard.rs` | a shard: its machine, its CPUs, the tasks that wait in it, its virtual time |
//! | `tasks.rs` | the tasks, as they are known outside the machines |
//! | `moves.rs` | a task leaves a shard and enters another, with its lag |
//! | `choose.rs` | when a CPU takes a task from another shard, and which |
//! | `order.rs` | tags of tasks and loads of shards in their order |
//! | `wake.rs` | the shard in which a task wakes |
//! | `weights.rs` | weights that modifiers change, over all shards |
//! | `scheduler.rs` | the engine's events |

mod choose;
mod moves;
mod order;
mod scheduler;
mod shard;
mod tasks;
mod wake;
mod weights;

use divvy_policy::placement::{MOST_CPUS, Placement, Shards};
use divvy_policy::spec::Spec;
use divvy_policy::{Account, CpuId, Machine, MachineError, Programs, TaskId};
use divvy_workload::{Topology, Workload};

use self::order::Order;
use self::shard::Shard;
use self::tasks::Tasks;

/// Selections whose tasks have a tag of their own, by which alone they are compared: it can be carried to another machine
/// exactly (placement R4). Others begin there as new tasks do.
const CARRIED: [&str; 1] = ["sfq"];

/// Their switch of what forked tasks owe.
const DEBIT: &str = "debit";

/// Several machines that share the CPUs of a workload (placement R1).
pub struct Sharded {
    shards: Vec<Shard>,
    /// Weights, if there are several shards and modifiers that change them.
    account: Option<Account>,
    /// The shard of each CPU.
    home: Vec<usize>,
    order: Order,
    /// The tasks for which each CPU was asked since it decided last.
    callers: Vec<Vec<TaskId>>,
    /// The task on each CPU.
    running: Vec<Option<TaskId>>,
    tasks: Tasks,
    /// CPUs that are to decide, and that the engine was not told yet.
    asks: Vec<CpuId>,
    /// Tags are carried, and shards are compared by them.
    carries: bool,
    skew_quanta: u32,
    steal: bool,
    quantum_ns: u64,
    /// Times that a task went to another shard, while it waited or when it woke.
    moved: u64,
    /// Where tags are carried: the least tag of all runnable tasks until now, or the last that was runnable, ns of a nice-0 task.
    v: i64,
    /// Forked tasks begin with a debit.
    owes: bool,
    /// Numbers the tasks that begin to wait, in their order.
    turns: i64,
}

/// Why a workload cannot be placed on shards.
#[derive(Debug, thiserror::Error)]
pub enum PlacementProblem {
    /// A machine cannot be made.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A limit of CPU time.
    #[error(
        "the workload's group `{0}` has a cpu_max, which each of several shards would grant anew; leave out cpu_max or what comes after `@`"
    )]
    Limit(String),
    /// Shards of a topology that the workload does not have.
    #[error(
        "{workload} has no [topology], which says what CPUs share {what}; add `[topology]` with `llc = N` to it, or write `@shards:size=N`"
    )]
    NoTopology {
        /// The workload's name.
        workload: String,
        /// The part of the machine that is to be a shard.
        what: &'static str,
    },
    /// A part of the machine with more CPUs than a shard may have.
    #[error(
        "the [topology] of {workload} has {cpus} CPUs that share {what}, and a shard has at most {MOST_CPUS}; write `@shards:size={MOST_CPUS}`"
    )]
    TooLarge {
        /// The workload's name.
        workload: String,
        /// The part of the machine that is to be a shard.
        what: &'static str,
        /// Its CPUs.
        cpus: u32,
    },
}

impl Sharded {
    /// The machines of a spec for a workload.
    ///
    /// # Errors
    /// [`PlacementProblem`]: what needs one machine for all CPUs, if there is more than one shard.
    pub fn new(spec: &Spec, placement: Placement, workload: &Workload) -> Result<Sharded, PlacementProblem> {
        let cpus = workload.cpus;
        let size = shard_cpus(placement.shards, workload)?;
        let is_divided = size < cpus;
        if is_divided {
            check(workload)?;
        }
        let (account, programs) = match is_divided {
            true => {
                (Account::new(spec, cpus, workload.quantum_ns)?, Programs::new(spec, workload.quantum_ns)?)
            }
            false => (None, None),
        };
        let bare = if is_divided { spec.of_a_shard() } else { spec.without_placement() };
        let mut shards = Vec::new();
        for first in (0..cpus).step_by(size as usize) {
            let count = size.min(cpus - first);
            let mut machine = Machine::from_spec(&bare, count, workload.quantum_ns)?;
            programs.iter().for_each(|programs| machine.share_programs(programs));
            shards.push(Shard::new(machine, first, count));
        }
        let n = cpus as usize;
        Ok(Sharded {
            carries: shards.len() > 1 && CARRIED.contains(&spec.selection.name),
            account,
            home: (0..n).map(|cpu| cpu / size as usize).collect(),
            order: Order::new(n, shards.len()),
            callers: vec![Vec::new(); n],
            shards,
            running: vec![None; n],
            tasks: Tasks::default(),
            asks: Vec::new(),
            skew_quanta: placement.skew_quanta,
            steal: placement.steal,
            quantum_ns: workload.quantum_ns,
            moved: 0,
            v: 0,
            owes: spec.selection.settings.iter().all(|setting| setting.param != DEBIT || setting.raw != 0),
            turns: 0,
        })
    }

    /// Whether there is anything to place.
    fn is_divided(&self) -> bool {
        self.shards.len() > 1
    }
}

/// The CPUs of a shard; the last one may have fewer (placement R1).
fn shard_cpus(shards: Shards, workload: &Workload) -> Result<u32, PlacementProblem> {
    let (what, of): (_, fn(&Topology) -> Option<u32>) = match shards {
        Shards::EachCpu => return Ok(1),
        Shards::OfSize(size) => return Ok(size),
        Shards::EachLlc => ("a last-level cache", |topology| Some(topology.llc)),
        Shards::EachNode => ("a node", Topology::node_cpus),
    };
    let name = || workload.name.clone();
    let Some(topology) = &workload.topology else {
        return Err(PlacementProblem::NoTopology { workload: name(), what });
    };
    match of(topology).unwrap_or(workload.cpus) {
        cpus if cpus > MOST_CPUS => Err(PlacementProblem::TooLarge { workload: name(), what, cpus }),
        cpus => Ok(cpus),
    }
}

/// Refuses limits, which need a machine of all tasks (placement D2).
fn check(workload: &Workload) -> Result<(), PlacementProblem> {
    match workload.groups.iter().find(|group| group.cpu_max.is_some()) {
        Some(group) => Err(PlacementProblem::Limit(group.name.clone())),
        None => Ok(()),
    }
}
