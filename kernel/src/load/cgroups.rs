//! Which part of the machine each cgroup is to have, by `cpu.weight`, told to the scheduler as a weight.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use divvy_sim::policy;
use divvy_sim::spec::{self, Spec};

use super::commands::Backend;
use super::error::LoadError;
use super::host::{Account, Command};

/// Where the unified hierarchy is.
const ROOT: &str = "/sys/fs/cgroup";
/// What the host divides threads' weights by, for each cgroup's number of runnable threads.
const MODIFIER: &str = "procfair";
/// Between looks.
const LOOK: Duration = Duration::from_millis(200);
/// Directories that are looked at for the paths of new cgroups.
const MAX_WALK: usize = 1 << 16;
/// Of a cgroup that does not say; and of the tasks in a cgroup beside the cgroups in it.
const DEFAULT_WEIGHT: u32 = 100;
/// The whole machine. The host's weight 1 is 2^20: sixteen times that keeps the small parts precise.
const WHOLE: f64 = (1u64 << 24) as f64;
/// The host multiplies tasks' own weights by it.
const MAX_VALUE: f64 = (1u64 << 36) as f64;

/// The policy, with the modifier that makes a cgroup's weight that of all its threads together.
pub fn by_cgroup(spec: &Spec) -> Result<Spec, LoadError> {
    if spec.modifiers.iter().any(|part| part.name == MODIFIER) {
        return Ok(spec.clone());
    }
    let added = spec::parse(&format!("{spec}+{MODIFIER}"), policy::all());
    added
        .map_err(|error| LoadError::Mismatch(format!("--cgroups needs the modifier {MODIFIER}, but {error}")))
}

/// What was told, and what is needed to see what changed.
#[derive(Debug)]
pub struct Cgroups {
    root: PathBuf,
    next: Instant,
    /// By inode number.
    known: BTreeMap<u64, Known>,
    /// By the task's id: at the last look.
    received_ns: Vec<u64>,
}

#[derive(Debug, Default)]
struct Known {
    /// None: it is not below the root, or was gone when it was looked for.
    path: Option<PathBuf>,
    told: Option<u64>,
}

impl Cgroups {
    pub fn new() -> Self {
        Self::below(PathBuf::from(ROOT))
    }

    fn below(root: PathBuf) -> Self {
        Self { root, next: Instant::now(), known: BTreeMap::new(), received_ns: Vec::new() }
    }

    /// When to look.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Looks at all cgroups that have tasks (inode number, id), and tells the scheduler of those whose part changed.
    pub fn look(
        &mut self,
        cgroups: &[(u64, u32)],
        accounts: &[Account],
        backend: &impl Backend,
    ) -> Result<(), LoadError> {
        self.next = Instant::now() + LOOK;
        self.find(cgroups);
        let active = self.active(accounts);
        let values = self.values(cgroups, &active);
        for ((inode, id), value) in cgroups.iter().zip(values) {
            let Some(known) = self.known.get_mut(inode).filter(|known| known.told != Some(value)) else {
                continue;
            };
            let command = Command { index: *id, value, ..Command::default() };
            backend.run("command_set_cgroup", command).map_err(|problem| {
                LoadError::Io("cannot set a cgroup's weight".to_owned(), std::io::Error::other(problem))
            })?;
            known.told = Some(value);
        }
        Ok(())
    }

    /// Forgets those that are gone, and finds the paths of new ones.
    fn find(&mut self, cgroups: &[(u64, u32)]) {
        let inodes: BTreeSet<u64> = cgroups.iter().map(|(inode, _)| *inode).collect();
        self.known.retain(|inode, _| inodes.contains(inode));
        let new: BTreeSet<u64> = inodes.into_iter().filter(|inode| !self.known.contains_key(inode)).collect();
        if new.is_empty() {
            return;
        }
        let mut paths = paths(&self.root, &new);
        for inode in new {
            self.known.insert(inode, Known { path: paths.remove(&inode), told: None });
        }
    }

    /// Ids of the cgroups of which a task is runnable, or ran since the last look.
    fn active(&mut self, accounts: &[Account]) -> BTreeSet<u32> {
        let before =
            std::mem::replace(&mut self.received_ns, accounts.iter().map(|a| a.received_ns).collect());
        let rows = accounts.iter().enumerate();
        rows.filter(|(id, account)| {
            let ran = account.received_ns != before.get(*id).copied().unwrap_or(0);
            ran || (account.pid != 0 && account.runnable != 0)
        })
        .map(|(_, account)| account.process)
        .collect()
    }

    /// For each cgroup, in that order.
    fn values(&self, cgroups: &[(u64, u32)], active: &BTreeSet<u32>) -> Vec<u64> {
        let mut tree = Tree::below(&self.root);
        let nodes: Vec<usize> = cgroups
            .iter()
            .map(|(inode, id)| {
                let path = self.known.get(inode).and_then(|known| known.path.as_deref());
                let node = match path {
                    Some(path) => tree.node(path),
                    None => tree.add(0, DEFAULT_WEIGHT),
                };
                tree.groups[node].has_active_tasks |= active.contains(id);
                node
            })
            .collect();
        let parts = parts(&tree.groups);
        nodes.into_iter().map(|node| value(parts[node])).collect()
    }
}

