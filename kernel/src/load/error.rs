//! Errors of loading a scheduler into the kernel.

use divvy_policy::{Failure, FailureKind};
use std::io;

use super::rules::RulesError;

/// Something that the kernel, the machine or the user's rights lack.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  {fix}")]
pub struct Missing {
    /// The missing thing, and how that was found out.
    pub what: String,
    /// The remedy.
    pub fix: String,
}

impl Missing {
    pub(crate) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// Why a scheduler could not be loaded, or did not stay.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Something that loading needs is missing here.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Shards that cannot be loaded.
    #[error("`@{placement}` cannot be loaded: {why}")]
    Placement {
        /// The placement.
        placement: divvy_policy::Placement,
        /// The reason, and what to do.
        why: String,
    },
    /// The policy is for the simulator only.
    #[error(
        "`{policy}` is for the simulator only: {why}\n  use it with `divvy sim` or `divvy replay`; \
         `divvy policies` lists the others"
    )]
    SimulatorOnly {
        /// The policy.
        policy: &'static str,
        /// The policy's reason.
        why: &'static str,
    },
    /// The time of a decision grows with the number of tasks, and nobody said how many there may be.
    #[error(
        "`{policy}` may look at every task to choose one, and all CPUs wait meanwhile: up to {per_task} accesses to memory for each \
         task\n  say how many tasks it may have, as in `--max-tasks 1000`; further tasks share one queue, and together get what one \
         task gets"
    )]
    Linear {
        /// The policy.
        policy: &'static str,
        /// Accesses to memory for each task.
        per_task: u32,
    },
    /// The file of rules cannot be read, or is damaged.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// The kernel did not take the programs.
    #[error("the kernel refuses the BPF programs of `{policy}`: {reason}{}", log_text(log))]
    Refused {
        /// The policy.
        policy: String,
        /// libbpf's reason.
        reason: String,
        /// The end of the verifier's log.
        log: Vec<String>,
    },
    /// The BPF object was not built with this loader.
    #[error("the BPF object and the loader do not fit: {0}; rebuild divvy")]
    Mismatch(String),
    /// The kernel threw the scheduler out.
    #[error("the kernel threw the scheduler out: {reason}{}", message_text(message))]
    ThrownOut {
        /// The kernel's reason.
        reason: String,
        /// Its details.
        message: String,
        /// The state at that time, for stderr.
        dump: String,
    },
    /// Somebody else ended the scheduler.
    #[error("the scheduler was ended from outside: {reason}{}", message_text(message))]
    Ended {
        /// The kernel's reason.
        reason: String,
        /// Its details.
        message: String,
    },
    /// The kernel's own scheduler is not back.
    #[error("{0} s after unloading, the kernel's sched_ext state is `{1}` and not `disabled`")]
    NotBack(u64, String),
    /// The decision log.
    #[error(transparent)]
    Log(divvy_log::LogError),
    /// The database of programs.
    #[error(transparent)]
    Store(crate::flow::StoreError),
    /// A file, a socket, or a process.
    #[error("{0}")]
    Io(String, #[source] io::Error),
}

fn log_text(log: &[String]) -> String {
    let lines: String = log.iter().map(|line| format!("\n  {line}")).collect();
    if lines.is_empty() { lines } else { format!("\nthe end of the verifier's log:{lines}") }
}

fn message_text(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

impl Failure for Missing {
    fn kind(&self) -> FailureKind {
        FailureKind::Missing
    }
}

impl Failure for LoadError {
    fn kind(&self) -> FailureKind {
        match self {
            LoadError::Missing(_) => FailureKind::Missing,
            LoadError::SimulatorOnly { .. } | LoadError::Placement { .. } | LoadError::Linear { .. } => {
                FailureKind::Usage
            }
            LoadError::Store(error) => error.kind(),
            LoadError::Rules(error) => error.kind(),
            LoadError::Refused { .. }
            | LoadError::Mismatch(_)
            | LoadError::ThrownOut { .. }
            | LoadError::Ended { .. }
            | LoadError::NotBack(..)
            | LoadError::Log(_)
            | LoadError::Io(..) => FailureKind::Failed,
        }
    }
}
