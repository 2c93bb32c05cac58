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

/// Both are printed as their numbers, and by `Debug` as well: lists and fields of them say what they are.
macro_rules! print_as_number {
    ($($id:ty),+) => {$(
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

print_as_number!(TaskId, CpuId);

/// Task ids are below this.
pub const MAX_TASKS: u32 = 1 << 20;
/// Ids of groups of tasks are below this; 0 is none.
pub const MAX_GROUPS: u32 = 4096;
/// Numbers of CPUs are below this.
pub const MAX_CPUS: u32 = 4096;

/// A set of CPUs, such as those where a task may run.
///
/// ```
/// use divvy_policy::{CpuId, CpuMask};
///
/// let mask: CpuMask = CpuId::first(66).filter(|cpu| cpu.get() != 2).collect();
/// assert!(mask.contains(CpuId::new(65)) && !mask.contains(CpuId::new(2)));
/// assert_eq!(mask.words()[1], 0b11);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuMask(Vec<u64>);

impl CpuMask {
    /// As C has it: a bit each, the first CPU's is the lowest of the first word. The last word is not 0.
    #[must_use]
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Sets the 64 CPUs of a word.
    ///
    /// # Panics
    /// If these are not below [`MAX_CPUS`].
    pub fn set_word(&mut self, index: usize, word: u64) {
        *self.word(index) = word;
        self.trim();
    }

    /// Adds a CPU.
    ///
    /// # Panics
    /// If it is not below [`MAX_CPUS`].
    pub fn insert(&mut self, cpu: CpuId) {
        *self.word(cpu.index() / 64) |= 1 << (cpu.index() % 64);
    }

    /// Takes a CPU out.
    ///
    /// # Panics
    /// If it is not below [`MAX_CPUS`].
    pub fn remove(&mut self, cpu: CpuId) {
        *self.word(cpu.index() / 64) &= !(1 << (cpu.index() % 64));
        self.trim();
    }

    /// Whether the CPU is in the set.
    #[must_use]
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.get(cpu.index() / 64).is_some_and(|word| word >> (cpu.index() % 64) & 1 == 1)
    }

    fn word(&mut self, index: usize) -> &mut u64 {
        assert!(index < MAX_CPUS as usize / 64, "CPUs are below {MAX_CPUS}");
        if index >= self.0.len() {
            self.0.resize(index + 1, 0);
        }
        &mut self.0[index]
    }

    /// The same set is the same words.
    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl FromIterator<CpuId> for CpuMask {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> CpuMask {
        let mut mask = CpuMask::default();
        cpus.into_iter().for_each(|cpu| mask.insert(cpu));
        mask
    }
}
