//! Limits of CPU time on cgroups (`cpu.max`). The kernel's own scheduler enforces them. Under sched_ext the host does, if it groups tasks by
//! cgroup, down to a depth.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;

use super::error::Missing;

/// The tree of version 2; those of version 1 are mounted below it.
const TREE: &str = "/sys/fs/cgroup";
/// The number of cgroups that a message names.
const NAMED: usize = 5;
/// How often the host reads the limits that it keeps. Later kernels tell it of changes.
pub(super) const FOLLOWS: Duration = Duration::from_secs(1);
/// How often the loader looks at cgroups while a policy is loaded.
const EVERY: Duration = Duration::from_secs(10);

/// The nice value of the thread that looks.
const LIGHTEST: i32 = 19;

/// The levels of cgroups below the root that are groups of the host; deeper ones belong to their ancestors there (papers/groups.md, R5).
const LEVELS: usize = 8;

/// Checks that no cgroup has a limit that it would lose; with `kept`, the host keeps those that are not too deep.
///
/// # Errors
/// If one has.
pub(super) fn none(kept: bool) -> Result<(), Missing> {
    let mut limited = lost(Path::new(TREE), kept);
    limited.sort();
    if limited.is_empty() { Ok(()) } else { Err(refusal(&limited, kept)) }
}

/// The limits of a tree that do not hold.
fn lost(tree: &Path, kept: bool) -> Vec<Limited> {
    let mut limited = limits(tree);
    limited.retain(|limited| !kept || depth(tree, &limited.cgroup) > LEVELS);
    limited
}

/// How many levels a cgroup is below the root
fn depth(tree: &Path, cgroup: &Path) -> usize {
    cgroup.strip_prefix(tree).map_or(0, |path| path.components().count())
}

/// Looks for limits that are set while a policy is loaded. They do not unload it: a user to whom a cgroup is delegated can
/// set some, and as many cgroups as they like. Threads of its own look, which are not real-time as the caller is, and have nice 19: no user is charged for a look. (In a cgroup of its own the loader has the weight
/// of that nevertheless.) Each lives for one look: one that waited for the next would count as a task that waits for a CPU until it has begun.
#[derive(Debug)]
pub(super) struct Lookout {
    /// Others are kept.
    kept: bool,
    due: Instant,
    known: BTreeSet<Limited>,
    looking: Option<Receiver<(BTreeSet<Limited>, Option<String>)>>,
}

impl Lookout {
    pub(super) fn begin(kept: bool) -> Self {
        Self { kept, due: Instant::now() + EVERY, known: BTreeSet::new(), looking: None }
    }

    /// A message about limits that were found since the last call. To be called often. Without a thread, nothing is found.
    pub(super) fn found(&mut self) -> Option<String> {
        let Some(looking) = &self.looking else {
            if Instant::now() >= self.due {
                self.look();
            }
            return None;
        };
        let (known, news) = match looking.try_recv() {
            Ok(found) => found,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => (self.known.clone(), None),
        };
        *self = Self { known, ..Self::begin(self.kept) };
        news
    }

    fn look(&mut self) {
        let (tell, found) = mpsc::channel();
        let (mut known, kept) = (self.known.clone(), self.kept);
        self.looking = Some(found);
        let _ = thread::Builder::new().spawn(move || {
            let _ = setpriority_process(None, LIGHTEST); // this thread alone
            let news = news(Path::new(TREE), kept, &mut known);
            let _ = tell.send((known, news));
        });
    }
}

/// A message about limits in a tree that were not known yet.
fn news(tree: &Path, kept: bool, known: &mut BTreeSet<Limited>) -> Option<String> {
    let now: BTreeSet<Limited> = lost(tree, kept).into_iter().collect();
    let new: Vec<Limited> = now.difference(known).cloned().collect();
    *known = now;
    let news = || format!("since the policy was loaded {}\nUnder this policy it does not hold", list(&new));
    (!new.is_empty()).then(news)
}

/// A cgroup, by its directory, and its limit as the kernel writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Limited {
    cgroup: PathBuf,
    limit: String,
}

/// The cgroups of a tree that have a limit. A cgroup may be removed meanwhile; then it has none.
fn limits(tree: &Path) -> Vec<Limited> {
    let mut found = Vec::new();
    let mut open = vec![tree.to_owned()];
    while let Some(cgroup) = open.pop() {
        if let Some(limit) = limit(&cgroup) {
            found.push(Limited { cgroup: cgroup.clone(), limit });
        }
        let Ok(entries) = fs::read_dir(&cgroup) else { continue };
        let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        open.extend(entries.flatten().filter(is_directory).map(|entry| entry.path()));
    }
    found
}

/// `QUOTA PERIOD` in version 2, where `max` is none, and the quota alone in version 1, where -1 is none.
fn limit(cgroup: &Path) -> Option<String> {
    let read = |file: &str| fs::read_to_string(cgroup.join(file)).ok().map(|text| text.trim().to_owned());
    let new = read("cpu.max").filter(|limit| !limit.starts_with("max"));
    new.or_else(|| read("cpu.cfs_quota_us").filter(|quota| !quota.starts_with('-')))
}

