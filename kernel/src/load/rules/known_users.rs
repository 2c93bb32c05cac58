//! A machine whose users were looked up before: a network may have to be asked for them, and may be away for a
//! while. Then they keep their numbers.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Key;
use super::resolve::Machine;

pub type Users = BTreeMap<String, u32>;

pub struct KnownUsers<'a> {
    pub machine: &'a dyn Machine,
    pub users: RefCell<&'a mut Users>,
}

impl Machine for KnownUsers<'_> {
    fn user(&self, name: &str) -> Option<u32> {
        let mut users = self.users.borrow_mut();
        let known = users.get(name).copied();
        let found = known.or_else(|| self.machine.user(name))?;
        users.insert(name.to_owned(), found);
        Some(found)
    }

    fn file(&self, path: &Path) -> Option<Key> {
        self.machine.file(path)
    }

    fn cgroup(&self, path: &str) -> Option<u64> {
        self.machine.cgroup(path)
    }

    fn units(&self, names: &BTreeSet<&str>) -> Vec<(String, u64)> {
        self.machine.units(names)
    }
}
