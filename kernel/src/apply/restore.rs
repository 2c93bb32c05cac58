//! Puts back what was changed.

use super::changed::{Changes, Id};
use super::error::ApplyError;
use super::group_changes::GroupChanges;
use super::journal::Journal;
use super::machine::{Machine, SetNice};
use crate::stock::threads::Threads;

/// Threads may fork while values are put back; each pass finds the new ones.
const PASSES: usize = 8;

/// Puts back all that is still as divvy set it, and removes the journal. Gives the number of values.
///
/// # Errors
/// If some could not be restored; the journal has these.
pub fn restore<S: SetNice>(
    machine: &Machine<S>,
    changes: &mut Changes,
    groups: &mut GroupChanges,
    journal: &mut Journal,
) -> Result<usize, ApplyError> {
    let mut failed = Vec::new();
    let of_groups = restore_groups(machine, groups, &mut failed);
    let (of_threads, refused) = restore_threads(machine, changes)?;
    failed.extend(refused);
    journal.rewrite(changes, groups)?;
    match failed.first() {
        None => Ok(of_groups + of_threads),
        Some(first) => Err(ApplyError::NotRestored { count: failed.len(), first: first.clone() }),
    }
}

fn restore_groups<S: SetNice>(
    machine: &Machine<S>,
    groups: &mut GroupChanges,
    failed: &mut Vec<String>,
) -> usize {
    let all: Vec<(String, _)> = groups.iter().map(|(path, change)| (path.clone(), change.clone())).collect();
    let mut restored = 0;
    for (path, change) in all {
        let is_ours = machine
            .group(&path, 0)
            .is_some_and(|group| group.inode == change.inode && group.weight == change.now);
        if is_ours && change.now != change.original {
            if let Err(error) = machine.weigh(&path, change.original) {
                failed.push(format!("cpu.weight of {path} to {}: {error}", change.original));
                continue;
            }
            restored += 1;
        }
        groups.remove(&path);
    }
    restored
}

/// Gives the number of values, and what the kernel refused.
fn restore_threads<S: SetNice>(
    machine: &Machine<S>,
    changes: &mut Changes,
) -> Result<(usize, Vec<String>), ApplyError> {
    if changes.len() == 0 {
        return Ok((0, Vec::new()));
    }
    let mut failed = Vec::new();
    let mut reader = Threads::new(&machine.proc);
    let mut restored = 0;
    for _ in 0..PASSES {
        let threads = reader.read();
        let threads = threads
            .map_err(|error| ApplyError::Io("cannot look at the threads of /proc".to_owned(), error))?;
        changes.settle(&threads);
        changes.update(&threads);
        let changed: Vec<(Id, _)> = changes
            .iter()
            .filter(|(_, change)| change.now != change.original)
            .map(|(id, change)| (*id, change.clone()))
            .collect();
        let before = restored;
        failed.clear();
        for (id, mut change) in changed {
            match machine.renice(id, change.tgid, change.now, change.original) {
                // It stays known for the sake of its children.
                Ok(true) => {
                    restored += 1;
                    change.now = change.original;
                    changes.insert(id, change);
                }
                Ok(false) => {}
                Err(error) => {
                    failed.push(format!("nice of thread {} to {}: {error}", id.tid, change.original))
                }
            }
        }
        if restored == before {
            break;
        }
    }
    changes.forget_restored();
    Ok((restored, failed))
}
