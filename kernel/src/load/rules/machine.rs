//! The machine that the loader runs on.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};

use super::Key;
use super::resolve::Machine;
use crate::load::sys;
use crate::proc_text;

/// Where cgroups of version 2 are mounted; with version 1 beside it, the second.
const CGROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// A file that only cgroups of version 2 have.
const IS_UNIFIED: &str = "cgroup.controllers";
/// The search goes no deeper, and sees no more cgroups: anybody to whom one is delegated can make many.
const DEEPEST: usize = 16;
const MOST: usize = 65_536;

/// This machine, as it is at one moment. A later look needs another one.
#[derive(Debug, Default)]
pub struct ThisMachine {
    /// The devices of mounts, by the mounts' numbers. They are read when a file is first asked for.
    mounts: OnceCell<BTreeMap<u64, u32>>,
}

impl Machine for ThisMachine {
    fn user(&self, name: &str) -> Option<u32> {
        sys::user_number(name)
    }

    /// The BPF host sees the superblock's device. On btrfs, and on overlayfs over several filesystems, stat
    /// says another one, that of the subvolume or the layer. The list of mounts says the superblock's.
    fn file(&self, path: &Path) -> Option<Key> {
        let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::UID | StatxFlags::MNT_ID;
        let known = rustix::fs::statx(CWD, path, AtFlags::empty(), wanted).ok()?;
        if FileType::from_raw_mode(known.stx_mode.into()) != FileType::RegularFile {
            return None;
        }
        let has_mount = known.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        let mounts =
            self.mounts.get_or_init(|| mounts(&proc_text::read("/proc/self/mountinfo").unwrap_or_default()));
        let mount = mounts.get(&known.stx_mnt_id).filter(|_| has_mount);
        let device = mount.copied().unwrap_or_else(|| device(known.stx_dev_major, known.stx_dev_minor));
        Some(Key::of_file(device, known.stx_ino, known.stx_uid))
    }

    fn cgroup(&self, path: &str) -> Option<u64> {
        cgroup(&root()?, path)
    }

    fn units(&self, names: &BTreeSet<&str>) -> Vec<(String, u64)> {
        root().map_or_else(Vec::new, |root| search(&root, names, MOST))
    }
}

/// The kernel's own form of a device's number, which is not that of stat.
const fn device(major: u32, minor: u32) -> u32 {
    major << 20 | minor
}

/// The devices of a list of mounts: `NUMBER PARENT MAJOR:MINOR ...`.
fn mounts(text: &str) -> BTreeMap<u64, u32> {
    let mount = |line: &str| {
        let mut words = line.split(' ');
        let number = words.next()?.parse().ok()?;
        let (major, minor) = words.nth(1)?.split_once(':')?;
        Some((number, device(major.parse().ok()?, minor.parse().ok()?)))
    };
    text.lines().filter_map(mount).collect()
}

/// The root of cgroups of version 2.
fn root() -> Option<PathBuf> {
    CGROUPS.into_iter().map(PathBuf::from).find(|root| root.join(IS_UNIFIED).exists())
}

/// A cgroup's number is its directory's.
fn cgroup(root: &Path, path: &str) -> Option<u64> {
    let known = fs::symlink_metadata(root.join(path)).ok()?;
    known.is_dir().then(|| known.ino())
}

