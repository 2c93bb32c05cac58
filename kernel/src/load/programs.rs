//! What the modifier flow knows of programs, from the database into the kernel and back.

use std::collections::BTreeMap;
use std::mem;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use divvy_policy::spec::Spec;

use super::Watch;
use super::error::LoadError;
use super::host::Words;
use super::object::Scheduler;
use crate::flow::{Predictions, Program, Seen, Store, command_line};

/// Of the specs that need it.
pub const MODIFIER: &str = "flow";
/// The tracepoint's program; libbpf leaves it out unless it is asked for.
pub const TRACER: &str = "host_exec";
/// `FLOW_LENGTH` of `policy/slice/flow.h`.
const LENGTH: usize = 64;
/// How often what was learned is stored.
const EVERY: Duration = Duration::from_secs(10);

/// Whether a spec has the modifier.
pub fn knows_programs(spec: &Spec) -> bool {
    spec.modifiers.iter().any(|part| part.name == MODIFIER)
}

/// `struct host_learn`.
pub fn learn_bytes(identity: u64, at: usize, (run_ns, wait_ns): (u64, u64)) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (index, word) in [identity, run_ns, wait_ns, at as u64].into_iter().enumerate() {
        bytes[index * 8..index * 8 + 8].copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

/// Bytes of `struct host_program`.
pub const PROGRAM_SIZE: usize = 16 + 88 + LENGTH * 16;

/// What a `struct host_program` says; none if there is no such program, or no sequence of it yet.
pub fn seen(bytes: &[u8], name: String) -> Option<Seen> {
    let mut words = Words(bytes.get(8..)?);
    if words.u64() == 0 {
        return None;
    }
    let _identity_and_begun = (words.u64(), words.u64());
    let (actual_ns, error_ns) = (words.u64(), words.u64());
    let (last_actual_ns, last_error_ns) = (words.u64(), words.u64());
    let (runs, last_runs) = (words.u32(), words.u32());
    let (executions, _executing, logger, n) = (words.u32(), words.u32(), words.u32(), words.u32());
    let (_period, delays, met, _earlies) = (words.u32(), words.u32(), words.u32(), words.u32());
    let sequence = (0..(n as usize).min(LENGTH)).map(|_| (words.u64(), words.u64())).collect();
    (logger == 0 && n > 0).then_some(Seen {
        name,
        sequence,
        executions: executions.into(),
        predictions: Predictions { runs: runs.into(), actual_ns, error_ns },
        last: Predictions { runs: last_runs.into(), actual_ns: last_actual_ns, error_ns: last_error_ns },
        delays: delays.into(),
        delays_met: met.into(),
    })
}

/// What a `struct host_name` says.
pub fn name(bytes: &[u8]) -> String {
    let (comm, rest) = bytes.split_at(bytes.len().min(16));
    let mut words = Words(rest);
    let length = words.u32() as usize;
    let args = words.0;
    match command_line(&args[..length.min(args.len())]) {
        line if line.is_empty() => command_line(comm),
        line => line,
    }
}

/// The programs of one life of a scheduler.
pub struct Programs {
    store: Store,
    /// Of earlier lives, until the scheduler is told.
    known: BTreeMap<u64, Program>,
    before: BTreeMap<u64, Seen>,
    pub next: Instant,
}

impl Programs {
    /// What the database knows: read before anything is attached, as it may be damaged.
    pub fn open(store: Store) -> Result<Programs, LoadError> {
        let known = store.read().map_err(LoadError::Store)?;
        Ok(Programs { store, known, before: BTreeMap::new(), next: Instant::now() + EVERY })
    }

    /// Tells a scheduler that was just attached what is known.
    pub fn begin(&mut self, scheduler: &Scheduler) -> Result<(), LoadError> {
        let mut known: Vec<_> = mem::take(&mut self.known).into_iter().collect();
        // Where two have one place the later one has it: the one that was executed last.
        known.sort_by_key(|(_, program)| program.stored_s);
        for (identity, program) in &known {
            for (at, entry) in program.sequence.iter().enumerate().take(LENGTH) {
                scheduler.command("command_learn", &mut learn_bytes(*identity, at, *entry))?;
            }
        }
        Ok(())
    }

    /// Stores what is new since the last time.
    pub fn store(&mut self, scheduler: &Scheduler) -> Result<(), LoadError> {
        self.next = Instant::now() + EVERY;
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut changed = BTreeMap::new();
        for (identity, name) in scheduler.executed()? {
            let mut bytes = [0; PROGRAM_SIZE];
            bytes[..8].copy_from_slice(&identity.to_ne_bytes());
            scheduler.command("command_program", &mut bytes)?;
            if let Some(seen) = seen(&bytes, name)
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

    /// As [`Programs::store`]; what cannot be stored now may be later.
    pub fn store_or_say(&mut self, scheduler: &Scheduler, watch: &mut dyn Watch) {
        if let Err(error) = self.store(scheduler) {
            watch.note(&format!("what was learned of programs is not stored: {error}"));
        }
    }
}
