//! The rules of a file, told to the loaded host, and kept up with: the file may change, and what its names stand for.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::error::LoadError;
use super::host::{Command, MOST_RULES, rule_bytes};
use super::object::Scheduler;
use super::options::{Options, Watch};
use super::rules::{Followed, Key, RulesFile, Weights};

/// How often the file, the names and all tasks are looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Threads of its own look at the file and the names, as users may be known to a network only, and the caller is real-time. As with
/// limits of CPU time, each lives for one look.
pub struct Ruling {
    file: Arc<Mutex<RulesFile>>,
    looking: Option<Receiver<Followed>>,
    /// When to look at the file and the names next, and when the host is to look at all tasks.
    next: Instant,
    next_tasks: Instant,
    /// Those that the host has.
    weights: Weights,
    note: String,
}

impl Ruling {
    /// Reads the file. There may be none, if none is asked for.
    pub fn open(options: &Options) -> Result<Option<Self>, LoadError> {
        let Some(file) = RulesFile::asked_for(options.rules.as_deref())? else { return Ok(None) };
        let (weights, note) = (file.weights().clone(), file.note());
        let file = Arc::new(Mutex::new(file));
        let now = Instant::now();
        Ok(Some(Self { file, looking: None, next: now, next_tasks: now, weights, note }))
    }

    /// Before the scheduler is attached: a group has its weight from its start.
    pub fn begin(&mut self, scheduler: &Scheduler, watch: &mut dyn Watch) -> Result<(), LoadError> {
        watch.note(&self.note);
        self.next = Instant::now();
        say(self.weights.iter().map(|(key, weight)| tell(scheduler, *key, Some(*weight))), watch);
        Ok(())
    }

    /// Tells what changed, and lets the host look at all tasks, if it is time. To be called often.
    pub fn follow(&mut self, scheduler: &Scheduler, watch: &mut dyn Watch) -> Result<(), LoadError> {
        let now = Instant::now();
        // Not only after a look, which may take long.
        if self.next_tasks <= now {
            self.next_tasks = now + EVERY;
            scheduler.command("command_follow_rules", &mut Command::default().bytes())?;
        }
        let Some(looking) = &self.looking else {
            if self.next <= now {
                self.look();
            }
            return Ok(());
        };
        match looking.try_recv() {
            Err(TryRecvError::Empty) => return Ok(()),
            Ok(Followed::Same) | Err(TryRecvError::Disconnected) => {}
            Ok(Followed::Broken(error)) => watch.warn(&format!("{error}\n  the rules stay as they were")),
            Ok(Followed::Changed { weights, note }) => {
                say(weights.into_iter().map(|(key, weight)| self.change(scheduler, key, weight)), watch);
                self.next_tasks = now;
                if let Some(note) = note {
                    watch.note(&note);
                    self.note = note;
                }
            }
        }
        self.looking = None;
        self.next = now + EVERY;
        Ok(())
    }

    fn look(&mut self) {
        let (said, heard) = mpsc::channel();
        let file = self.file.clone();
        self.looking = Some(heard);
        let _ = thread::Builder::new().spawn(move || {
            if let Ok(mut file) = file.lock() {
                let _ = said.send(file.follow());
            }
        });
    }

    fn change(&mut self, scheduler: &Scheduler, key: Key, weight: Option<u64>) -> bool {
        match weight {
            Some(weight) => self.weights.insert(key, weight),
            None => self.weights.remove(&key),
        };
        tell(scheduler, key, weight)
    }
}

/// Returns whether the host has room for it.
fn tell(scheduler: &Scheduler, key: Key, weight: Option<u64>) -> bool {
    scheduler.command("command_set_rule", &mut rule_bytes(key, weight)).is_ok()
}

/// Tells all of them, also after one that found no room.
fn say(told: impl Iterator<Item = bool>, watch: &mut dyn Watch) {
    let without = told.filter(|has_room| !has_room).count();
    if without > 0 {
        watch.warn(&format!(
            "{without} rules do not hold: the names stand for more than {MOST_RULES} executables, cgroups and users"
        ));
    }
}
