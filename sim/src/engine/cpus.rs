//! The CPUs: what each one runs, when it is due, and which were asked to decide.

use std::ops::{Index, IndexMut};

use super::clock::NEVER;
use super::cpu_set::CpuSet;
use divvy_policy::{CpuId, TaskId};

#[derive(Debug, Default)]
pub(super) struct Cpu {
    /// `None` when idle.
    pub task: Option<TaskId>,
    /// The task that ran here last, to count switches.
    pub last_task: Option<TaskId>,
    /// Service is accounted until then. Later than now while the CPU switches to its task.
    pub served_until_ns: u64,
    /// Service since the machine was told that the task runs.
    pub ran_ns: u64,
    pub slice_ends_ns: u64,
    /// The cost of switching to the task, as far as it falls into the time that is counted.
    pub switch_ns: u64,
    /// When it became idle, if it is.
    pub idle_since_ns: u64,
}

impl Cpu {
    /// The part of the switch to its task that is done: all of it, unless the switch is in progress.
    #[inline]
    pub(super) fn switched_ns(&self, now_ns: u64) -> u64 {
        if self.switch_ns == 0 {
            return 0;
        }
        self.switch_ns - self.served_until_ns.saturating_sub(now_ns).min(self.switch_ns)
    }

    /// See [`Cpus::occupy`].
    fn occupy(&mut self, task: TaskId, now_ns: u64, cost_ns: u64) {
        self.task = Some(task);
        self.last_task = Some(task);
        self.ran_ns = 0;
        self.served_until_ns = now_ns.saturating_add(cost_ns);
        self.switch_ns = self.served_until_ns - now_ns;
    }

    fn vacate(&mut self, now_ns: u64) {
        self.task = None;
        self.idle_since_ns = now_ns;
    }

    /// Statistics begin now: what was done before is not counted.
    pub(super) fn restart(&mut self, now_ns: u64) {
        self.switch_ns -= self.switched_ns(now_ns);
        self.idle_since_ns = now_ns;
    }
}

#[derive(Debug)]
pub(super) struct Cpus {
    cpus: Vec<Cpu>,
    /// A binary tree of times: leaf `leaves + i` is when the slice or burst of CPU i ends, and each other node i has the lesser of
    /// its children, 2i and 2i + 1. The root is node 1.
    due_ns: Vec<u64>,
    leaves: usize,
    /// CPUs asked to decide.
    asked: CpuSet,
    /// Those that decide now, and were asked before.
    deciding: CpuSet,
    idle: CpuSet,
}

