//! Programs that the modifier flow knows: from the database into the kernel, and back.

use std::collections::BTreeMap;
use std::mem;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::error::LoadError;
use super::host_programs::{answer, fitting, learn_bytes, program_bytes};
use super::object::Scheduler;
use super::options::Watch;
use crate::flow::{Program, Seen, Store};

/// How often new knowledge is stored.
const EVERY: Duration = Duration::from_secs(10);

/// The programs of one loaded scheduler.
pub struct Programs {
    store: Store,
    /// From the database, until the scheduler is told.
    known: BTreeMap<u64, Program>,
    before: BTreeMap<u64, Seen>,
    pub next: Instant,
}

impl Programs {
    /// Reads the database. This is done before the scheduler is attached, because the file may be damaged.
    pub fn open(store: Store) -> Result<Programs, LoadError> {
        let known = store.read().map_err(LoadError::Store)?;
        Ok(Programs { store, known, before: BTreeMap::new(), next: Instant::now() + EVERY })
    }

    /// Reads the database again, as the scheduler before this one has stored what it knew. If it cannot be read any more, what was known is.
    pub fn read_again(&mut self) {
        if let Ok(known) = self.store.read() {
            self.known = known;
        }
    }

    /// Tells the known programs to a scheduler that was just attached.
    pub fn begin(&mut self, scheduler: &Scheduler) -> Result<(), LoadError> {
        let mut known: Vec<_> = mem::take(&mut self.known).into_iter().collect();
        // If two programs have the same slot, the later one gets it; so the one that was executed last comes last.
        known.sort_by_key(|(_, program)| program.stored_s);
        let lengths: Vec<usize> = known.iter().map(|(_, program)| program.sequence.len()).collect();
        for (identity, program) in &known[known.len() - fitting(lengths.iter())..] {
            for (at, entry) in program.sequence.iter().enumerate() {
                scheduler.command("command_learn", &mut learn_bytes(*identity, at, *entry))?;
            }
        }
        Ok(())
    }

    /// Stores all changes since the last time.
    pub fn store(&mut self, scheduler: &Scheduler) -> Result<(), LoadError> {
        self.next = Instant::now() + EVERY;
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut changed = BTreeMap::new();
        for (identity, name) in scheduler.executed()? {
            if let Some(seen) = seen(scheduler, identity, name)?
                && self.before.get(&identity) != Some(&seen)
            {
                changed.insert(identity, seen);
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        let before = &self.before;
        let update = |identity, program: &mut Program| {
            let nothing = Seen::default();
            program.update(before.get(&identity).unwrap_or(&nothing), &changed[&identity], now_s);
        };
        self.store.update(changed.keys().copied(), update).map_err(LoadError::Store)?;
        self.before.extend(changed);
        Ok(())
    }

    /// Like [`Programs::store`], but an error is only a note: the next time may succeed.
    pub fn store_or_say(&mut self, scheduler: &Scheduler, watch: &mut dyn Watch) {
        if let Err(error) = self.store(scheduler) {
            watch.note(&format!("what was learned about programs cannot be stored: {error}"));
        }
    }
}

/// Reads the scheduler's knowledge of a program, part by part. If its sequence is gone or another one before its end was read,
/// it is as if nothing was known: the next time it is read again.
fn seen(scheduler: &Scheduler, identity: u64, name: String) -> Result<Option<Seen>, LoadError> {
    let mut whole: Option<Seen> = None;
    loop {
        let from = whole.as_ref().map_or(0, |seen| seen.sequence.len());
        let mut bytes = program_bytes(identity, from);
        scheduler.command("command_program", &mut bytes)?;
        let Some(part) = answer(&bytes) else { return Ok(None) };
        let entries = part.entries;
        match &mut whole {
            Some(whole) if part.seen.sequence.is_empty() || part.seen.executions < whole.executions => {
                return Ok(None);
            }
            Some(whole) => whole.sequence.extend(part.seen.sequence),
            None => whole = Some(Seen { name: name.clone(), ..part.seen }),
        }
        if whole.as_ref().is_some_and(|seen| seen.sequence.len() >= entries) {
            return Ok(whole);
        }
    }
}
