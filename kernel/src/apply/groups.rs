//! The cgroups of users, and the weights that make users equal.

use std::collections::{BTreeMap, BTreeSet};

use super::machine::{Group, Machine, SetNice};
use crate::stock::threads::Thread;

/// systemd's parent of the users' cgroups.
const USERS: &str = "/user.slice";
/// The kernel's weight of a cgroup unless one is set.
const DEFAULT: u32 = 100;

/// The users' cgroups, siblings of each other. Those of systemd come first; others are found by the threads: the topmost cgroup that has
/// all threads of a user, and none of another.
pub fn of_users<S: SetNice>(machine: &Machine<S>, threads: &BTreeMap<u32, Thread>) -> Vec<Group> {
    let named = machine.children(USERS).into_iter().filter_map(|name| {
        let uid = name.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok()?;
        machine.group(&format!("{USERS}/{name}"), uid)
    });
    let named: Vec<Group> = named.collect();
    if named.is_empty() { by_threads(machine, threads) } else { named }
}

fn by_threads<S: SetNice>(machine: &Machine<S>, threads: &BTreeMap<u32, Thread>) -> Vec<Group> {
    let mut users_of: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    let mut paths_of: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for thread in threads.values().filter(|thread| !thread.is_kernel) {
        let Some(uid) = thread.uid else { continue };
        paths_of.entry(uid).or_default().insert(&thread.cgroup);
        for path in prefixes(&thread.cgroup) {
            users_of.entry(path).or_default().insert(uid);
        }
    }
    let mut families: BTreeMap<&str, Vec<Group>> = BTreeMap::new();
    for (uid, paths) in &paths_of {
        let Some(first) = paths.first() else { continue };
        let is_own = |path: &&str| {
            users_of[path].len() == 1
                && paths.iter().all(|other| prefixes(other).any(|prefix| prefix == *path))
        };
        let topmost = prefixes(first).find(|path| is_own(path) && machine.has_weight(path));
        if let Some(group) = topmost.and_then(|path| machine.group(path, *uid)) {
            let parent = topmost.and_then(|path| path.rsplit_once('/')).map_or("", |(parent, _)| parent);
            families.entry(parent).or_default().push(group);
        }
    }
    // Weights compare siblings only.
    families.into_values().max_by_key(Vec::len).unwrap_or_default()
}

/// A cgroup's path and those above it, from the top, without the root.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let is_root = path.len() < 2;
    let ends = path.match_indices('/').skip(1).map(|(end, _)| end).chain([path.len()]);
    ends.filter(move |_| !is_root).map(|end| &path[..end])
}

/// The weight that all get: theirs if it is the same, or else the kernel's default.
pub fn equal(groups: &[Group]) -> u32 {
    match groups {
        [first, rest @ ..] if rest.iter().all(|group| group.weight == first.weight) => first.weight,
        _ => DEFAULT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_paths_above_it() {
        assert_eq!(prefixes("/a/b/c").collect::<Vec<_>>(), ["/a", "/a/b", "/a/b/c"]);
        assert_eq!(prefixes("/a").collect::<Vec<_>>(), ["/a"]);
        assert_eq!(prefixes("/").count() + prefixes("").count(), 0);
    }

    #[test]
    fn equal_weights_stay_and_others_become_the_default() {
        let group = |weight| Group { uid: 1, path: "/a".to_owned(), inode: 1, weight };
        assert_eq!(equal(&[group(300), group(300)]), 300);
        assert_eq!(equal(&[group(300), group(100), group(300)]), 100);
        assert_eq!(equal(&[]), 100);
    }
}