impl Cpus {
    pub(super) fn new(n: usize) -> Cpus {
        let mut idle = CpuSet::new(n);
        CpuId::first(n).for_each(|cpu| idle.insert(cpu));
        let leaves = n.next_power_of_two();
        Cpus {
            cpus: std::iter::repeat_with(Cpu::default).take(n).collect(),
            due_ns: vec![NEVER; 2 * leaves],
            leaves,
            asked: CpuSet::new(n),
            deciding: CpuSet::new(n),
            idle,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cpus.len()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = CpuId> + use<> {
        CpuId::first(self.cpus.len())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Cpu> {
        self.cpus.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Cpu> {
        self.cpus.iter_mut()
    }

    // ---- when they are due ----

    pub(super) fn set_due(&mut self, cpu: CpuId, at_ns: u64) {
        let mut node = self.leaves + cpu.index();
        let mut least = at_ns;
        while self.due_ns[node] != least {
            self.due_ns[node] = least;
            if node == 1 {
                return;
            }
            least = least.min(self.due_ns[node ^ 1]);
            node /= 2;
        }
    }

    /// The first CPU that is due before `before_ns`, and when; that time and the number of CPUs if none is.
    #[inline]
    pub(super) fn first_due(&self, before_ns: u64) -> (u64, usize) {
        let least = self.due_ns[1];
        if least >= before_ns {
            return (before_ns, self.cpus.len());
        }
        (least, self.first_below(1, least))
    }

    /// The first CPU below this node that is due; one is.
    fn first_below(&self, mut node: usize, now_ns: u64) -> usize {
        while node < self.leaves {
            node = 2 * node + usize::from(self.due_ns[2 * node] > now_ns);
        }
        node - self.leaves
    }

    /// The first CPU from this one on that is due.
    pub(super) fn next_due(&self, from: usize, now_ns: u64) -> Option<CpuId> {
        if self.due_ns[1] > now_ns || from >= self.cpus.len() {
            return None;
        }
        let mut node = self.leaves + from;
        while self.due_ns[node] > now_ns {
            // To the next subtree: up from where there is none beside, which ends above the root.
            node >>= node.trailing_ones();
            if node == 0 {
                return None;
            }
            node += 1;
        }
        Some(CpuId::at(self.first_below(node, now_ns)))
    }

    // ---- which run something ----

    /// The task gets the CPU, and its service begins after `cost_ns`. Returns for how long the CPU was idle.
    #[inline]
    pub(super) fn occupy(&mut self, cpu: CpuId, task: TaskId, now_ns: u64, cost_ns: u64) -> u64 {
        let c = &mut self.cpus[cpu.index()];
        let mut idle_ns = 0;
        if c.task.is_none() {
            self.idle.remove(cpu);
            idle_ns = now_ns - c.idle_since_ns;
        }
        c.occupy(task, now_ns, cost_ns);
        idle_ns
    }

    #[inline]
    pub(super) fn vacate(&mut self, cpu: CpuId, now_ns: u64) {
        self.idle.insert(cpu);
        self.cpus[cpu.index()].vacate(now_ns);
    }

    pub(super) fn idle(&self) -> &CpuSet {
        &self.idle
    }

    // ---- which are asked to decide ----

    pub(super) fn ask(&mut self, cpu: Option<CpuId>) {
        if let Some(cpu) = cpu {
            self.asked.insert(cpu);
        }
    }

    /// The CPU decides: nobody need ask it.
    #[inline]
    pub(super) fn clear_asked(&mut self, cpu: CpuId) {
        self.asked.remove(cpu);
    }

    pub(super) fn any_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Those that were asked until now decide.
    pub(super) fn begin_deciding(&mut self) {
        std::mem::swap(&mut self.asked, &mut self.deciding);
    }

    /// The next of these.
    pub(super) fn next_deciding(&mut self) -> Option<CpuId> {
        self.deciding.pop()
    }
}

impl Index<CpuId> for Cpus {
    type Output = Cpu;

    fn index(&self, cpu: CpuId) -> &Cpu {
        &self.cpus[cpu.index()]
    }
}

impl IndexMut<CpuId> for Cpus {
    fn index_mut(&mut self, cpu: CpuId) -> &mut Cpu {
        &mut self.cpus[cpu.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times come and go in any order; what is due is that of a plain list.
    #[test]
    fn the_tree_hides_nobody() {
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for n in [1, 5, 16, 17, 40, 256, 257, 600] {
            let (mut cpus, mut plain) = (Cpus::new(n), vec![NEVER; n]);
            for _ in 0..2000 {
                let (cpu, at) = (next(n as u64) as usize, if next(4) == 0 { NEVER } else { next(30) });
                cpus.set_due(CpuId::at(cpu), at);
                plain[cpu] = at;
                let before = if next(3) == 0 { NEVER } else { next(30) };
                let least = plain.iter().copied().min().filter(|&least| least < before);
                let first =
                    least.map(|least| (least, plain.iter().position(|&due| due == least).unwrap_or(n)));
                assert_eq!(cpus.first_due(before), first.unwrap_or((before, n)));
                let (from, now) = (next(n as u64 + 1) as usize, next(30));
                let due = (from..n).find(|&cpu| plain[cpu] <= now);
                assert_eq!(cpus.next_due(from, now), due.map(CpuId::at));
            }
        }
    }
}