/// The paths of cgroups, by inode number; of as many as are found.
fn paths(root: &Path, wanted: &BTreeSet<u64>) -> BTreeMap<u64, PathBuf> {
    let mut found = BTreeMap::new();
    if let Ok(inode) = fs::metadata(root).map(|directory| directory.ino())
        && wanted.contains(&inode)
    {
        found.insert(inode, root.to_owned());
    }
    let mut to_read = vec![root.to_owned()];
    let mut seen = 0;
    while let Some(directory) = to_read.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            seen += 1;
            if found.len() == wanted.len() || seen > MAX_WALK {
                return found;
            }
            if wanted.contains(&entry.ino()) {
                found.insert(entry.ino(), entry.path());
            }
            to_read.push(entry.path());
        }
    }
    found
}

/// A cgroup's `cpu.weight`. The root has none, and one that vanished needs none.
fn weight(cgroup: &Path) -> u32 {
    let text = fs::read_to_string(cgroup.join("cpu.weight")).unwrap_or_default();
    text.trim().parse().ok().filter(|weight| (1..=10_000).contains(weight)).unwrap_or(DEFAULT_WEIGHT)
}

/// The cgroups that have tasks, and those above them.
struct Tree<'a> {
    root: &'a Path,
    groups: Vec<Group>,
    nodes: BTreeMap<PathBuf, usize>,
}

impl<'a> Tree<'a> {
    fn below(root: &'a Path) -> Self {
        let mut tree = Self { root, groups: Vec::new(), nodes: BTreeMap::new() };
        tree.add(0, DEFAULT_WEIGHT);
        tree
    }

    fn add(&mut self, parent: usize, weight: u32) -> usize {
        self.groups.push(Group { parent, weight, has_active_tasks: false });
        self.groups.len() - 1
    }

    /// Of a path below the root; made, with those above it, if it is new.
    fn node(&mut self, path: &Path) -> usize {
        let Some(above) = path.parent().filter(|_| path != self.root) else { return 0 };
        if let Some(node) = self.nodes.get(path) {
            return *node;
        }
        let parent = self.node(above);
        let node = self.add(parent, weight(path));
        self.nodes.insert(path.to_owned(), node);
        node
    }
}

/// A cgroup in the tree. The first is the root, its own parent; the others come after their parents.
#[derive(Clone, Copy, Debug)]
struct Group {
    parent: usize,
    weight: u32,
    /// Beside those in the cgroups below.
    has_active_tasks: bool,
}

/// The part of the machine that the tasks in each group together are entitled to; those of a group that has none
/// active: would be, if they became so.
///
/// A group's part is divided among the active groups in it, by their weights. Its own tasks count as a group of
/// weight 100 in it.
fn parts(groups: &[Group]) -> Vec<f64> {
    let mut is_active: Vec<bool> = groups.iter().map(|group| group.has_active_tasks).collect();
    for (node, group) in groups.iter().enumerate().rev() {
        is_active[group.parent] |= is_active[node];
    }
    let own = |group: &Group| if group.has_active_tasks { f64::from(DEFAULT_WEIGHT) } else { 0.0 };
    let mut sums: Vec<f64> = groups.iter().map(own).collect();
    for (node, group) in groups.iter().enumerate().skip(1).filter(|(node, _)| is_active[*node]) {
        sums[group.parent] += f64::from(groups[node].weight);
    }
    // An inactive one is thought to be added.
    let share = |of: usize, weight: u32, is_active: bool| {
        let weight = f64::from(weight);
        weight / (sums[of] + if is_active { 0.0 } else { weight })
    };
    let mut whole = vec![1.0; groups.len()];
    for (node, group) in groups.iter().enumerate().skip(1) {
        whole[node] = whole[group.parent] * share(group.parent, group.weight, is_active[node]);
    }
    let of_tasks =
        |(node, group): (usize, &Group)| whole[node] * share(node, DEFAULT_WEIGHT, group.has_active_tasks);
    groups.iter().enumerate().map(of_tasks).collect()
}