/// Cgroups that have limits, as a sentence
fn list(limited: &[Limited]) -> String {
    let name = |limited: &Limited| {
        let cgroup = limited.cgroup.to_string_lossy();
        format!("\n    {} ({} us)", cgroup.escape_debug(), limited.limit.escape_debug())
    };
    let named: String = limited.iter().take(NAMED).map(name).collect();
    let more = match limited.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("\n    and {more} more"),
    };
    let cgroups = if limited.len() == 1 { "a cgroup has" } else { "cgroups have" };
    format!("{cgroups} a limit of CPU time (cpu.max):{named}{more}")
}

fn refusal(limited: &[Limited], kept: bool) -> Missing {
    let instead = "with --ignore-cpu-max to let them have as much as they get while it is loaded, \
                   or lift the limits: echo max > CGROUP/cpu.max";
    let (why, fix) = if kept {
        (format!("It is more than {LEVELS} levels deep, where it would not hold"), format!("load {instead}"))
    } else {
        (
            "Without --cgroups it would not hold".to_owned(),
            format!("load with --cgroups, which keeps limits; {instead}"),
        )
    };
    Missing::new(format!("{}\n{why}", list(limited)), fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let tree = std::env::temp_dir().join(format!("divvy-quotas-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&tree);
        for (file, text) in files {
            let path = tree.join(file);
            fs::create_dir_all(path.parent().expect("it has a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        tree
    }

    #[test]
    fn limits_are_found_at_any_depth_in_both_versions() {
        let tree = tree(
            "found",
            &[
                ("cpu.weight", "100\n"),
                ("a/cpu.max", "max 100000\n"),
                ("a/b/cpu.max", "50000 100000\n"),
                ("a/b/c/cpu.max", "max 100000\n"),
                ("old/cpu.cfs_quota_us", "-1\n"),
                ("old/job/cpu.cfs_quota_us", "20000\n"),
            ],
        );
        let mut found = limits(&tree);
        found.sort();
        let expected = [("a/b", "50000 100000"), ("old/job", "20000")];
        let expected =
            expected.map(|(path, limit)| Limited { cgroup: tree.join(path), limit: limit.to_owned() });
        assert_eq!(found, expected);
        fs::remove_dir_all(&tree).expect("it was made above");
    }

    /// The host keeps the limits of eight levels.
    #[test]
    fn with_cgroups_only_the_deepest_limits_are_lost() {
        let (kept, deep) = ("1/2/3/4/5/6/7/8", "1/2/3/4/5/6/7/8/9");
        let files = [kept, deep].map(|cgroup| format!("{cgroup}/cpu.max"));
        let tree = tree("deep", &files.each_ref().map(|file| (file.as_str(), "50000 100000\n")));
        let lost = lost(&tree, true);
        assert_eq!(lost, [Limited { cgroup: tree.join(deep), limit: "50000 100000".to_owned() }]);
        let error = refusal(&lost, true).to_string();
        assert!(error.contains("more than 8 levels") && !error.contains("--cgroups"), "{error}");
        fs::remove_dir_all(&tree).expect("it was made above");
    }

    /// A limit that is set while a policy is loaded is told once, and again if it is another.
    #[test]
    fn limits_that_are_set_later_are_told_once() {
        let tree = tree("later", &[("a/cpu.max", "max 100000\n")]);
        let mut known = BTreeSet::new();
        assert_eq!(news(&tree, false, &mut known), None);
        for quota in ["50000 100000", "20000 100000"] {
            fs::write(tree.join("a/cpu.max"), quota).expect("a file");
            let said = news(&tree, false, &mut known).expect("it is new");
            assert!(said.contains(&format!("a ({quota} us)")), "{said}");
            assert_eq!(news(&tree, false, &mut known), None);
        }
        fs::remove_dir_all(&tree).expect("it was made above");
    }

    /// Names of cgroups are their owners': they do not reach a terminal as they are.
    #[test]
    fn the_refusal_names_cgroups_and_says_what_to_do() {
        let limited = |i: usize| Limited {
            cgroup: PathBuf::from(format!("/sys/fs/cgroup/\u{1b}[2J{i}")),
            limit: "1000 100000".to_owned(),
        };
        let error = refusal(&(0..7).map(limited).collect::<Vec<_>>(), false).to_string();
        assert!(error.contains("/sys/fs/cgroup/\\u{1b}[2J4 (1000 100000 us)"), "{error}");
        assert!(error.contains("and 2 more") && error.contains("--ignore-cpu-max"), "{error}");
        assert!(error.contains("--cgroups"), "{error}");
        assert!(!error.contains('\u{1b}') && !error.contains("2J5"), "{error}");
    }
}
