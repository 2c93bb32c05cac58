//! Options of `divvy apply`.

use std::path::PathBuf;
use std::time::Duration;

use crate::load::Missing;
use crate::stock::threads::Thread;

/// Among whom the CPUs are divided, in equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Users with threads that want a CPU.
    UserFair,
    /// Processes with such threads.
    ProcessFair,
}

impl Rule {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UserFair => "user-fair",
            Self::ProcessFair => "process-fair",
        }
    }

    /// The plural of those among whom it divides.
    #[must_use]
    pub fn owners(self) -> &'static str {
        match self {
            Self::UserFair => "users",
            Self::ProcessFair => "processes",
        }
    }

    pub(super) fn owner(self, thread: &Thread) -> Option<u32> {
        match self {
            Self::UserFair => thread.uid,
            Self::ProcessFair => Some(thread.tgid),
        }
    }
}

/// A way to change shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// `cpu.weight` of users' cgroups.
    Cgroup,
    /// Nice values of threads.
    Nice,
}

/// The rule to apply, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Among whom.
    pub rule: Rule,
    /// By which mechanism; none is the one that fits.
    pub with: Option<Mechanism>,
    /// Time between two looks.
    pub interval: Duration,
    /// When to end; none is at a signal.
    pub duration: Option<Duration>,
    /// The file that says what was changed.
    pub journal: PathBuf,
}

/// Told what happens meanwhile.
pub trait Watch {
    /// A line for the user.
    fn note(&mut self, text: &str);
    /// A line for each interval.
    fn interval(&mut self, text: &str);
}

/// Where the journal is unless it is said: a place that the next boot finds empty, and others cannot write. Not
/// in /run/divvy: systemd removes that with the unit of `divvy load`.
///
/// # Errors
/// If there is none.
pub fn default_journal() -> Result<PathBuf, Missing> {
    if rustix::process::geteuid().is_root() {
        return Ok("/run/divvy-apply/journal".into());
    }
    let directory = std::env::var_os("XDG_RUNTIME_DIR").filter(|directory| !directory.is_empty());
    let directory = directory.ok_or_else(|| {
        Missing::new(
            "XDG_RUNTIME_DIR is not set, and changes must be written down",
            "say where: --journal FILE",
        )
    })?;
    Ok(PathBuf::from(directory).join("divvy-apply/journal"))
}