/// A part as the host takes it.
fn value(part: f64) -> u64 {
    (part * WHOLE).round().clamp(1.0, MAX_VALUE) as u64
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const fn group(parent: usize, weight: u32, has_active_tasks: bool) -> Group {
        Group { parent, weight, has_active_tasks }
    }

    /// In 1/3600, so that all of these are whole.
    fn rounded(groups: &[Group]) -> Vec<u64> {
        parts(groups).iter().map(|part| (part * 3600.0).round() as u64).collect()
    }

    /// root: a (100), b (200).
    #[test]
    fn a_level_is_divided_by_weights() {
        let groups = [group(0, 100, false), group(0, 100, true), group(0, 200, true)];
        assert_eq!(rounded(&groups)[1..], [1200, 2400]);
    }

    /// root: a (100), b (200): b/x (300), b/y (100).
    #[test]
    fn a_group_divides_its_part() {
        let groups = [
            group(0, 100, false),
            group(0, 100, true),
            group(0, 200, false),
            group(2, 300, true),
            group(2, 100, true),
        ];
        let all = rounded(&groups);
        assert_eq!((all[1], all[3], all[4]), (1200, 1800, 600));
    }

    /// As before, but nobody works in b/y, nor in c (300): theirs is what they would have.
    #[test]
    fn an_inactive_group_takes_nothing_from_the_others() {
        let groups = [
            group(0, 100, false),
            group(0, 100, true),
            group(0, 200, false),
            group(2, 300, true),
            group(2, 100, false),
            group(0, 300, false),
        ];
        let all = rounded(&groups);
        assert_eq!((all[1], all[3]), (1200, 2400));
        assert_eq!((all[4], all[5]), (600, 1800));
    }

    /// root has tasks (100), a (50): a has tasks (100), a/x (300), a/y (200).
    #[test]
    fn a_groups_own_tasks_are_as_one_more_group_of_weight_100() {
        let groups = [group(0, 100, true), group(0, 50, true), group(1, 300, true), group(1, 200, true)];
        assert_eq!(rounded(&groups), [2400, 200, 600, 400]);
    }

    #[test]
    fn tasks_without_neighbours_have_all_of_their_group() {
        assert_eq!(rounded(&[group(0, 100, true)]), [3600]);
        assert_eq!(rounded(&[group(0, 100, false), group(0, 100, false), group(1, 1, true)])[2], 3600);
    }

    #[test]
    fn the_least_part_is_not_nothing() {
        assert_eq!(value(1.0), 1 << 24);
        assert_eq!(value(1e-12), 1);
    }

    /// Keeps (id, value) of what it is told.
    #[derive(Default)]
    struct Told(RefCell<Vec<(u32, u64)>>);

    impl Backend for Told {
        fn run(&self, program: &str, command: Command) -> Result<Option<u64>, String> {
            assert_eq!(program, "command_set_cgroup");
            self.0.borrow_mut().push((command.index, command.value));
            Ok(Some(0))
        }
    }

    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("divvy-test-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).expect("a directory");
            Self(path)
        }

        /// Makes a cgroup, or sets its weight; its inode number.
        fn cgroup(&self, name: &str, weight: &str) -> u64 {
            let path = self.0.join(name);
            fs::create_dir_all(&path).expect("a directory");
            fs::write(path.join("cpu.weight"), weight).expect("written");
            fs::metadata(path).expect("there").ino()
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn task(process: u32, received_ns: u64, runnable: u32) -> Account {
        Account { pid: 1, process, received_ns, runnable, ..Account::default() }
    }

    #[test]
    fn what_changed_is_told_and_nothing_else() {
        let directory = Directory::new("cgroups-changed");
        let cgroups = [(directory.cgroup("a", "100\n"), 5), (directory.cgroup("b/x", "300\n"), 6)];
        let mut looked = Cgroups::below(directory.0.clone());
        let told = Told::default();
        let mut look = |accounts: &[Account]| {
            looked.look(&cgroups, accounts, &told).expect("told");
            told.0.take()
        };
        // b has no cpu.weight, so it has 100.
        let both = [task(5, 0, 1), task(6, 7, 0)];
        assert_eq!(look(&both), [(5, 1 << 23), (6, 1 << 23)]);
        assert_eq!(look(&[task(5, 0, 1), task(6, 8, 0)]), []);
        // b/x neither ran nor runs: a has the machine, and b/x would have half of it.
        assert_eq!(look(&[task(5, 0, 1), task(6, 8, 0)]), [(5, 1 << 24)]);
        directory.cgroup("a", "300\n");
        assert_eq!(look(&[task(5, 0, 1), task(6, 8, 0)]), [(6, 1 << 22)]);
        fs::remove_dir_all(directory.0.join("a")).expect("removed");
        assert_eq!(look(&[task(5, 0, 1), task(6, 8, 1)]), [(5, 1 << 23), (6, 1 << 23)], "it says nothing");
    }

    #[test]
    fn one_that_cannot_be_found_has_weight_100_below_the_root() {
        let directory = Directory::new("cgroups-lost");
        let root = fs::metadata(&directory.0).expect("there").ino();
        let cgroups = [(root, 4), (directory.cgroup("a", "nonsense"), 5), (u64::MAX, 6), (u64::MAX - 1, 7)];
        let told = Told::default();
        let accounts = [4, 5, 6, 7].map(|process| task(process, 0, 1));
        Cgroups::below(directory.0.clone()).look(&cgroups, &accounts, &told).expect("told");
        assert_eq!(told.0.take(), [4, 5, 6, 7].map(|id| (id, 1 << 22)));
    }

    #[test]
    fn procfair_is_added_once() {
        let added = |text: &str| {
            let spec = spec::parse(text, policy::all()).expect("a spec");
            by_cgroup(&spec).expect("it composes").to_string()
        };
        assert_eq!(added("gr3+feasible"), "gr3+feasible+procfair");
        assert_eq!(added("gr3+procfair"), "gr3+procfair");
    }
}
