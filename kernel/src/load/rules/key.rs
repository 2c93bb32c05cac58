//! The numbers of this machine that rules are about, as the BPF host knows them.

use std::collections::BTreeMap;

/// The meaning of a number of this machine. The numbers are the host's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A user's number.
    User = 1,
    /// The number of a cgroup of version 2. It stands for those below it, too.
    Cgroup = 2,
    /// The file of an executable.
    File = 3,
}

/// Something of this machine that threads have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    /// Its kind.
    pub kind: Kind,
    /// The device of a file's superblock, as the kernel's `dev_t`; else 0.
    pub device: u32,
    /// A user's number, a cgroup's, or the inode number of a file.
    pub number: u64,
    /// The number of a file's owner; else 0.
    pub owner: u32,
}

impl Key {
    pub(super) const fn new(kind: Kind, number: u64) -> Self {
        Self { kind, device: 0, number, owner: 0 }
    }

    pub(super) const fn of_file(device: u32, number: u64, owner: u32) -> Self {
        Self { kind: Kind::File, device, number, owner }
    }
}

/// Weights in fixed point.
pub type Weights = BTreeMap<Key, u64>;
