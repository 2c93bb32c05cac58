//! Which CPUs share a core, a last-level cache, a node, and what it costs a task to go from one to another.

use divvy_policy::CpuId;

/// The topology of a machine. CPUs that share something have neighbouring numbers: with `smt` 2 the first core has CPUs 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// CPUs (hardware threads) of a core.
    pub smt: u32,
    /// CPUs that share a last-level cache.
    pub llc: u32,
    /// Caches of a node; `None` if all are of one.
    pub node: Option<u32>,
    /// CPU time lost when a task resumes so far from the CPU where it ran last, on top of the other costs; by [`Distance`].
    pub costs_ns: [u64; Distance::ALL.len()],
}

/// How far a task that changes its CPU goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// To another hardware thread of the core.
    SameCore,
    /// To another core with the same last-level cache.
    SameLlc,
    /// To another cache of the node.
    SameNode,
    /// To another node.
    OtherNode,
}

impl Distance {
    /// All of them, the shortest first.
    pub const ALL: [Distance; 4] =
        [Distance::SameCore, Distance::SameLlc, Distance::SameNode, Distance::OtherNode];
}

impl Topology {
    /// The keys of the costs, in the order of [`Distance::ALL`].
    pub const COSTS: [&'static str; Distance::ALL.len()] =
        ["same_core_cost", "same_llc_cost", "same_node_cost", "other_node_cost"];

    /// A cache for each `llc` CPUs; cores of one thread, one node, no costs.
    #[must_use]
    pub fn of_caches(llc: u32) -> Topology {
        Topology { smt: 1, llc, node: None, costs_ns: [0; Distance::ALL.len()] }
    }

    /// CPUs of a node; `None` if there is one node.
    #[must_use]
    pub fn node_cpus(&self) -> Option<u32> {
        Some(self.node?.saturating_mul(self.llc))
    }

    /// How far it is from one CPU to another one.
    #[must_use]
    pub fn distance(&self, from: CpuId, to: CpuId) -> Distance {
        let share = |cpus: u32| from.get() / cpus == to.get() / cpus;
        if share(self.smt) {
            Distance::SameCore
        } else if share(self.llc) {
            Distance::SameLlc
        } else if self.node_cpus().is_none_or(share) {
            Distance::SameNode
        } else {
            Distance::OtherNode
        }
    }

    /// The CPU time that a task loses which resumes so far away.
    #[must_use]
    pub fn cost_ns(&self, distance: Distance) -> u64 {
        self.costs_ns[distance as usize]
    }
}
