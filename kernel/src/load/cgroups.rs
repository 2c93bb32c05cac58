//! Under --cgroups: the weights of cgroups, from their cpu.weight to the host, which cannot read them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::commands::Backend as _;
use super::error::LoadError;
use super::host::Command;
use super::object::Scheduler;

const ROOT: &str = "/sys/fs/cgroup";
/// How often weights are looked up: the kernel does not tell when one changes.
const EVERY: Duration = Duration::from_secs(1);
/// Levels of cgroups that are looked at.
const DEEPEST: u32 = 32;
/// cpu.weight of a cgroup that has none, or was not changed.
const DEFAULT: u64 = 100;
/// The weight 1 of a cgroup, in the host.
const ONE: u64 = 1 << 20;

/// What the host was told.
#[derive(Debug)]
pub struct Cgroups {
    next: Instant,
    /// By the cgroup's inode number: its id in the host, and its weight.
    told: BTreeMap<u64, (u32, u64)>,
}

impl Cgroups {
    pub fn new() -> Self {
        Self { next: Instant::now(), told: BTreeMap::new() }
    }

    /// Tells the host what changed, if it is time to look.
    pub fn tell(&mut self, scheduler: &Scheduler) -> Result<(), LoadError> {
        let now = Instant::now();
        if now < self.next {
            return Ok(());
        }
        self.next = now + EVERY;
        let mut weights = BTreeMap::new();
        collect(Path::new(ROOT), DEEPEST, &mut weights);
        let mut told = BTreeMap::new();
        for (inode, id) in scheduler.cgroups()? {
            let weight = weights.get(&inode).copied().unwrap_or(ONE);
            if self.told.get(&inode).copied().unwrap_or((id, ONE)) != (id, weight) {
                let command = Command { index: id, value: weight, ..Command::default() };
                let done = scheduler.run("command_set_cgroup", command);
                done.map_err(|problem| LoadError::Mismatch(format!("a cgroup's weight: {problem}")))?;
            }
            told.insert(inode, (id, weight));
        }
        self.told = told;
        Ok(())
    }
}

/// The weights of all cgroups under a directory. One that has just gone, or is not readable, is left out.
fn collect(dir: &Path, levels: u32, weights: &mut BTreeMap<u64, u64>) {
    let Ok(metadata) = fs::metadata(dir) else { return };
    let text = fs::read_to_string(dir.join("cpu.weight")).unwrap_or_default();
    weights.insert(metadata.ino(), fixed(text.trim().parse().unwrap_or(DEFAULT)));
    let Ok(entries) = fs::read_dir(dir).map(Iterator::flatten) else { return };
    for entry in entries.filter(|entry| levels > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        collect(&entry.path(), levels - 1, weights);
    }
}

fn fixed(weight: u64) -> u64 {
    weight * ONE / DEFAULT
}
