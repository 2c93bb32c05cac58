//! The CPUs: what each one runs, when it is due, and which were asked to decide.

use std::ops::{Index, IndexMut};

use super::clock::NEVER;
use divvy_policy::{CpuId, CpuMask, TaskId};

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
    pub(super) fn switched_ns(&self, now_ns: u64) -> u64 {
        self.switch_ns - self.served_until_ns.saturating_sub(now_ns).min(self.switch_ns)
    }

    /// The task gets the CPU, and its service begins after `cost_ns`.
    pub(super) fn occupy(&mut self, task: TaskId, now_ns: u64, cost_ns: u64) {
        self.task = Some(task);
        self.last_task = Some(task);
        self.ran_ns = 0;
        self.served_until_ns = now_ns.saturating_add(cost_ns);
        self.switch_ns = self.served_until_ns - now_ns;
    }

    pub(super) fn vacate(&mut self, now_ns: u64) {
        self.task = None;
        self.idle_since_ns = now_ns;
    }

    /// Statistics begin now: what was done before is not counted.
    pub(super) fn restart(&mut self, now_ns: u64) {
        self.switch_ns -= self.switched_ns(now_ns);
        self.idle_since_ns = now_ns;
    }
}

/// CPUs whose least time is kept.
const BLOCK: usize = 16;

#[derive(Debug)]
pub(super) struct Cpus {
    cpus: Vec<Cpu>,
    /// When each CPU's slice or burst ends.
    due_ns: Vec<u64>,
    /// A time before which none of each [`BLOCK`] of them is due: an instant looks at these, and into the blocks that may be due.
    block_ns: Vec<u64>,
    /// CPUs asked to decide.
    asked: CpuMask,
    any_asked: bool,
}

impl Cpus {
    pub(super) fn new(n: usize) -> Cpus {
        Cpus {
            cpus: std::iter::repeat_with(Cpu::default).take(n).collect(),
            due_ns: vec![NEVER; n],
            block_ns: vec![NEVER; n.div_ceil(BLOCK)],
            asked: CpuMask::default(),
            any_asked: false,
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
        self.due_ns[cpu.index()] = at_ns;
        let block_ns = &mut self.block_ns[cpu.index() / BLOCK];
        *block_ns = at_ns.min(*block_ns);
    }

    /// The first CPU that is due before `before_ns`, and when; that time and the number of CPUs if none is.
    pub(super) fn first_due(&mut self, before_ns: u64) -> (u64, usize) {
        loop {
            let (at, block) = least(&self.block_ns, before_ns);
            if block == self.block_ns.len() {
                return (before_ns, self.due_ns.len());
            }
            let from = block * BLOCK;
            let of_block = &self.due_ns[from..self.due_ns.len().min(from + BLOCK)];
            let (first_ns, cpu) = least(of_block, NEVER);
            self.block_ns[block] = first_ns;
            if first_ns == at || self.block_ns.len() == 1 {
                return if first_ns < before_ns {
                    (first_ns, from + cpu)
                } else {
                    (before_ns, self.due_ns.len())
                };
            }
        }
    }

    /// The first CPU from this one on that is due.
    pub(super) fn next_due(&self, mut from: usize, now_ns: u64) -> Option<CpuId> {
        while from < self.due_ns.len() {
            if self.block_ns[from / BLOCK] > now_ns {
                from = (from / BLOCK + 1) * BLOCK;
            } else if self.due_ns[from] <= now_ns {
                return Some(CpuId::at(from));
            } else {
                from += 1;
            }
        }
        None
    }

    // ---- which are asked to decide ----

    pub(super) fn ask(&mut self, cpu: Option<CpuId>) {
        if let Some(cpu) = cpu {
            self.asked.insert(cpu);
            self.any_asked = true;
        }
    }

    /// The CPU decides: nobody need ask it.
    pub(super) fn clear_asked(&mut self, cpu: CpuId) {
        self.asked.remove(cpu);
    }

    pub(super) fn any_asked(&self) -> bool {
        self.any_asked
    }

    pub(super) fn take_asked(&mut self) -> CpuMask {
        self.any_asked = false;
        std::mem::take(&mut self.asked)
    }
}

/// The least of some times, and the first place where it is; `most` and the number of them if none is less.
fn least(times_ns: &[u64], most: u64) -> (u64, usize) {
    let (mut at, mut place) = (most, times_ns.len());
    for (i, &t) in times_ns.iter().enumerate() {
        if t < at {
            (at, place) = (t, i);
        }
    }
    (at, place)
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
    fn blocks_hide_nobody() {
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for n in [1, 5, 16, 17, 40] {
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
