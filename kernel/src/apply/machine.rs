//! The machine that is looked at and changed: `/proc`, the cgroups, nice values. Tests have others.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CapabilitySet, capabilities};

use super::changed::Id;
use crate::proc_text;
use crate::stock::entitled::weight_of;
use crate::stock::threads::{Thread, parse_stat};

/// A way to set nice values.
pub trait SetNice {
    /// Sets that of one thread.
    ///
    /// # Errors
    /// The kernel's.
    fn set_nice(&self, tgid: u32, tid: u32, nice: i8) -> io::Result<()>;
}

/// The kernel's.
#[derive(Debug)]
pub struct Kernel;

impl SetNice for Kernel {
    fn set_nice(&self, _: u32, tid: u32, nice: i8) -> io::Result<()> {
        let tid = i32::try_from(tid).ok().and_then(Pid::from_raw);
        Ok(setpriority_process(tid, nice.into())?)
    }
}

/// A user's cgroup with a `cpu.weight`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub uid: u32,
    /// From the root of the hierarchy.
    pub path: String,
    pub inode: u64,
    pub weight: u32,
}

/// Where things are, and who asks.
#[derive(Debug)]
pub struct Machine<S> {
    pub proc: PathBuf,
    pub cgroups: PathBuf,
    pub cpus: u32,
    pub set_nice: S,
    pub rights: Rights,
}

/// The rights of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Set any nice value of any thread.
    All,
    /// Change threads of this user, downwards.
    Own(u32),
}

impl Rights {
    /// Those of this process.
    pub fn now() -> Self {
        let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
        match effective.contains(CapabilitySet::SYS_NICE) {
            true => Self::All,
            false => Self::Own(rustix::process::geteuid().as_raw()),
        }
    }
}

impl Machine<Kernel> {
    /// This one.
    pub fn here(rights: Rights) -> Self {
        Self {
            proc: "/proc".into(),
            cgroups: "/sys/fs/cgroup".into(),
            cpus: crate::stock::online(),
            set_nice: Kernel,
            rights,
        }
    }
}

impl<S: SetNice> Machine<S> {
    /// The boot's identity.
    pub fn boot(&self) -> String {
        proc_text::read(self.proc.join("sys/kernel/random/boot_id")).unwrap_or_default()
    }

    /// Ticks since the machine was booted, as `/proc` counts when threads began.
    pub fn ticks(&self) -> u64 {
        proc_text::ticks(&self.proc)
    }

    /// Whether sessions are divided first, so that nice values count only within one.
    pub fn has_autogroups(&self) -> bool {
        let path = self.proc.join("sys/kernel/sched_autogroup_enabled");
        proc_text::read(path).is_some_and(|text| text.trim() == "1")
    }

    /// Whether the caller may change the thread, and put this value back.
    pub fn may_change(&self, thread: &Thread, original: i8) -> bool {
        match self.rights {
            Rights::All => true,
            Rights::Own(uid) => {
                thread.uid == Some(uid) && self.least_nice(&thread.tgid.to_string()) <= original
            }
        }
    }

    /// The least nice value that threads of this process may be given without privileges: its RLIMIT_NICE.
    pub fn least_nice(&self, process: &str) -> i8 {
        let limits = proc_text::read(self.proc.join(process).join("limits")).unwrap_or_default();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max nice priority"));
        let soft = line.and_then(|line| line.split_whitespace().next());
        let limit = soft.and_then(|word| word.parse().ok()).unwrap_or(0i8);
        20 - limit.clamp(0, 40)
    }

    /// Sets the nice value of a thread if it is still the same one, and has this value. Gives whether it is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn renice(&self, id: Id, tgid: u32, from: i8, to: i8) -> io::Result<bool> {
        let stat = self.proc.join(format!("{tgid}/task/{}/stat", id.tid));
        let thread = proc_text::read(stat).and_then(|text| parse_stat(&text));
        let is_same = |thread: &Thread| thread.started == id.started && thread.nice == from;
        if !thread.is_some_and(|thread| is_same(&thread)) {
            return Ok(false);
        }
        match self.set_nice.set_nice(tgid, id.tid, to) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// A cgroup with a weight, by its path from the root.
    pub fn group(&self, path: &str, uid: u32) -> Option<Group> {
        let directory = self.directory(path);
        // One with cpu.idle has no weight to set.
        let text = proc_text::read(directory.join("cpu.weight"))?;
        let weight = text.trim().parse().ok().filter(|weight| (1..=10_000).contains(weight))?;
        let inode = fs::symlink_metadata(&directory).ok().filter(fs::Metadata::is_dir)?.ino();
        Some(Group { uid, path: path.to_owned(), inode, weight })
    }

    pub fn has_weight(&self, path: &str) -> bool {
        weight_of(&self.directory(path)).is_some()
    }

    /// Whether the caller may set the weight of this cgroup.
    pub fn may_weigh(&self, path: &str) -> bool {
        fs::OpenOptions::new().write(true).open(self.directory(path).join("cpu.weight")).is_ok()
    }

    /// Sets its weight.
    ///
    /// # Errors
    /// The kernel's.
    pub fn weigh(&self, path: &str, weight: u32) -> io::Result<()> {
        let file =
            fs::OpenOptions::new().write(true).truncate(true).open(self.directory(path).join("cpu.weight"));
        io::Write::write_all(&mut file?, format!("{weight}\n").as_bytes())
    }

    /// Names of the cgroups directly below this one.
    pub fn children(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.directory(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn directory(&self, path: &str) -> PathBuf {
        self.cgroups.join(Path::new(path.trim_start_matches('/')))
    }
}