/// Searches a tree for cgroups of units that belong to its owner or are in one that does, the highest first: if there are too many
/// cgroups, the search finds those of services before those that a user made.
fn search(root: &Path, names: &BTreeSet<&str>, most: usize) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut open = VecDeque::from([(root.to_owned(), 0)]);
    let mut left = most;
    let Ok(owner) = fs::metadata(root).map(|known| known.uid()) else { return found };
    while let Some((directory, depth)) = open.pop_front() {
        // It may be gone.
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if left == 0 {
                return found;
            }
            left -= 1;
            let name = entry.file_name();
            // systemd puts an underscore before a name that a kernel's file could have, as in `cpu.service`.
            let name = name.to_str().map(|name| name.strip_prefix('_').unwrap_or(name));
            if let Some(name) = name.filter(|name| names.contains(name)) {
                found.push((name.to_owned(), entry.ino()));
            }
            // Below a cgroup that is delegated to a user, the user gives cgroups the names that he likes.
            let is_delegated = entry.metadata().is_ok_and(|known| known.uid() != owner);
            if depth + 1 < DEEPEST && !is_delegated {
                open.push_back((entry.path(), depth + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn tree(name: &str, directories: &[&str]) -> PathBuf {
        let tree = std::env::temp_dir().join(format!("divvy-rules-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&tree);
        for directory in directories {
            fs::create_dir_all(tree.join(directory)).expect("a directory");
        }
        tree
    }

    fn found(tree: &Path, names: &[&str], most: usize) -> Vec<(String, u64)> {
        let mut found = search(tree, &names.iter().copied().collect(), most);
        found.sort();
        found
    }

    #[test]
    fn units_are_found_at_any_depth_but_not_through_links() {
        let deep = "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15";
        let tree = tree(
            "units",
            &[
                "system.slice/a.service/b.service",
                "user.slice/u/a.service",
                "_cpu.service",
                &format!("{deep}/deep.service"),
                &format!("{deep}/16/deeper.service"),
                "elsewhere/c.service",
            ],
        );
        std::os::unix::fs::symlink(tree.join("elsewhere"), tree.join("link")).expect("a link");
        std::os::unix::fs::symlink(tree.join("elsewhere"), tree.join("l.service")).expect("a link");
        fs::write(tree.join("file.service"), "").expect("a file");
        let number = |path: &str| fs::metadata(tree.join(path)).expect(path).ino();
        let mut expected: Vec<(String, u64)> = [
            ("a.service", "system.slice/a.service"),
            ("a.service", "user.slice/u/a.service"),
            ("b.service", "system.slice/a.service/b.service"),
            ("c.service", "elsewhere/c.service"),
            ("cpu.service", "_cpu.service"),
            ("deep.service", &format!("{deep}/deep.service")),
        ]
        .map(|(name, path)| (name.to_owned(), number(path)))
        .to_vec();
        expected.sort();
        let names =
            ["a", "b", "c", "cpu", "deep", "deeper", "file", "l", "x"].map(|name| format!("{name}.service"));
        let names = names.each_ref().map(String::as_str);
        assert_eq!(found(&tree, &names, MOST), expected);
        fs::remove_dir_all(&tree).expect("it was made above");
    }

    /// Only root may give a directory to another user.
    #[test]
    fn a_user_gives_no_unit_its_name() {
        let tree = tree("delegated", &["user/mine.service/a.service", "user/a.service"]);
        let mine = std::os::unix::fs::chown(tree.join("user/mine.service"), Some(65_534), None).is_ok();
        let names = ["a.service", "mine.service"];
        let found: Vec<String> = found(&tree, &names, MOST).into_iter().map(|(name, _)| name).collect();
        let expected = if mine { &names[..] } else { &["a.service", "a.service", "mine.service"] };
        assert_eq!(found, expected);
        fs::remove_dir_all(&tree).expect("it was made above");
    }

    #[test]
    fn a_search_ends_and_begins_above() {
        let tree = tree("many", &["a/1/2/x.service", "a/3", "a/4", "b/y.service"]);
        assert_eq!(found(&tree, &["x.service", "y.service"], 6).len(), 1);
        assert_eq!(found(&tree, &["x.service"], 6).len(), 0);
        assert_eq!(found(&tree, &["x.service"], 8).len(), 1);
        fs::remove_dir_all(&tree).expect("it was made above");
    }

    #[test]
    fn cgroups_are_directories() {
        let tree = tree("path", &["a/b"]);
        fs::write(tree.join("a/cpu.max"), "").expect("a file");
        let number = fs::metadata(tree.join("a/b")).expect("it is there").ino();
        assert_eq!(cgroup(&tree, "a/b"), Some(number));
        assert_eq!(cgroup(&tree, "a/cpu.max"), None);
        assert_eq!(cgroup(&tree, "a/c"), None);
        fs::remove_dir_all(&tree).expect("it was made above");
    }

    #[test]
    fn the_list_of_mounts_has_devices() {
        let text = "22 1 253:16 / / rw,relatime shared:1 - ext4 /dev/vda rw\nnonsense\n\
                    23 22 0:31 /@home /home rw - btrfs /dev/vdb rw\n24 x\n";
        assert_eq!(mounts(text), BTreeMap::from([(22, 253 << 20 | 16), (23, 31)]));
    }

    #[test]
    fn files_of_this_machine_have_numbers() {
        let tree = tree("file", &["directory"]);
        let (file, link) = (tree.join("file"), tree.join("link"));
        fs::write(&file, "").expect("a file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let machine = ThisMachine::default();
        let known = fs::metadata(&file).expect("it is there");
        let key = machine.file(&link).expect("a link counts as its file");
        assert_eq!((key.kind, key.number, key.owner), (Kind::File, known.ino(), known.uid()));
        assert_eq!(machine.file(&file), Some(key));
        let listed = proc_text::read("/proc/self/mountinfo").expect("there are mounts");
        let written = format!(" {}:{} ", key.device >> 20, key.device & ((1 << 20) - 1));
        assert!(listed.contains(&written), "{written}\n{listed}");
        for other in ["directory", "missing", "file/below"] {
            assert_eq!(machine.file(&tree.join(other)), None, "{other}");
        }
        assert_eq!(machine.file(Path::new("/dev/null")), None);
        fs::remove_dir_all(&tree).expect("it was made above");
    }

    #[test]
    fn users_of_this_machine_have_numbers() {
        let machine = ThisMachine::default();
        assert_eq!(machine.user("root"), Some(0));
        assert_eq!(machine.user("no such user here"), None);
        assert_eq!(machine.user("ro\0ot"), None);
    }
}
