//! Identities: tasks, groups, CPUs, and their limits.
//!
//! A task and a CPU have types, so that neither is taken for the other, for a row of a report, or for a count.
//!
//! Times and durations have no type of their own: each is a `u64` of nanoseconds whose name ends in `_ns`, as in the
//! keys of every file format; times that people give for real waiting are a [`std::time::Duration`]. The engine and the
//! statistics add, compare, scale and saturate them everywhere. A type would need all of this arithmetic of `u64`, or would
//! be unwrapped at each use, and would tell a reader nothing that the name does not.

use std::fmt;
use std::num::NonZeroU32;

use serde::Serialize;

/// A task in a machine; below [`MAX_TASKS`]. 0 is no task, so an `Option<TaskId>` is laid out as C's number.
///
/// ```
/// use divvy_policy::TaskId;
///
/// let task = TaskId::new(7);
/// assert_eq!((task.get(), task.index(), task.to_string()), (7, 7, "7".to_owned()));
/// assert_eq!(TaskId::from_raw(0), None);
/// assert_eq!(size_of::<Option<TaskId>>(), size_of::<u32>());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct TaskId(NonZeroU32);

impl TaskId {
    /// The task of this number.
    ///
    /// # Panics
    /// If the number is 0.
    #[must_use]
    #[inline]
    pub const fn new(number: u32) -> TaskId {
        TaskId(NonZeroU32::new(number).expect("0 is no task"))
    }

    /// The task that C means by a number, in which 0 is none.
    #[must_use]
    #[inline]
    pub fn from_raw(number: u32) -> Option<TaskId> {
        NonZeroU32::new(number).map(TaskId)
    }

    /// The task whose values are at this place of a table; place 0 is no task's.
    ///
    /// # Panics
    /// If the place is 0.
    #[must_use]
    #[inline]
    pub const fn at(index: usize) -> TaskId {
        TaskId::new(index as u32)
    }

    /// Its number.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// Its place in a table of all tasks, of which place 0 is no task's.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0.get() as usize
    }

    /// All tasks, from the first: 1, 2, 3 and so on.
    pub fn all() -> impl Iterator<Item = TaskId> + Clone {
        (1..MAX_TASKS).map(TaskId::new)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As short as in a message: what has tasks is printed as lists and fields that name them.
impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The task with this number.
impl PartialEq<u32> for TaskId {
    #[inline]
    fn eq(&self, number: &u32) -> bool {
        self.get() == *number
    }
}

/// A CPU, from 0. A machine's are below [`MAX_CPUS`] and without gaps; a recording's are the kernel's.
///
/// ```
/// use divvy_policy::CpuId;
///
/// assert_eq!(CpuId::first(2).map(|cpu| format!("CPU {cpu}")).collect::<Vec<_>>(), ["CPU 0", "CPU 1"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct CpuId(u32);

/// C's answer instead of a CPU.
const NO_CPU: u32 = 0xffff;

impl CpuId {
    /// The CPU of this number.
    #[must_use]
    #[inline]
    pub const fn new(number: u32) -> CpuId {
        CpuId(number)
    }

    /// The CPU that a machine answers; it may be none.
    #[must_use]
    #[inline]
    pub fn from_answer(answer: u32) -> Option<CpuId> {
        (answer != NO_CPU).then_some(CpuId(answer))
    }

    /// The CPU whose values are at this place of a table.
    #[must_use]
    #[inline]
    pub const fn at(index: usize) -> CpuId {
        CpuId(index as u32)
    }

    /// Its number.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Its place in a table of all CPUs.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The first `n` CPUs, in order.
    pub fn first(n: usize) -> impl Iterator<Item = CpuId> + Clone {
        (0..n).map(CpuId::at)
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As short as that of a [`TaskId`].
impl fmt::Debug for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Task ids are below this.
pub const MAX_TASKS: u32 = 1 << 20;
/// Ids of groups of tasks are below this; 0 is none.
pub const MAX_GROUPS: u32 = 4096;
/// Numbers of CPUs are below this.
pub const MAX_CPUS: u32 = 256;

/// The CPUs where a task may run, a bit each.
pub type CpuMask = [u64; MAX_CPUS as usize / 64];

/// These CPUs.
#[must_use]
pub fn cpu_mask(cpus: &[CpuId]) -> CpuMask {
    let mut mask = CpuMask::default();
    for &cpu in cpus {
        mask[cpu.index() / 64] |= 1 << (cpu.index() % 64);
    }
    mask
}
