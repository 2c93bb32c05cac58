//! Weights by rule: a file gives them to executables, services, cgroups and users by name. The loader tells
//! the BPF host the numbers that the names stand for, and follows the file and the machine while the policy
//! is loaded.

mod error;
mod file;
mod key;
mod known_users;
mod machine;
mod name;
mod resolve;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;

pub use error::RulesError;
pub use file::Rules;
pub use key::{Key, Kind, Weights};
use known_users::{KnownUsers, Users};
pub use machine::ThisMachine;
pub use resolve::{Machine, Resolved};

use super::privileges;

/// The file that is read if nobody names another.
pub const RULES: &str = "/etc/divvy.toml";
/// The number of names that a note lists.
const NAMED: usize = 5;

/// The result of another look at the file and the machine.
#[derive(Debug)]
pub enum Followed {
    /// Nothing is to be told.
    Same,
    /// The file or the machine changed. If only the file's names did, there may be no weights.
    Changed {
        /// The weights that are new or others; `None` where there is no rule any more.
        weights: Vec<(Key, Option<u64>)>,
        /// A sentence, if the file changed.
        note: Option<String>,
    },
    /// The file is no longer one of rules. The rules before stay in force. Each such file is told once.
    Broken(RulesError),
}

/// The state of the file at a look.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Absent,
    /// It was read, or its text was refused: only another text can change that.
    Version(Version),
    /// It could not be opened or read, with this message. That may pass without a change to the file.
    Unreadable(String),
}

/// Tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    size: u64,
    /// In seconds and nanoseconds.
    changed: (i64, i64),
}

/// The file as it is watched. A look may take long: a network may know the users, and cgroups may be many.
#[derive(Debug)]
pub struct RulesFile {
    path: PathBuf,
    seen: Seen,
    rules: Rules,
    resolved: Resolved,
    /// Users that were found since the file was read.
    users: Users,
}

impl RulesFile {
    /// The file that is asked for, or else [`RULES`], which need not be there. It is read as it is followed, without privileges: one that only
    /// a privilege lets see would be gone a second after loading.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn asked_for(path: Option<&Path>) -> Result<Option<RulesFile>, RulesError> {
        let read = || {
            privileges::drop_all();
            Self::open(path.unwrap_or(Path::new(RULES)), path.is_some())
        };
        // A thread's privileges end with it.
        let file = thread::scope(|scope| scope.spawn(read).join());
        file.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Reads the file for the first time, and finds the numbers of its names. Returns `None` if it is not
    /// there and need not be.
    ///
    /// # Errors
    /// If it cannot be read, or is broken.
    pub fn open(path: &Path, must_exist: bool) -> Result<Option<RulesFile>, RulesError> {
        Self::open_on(path, must_exist, &ThisMachine::default())
    }

    fn open_on(
        path: &Path,
        must_exist: bool,
        machine: &dyn Machine,
    ) -> Result<Option<RulesFile>, RulesError> {
        let Some((file, version)) = look(path, must_exist)? else { return Ok(None) };
        let rules = Rules::read(file, path)?;
        let mut users = Users::new();
        let resolved = rules.resolve(&KnownUsers { machine, users: RefCell::new(&mut users) });
        Ok(Some(Self { path: path.to_owned(), seen: Seen::Version(version), rules, resolved, users }))
    }

    /// The weights in force.
    #[must_use]
    pub fn weights(&self) -> &Weights {
        &self.resolved.weights
    }

    /// The names that meant nothing at the last look.
    #[must_use]
    pub fn unknown(&self) -> &[String] {
        &self.resolved.unknown
    }

    /// Says how many rules there are, and which names mean nothing.
    #[must_use]
    pub fn note(&self) -> String {
        let path = self.path.display();
        let mut note = match self.rules.rules.len() {
            _ if self.seen == Seen::Absent => format!("{path} is gone, and so are its rules"),
            _ if self.rules.is_empty() => format!("no rules in {path}"),
            1 => format!("1 rule in {path}"),
            rules => format!("{rules} rules in {path}"),
        };
        let unknown = self.unknown();
        if !unknown.is_empty() {
            let named = unknown.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            note.push_str(&format!("; not known here now: {named}"));
        }
        if let more @ 1.. = unknown.len().saturating_sub(NAMED) {
            note.push_str(&format!(" and {more} more"));
        }
        note
    }

    /// Looks at the file and the machine again. It reads the file only if that is another one or has changed;
    /// a file that is gone has no rules, until it is back.
    pub fn follow(&mut self) -> Followed {
        self.follow_on(&ThisMachine::default())
    }

    fn follow_on(&mut self, machine: &dyn Machine) -> Followed {
        let is_other = match self.reread() {
            Ok(is_other) => is_other,
            Err(error) => return Followed::Broken(error),
        };
        if is_other {
            self.users.clear();
        }
        let machine = KnownUsers { machine, users: RefCell::new(&mut self.users) };
        let resolved = self.rules.resolve(&machine);
        let weights = changes(&self.resolved.weights, &resolved.weights);
        self.resolved = resolved;
        match is_other {
            false if weights.is_empty() => Followed::Same,
            _ => Followed::Changed { weights, note: is_other.then(|| self.note()) },
        }
    }

    /// Reads the file if it changed. Returns whether it did.
    fn reread(&mut self) -> Result<bool, RulesError> {
        let (seen, rules) = match look(&self.path, false) {
            Ok(None) => (Seen::Absent, Ok(Rules::default())),
            Ok(Some((_, version))) if self.seen == Seen::Version(version.clone()) => return Ok(false),
            Ok(Some((file, version))) => (Seen::Version(version), Rules::read(file, &self.path)),
            Err(error) => (Seen::Absent, Err(error)),
        };
        let seen = match &rules {
            Err(error @ RulesError::Io { .. }) => Seen::Unreadable(error.to_string()),
            _ => seen,
        };
        if seen == self.seen {
            return Ok(false);
        }
        self.seen = seen;
        self.rules = rules?;
        Ok(true)
    }
}

/// Opens the file, and says in which state it is before it is read: a change meanwhile makes another state.
fn look(path: &Path, must_exist: bool) -> Result<Option<(File, Version)>, RulesError> {
    let file = match file::open(path) {
        Ok(file) => file,
        Err(RulesError::Io { error, .. }) if !must_exist && is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let known = file.metadata().map_err(|error| RulesError::Io { file: path.to_owned(), error })?;
    let changed = (known.mtime(), known.mtime_nsec());
    let version = Version { device: known.dev(), inode: known.ino(), size: known.size(), changed };
    Ok(Some((file, version)))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The steps from some weights to others.
fn changes(from: &Weights, to: &Weights) -> Vec<(Key, Option<u64>)> {
    let keys: BTreeSet<&Key> = from.keys().chain(to.keys()).collect();
    let others = keys.into_iter().filter(|key| from.get(key) != to.get(key));
    others.map(|key| (*key, to.get(key).copied())).collect()
}

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod follow_tests;
