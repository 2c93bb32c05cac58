//! Identities: tasks, groups, CPUs, and their limits.

/// A task's index, from 1; below [`MAX_TASKS`].
pub type TaskId = u32;
/// Task ids are below this.
pub const MAX_TASKS: u32 = 1 << 20;
/// Ids of groups of tasks are below this; 0 is none.
pub const MAX_GROUPS: u32 = 4096;
/// Numbers of CPUs are below this.
pub const MAX_CPUS: u32 = 256;

/// The CPUs where a task may run, a bit each.
pub type CpuMask = [u64; MAX_CPUS as usize / 64];

const NO_CPU: u32 = 0xffff;

/// A CPU as the machine answers it.
pub(crate) fn cpu(answer: u32) -> Option<u32> {
    (answer != NO_CPU).then_some(answer)
}
