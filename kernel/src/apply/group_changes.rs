//! The cgroups whose `cpu.weight` divvy changed, and what they had before.

use std::collections::{BTreeMap, BTreeSet};

/// A changed cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupChange {
    /// The inode of its directory: one that was removed and made again has another.
    pub inode: u64,
    pub original: u32,
    /// The value that it has if nobody else changed it.
    pub now: u32,
}

/// All changed cgroups, by their paths from the root of the hierarchy.
#[derive(Debug, Default)]
pub struct GroupChanges {
    by_path: BTreeMap<String, GroupChange>,
    /// Somebody else changed these, or the kernel refused to: they are left alone.
    others: BTreeSet<String>,
}

impl GroupChanges {
    /// Adds a change. The original of an earlier one stays.
    pub fn add(&mut self, path: &str, mut change: GroupChange) {
        if let Some(earlier) = self.by_path.get(path).filter(|earlier| earlier.inode == change.inode) {
            change.original = earlier.original;
        }
        self.by_path.insert(path.to_owned(), change);
    }

    /// Whether the cgroup with this weight may be changed: nobody else changed it since.
    pub fn may_change(&mut self, path: &str, inode: u64, weight: u32) -> bool {
        if let Some(change) = self.by_path.get(path) {
            if change.inode == inode && change.now != weight {
                self.give_up(path);
            } else if change.inode != inode {
                self.by_path.remove(path);
            }
        }
        !self.others.contains(path)
    }

    /// Leaves it alone from now on.
    pub fn give_up(&mut self, path: &str) {
        self.by_path.remove(path);
        self.others.insert(path.to_owned());
    }

    pub fn remove(&mut self, path: &str) {
        self.by_path.remove(path);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &GroupChange)> {
        self.by_path.iter()
    }

    pub fn len(&self) -> usize {
        self.by_path.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_changed_is_left_alone() {
        let mut groups = GroupChanges::default();
        groups.add("/a", GroupChange { inode: 1, original: 300, now: 100 });
        groups.add("/a", GroupChange { inode: 1, original: 100, now: 200 });
        assert_eq!(groups.iter().map(|(_, change)| change.original).collect::<Vec<_>>(), [300]);
        assert!(groups.may_change("/a", 1, 200) && groups.may_change("/b", 2, 7));
        assert!(!groups.may_change("/a", 1, 50));
        assert!(!groups.may_change("/a", 1, 200), "for good");
    }

    #[test]
    fn one_that_was_made_again_is_another() {
        let mut groups = GroupChanges::default();
        groups.add("/a", GroupChange { inode: 1, original: 300, now: 100 });
        assert!(groups.may_change("/a", 2, 50));
        assert_eq!(groups.len(), 0);
    }
}
