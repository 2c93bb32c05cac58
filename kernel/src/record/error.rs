//! Errors of recording, and what it needs.

use std::io;

use divvy_policy::{Failure, FailureKind};
use rustix::thread::{CapabilitySet, capabilities};

use crate::load::{LoadError, Missing, check};

/// The first Linux whose switches tell the state of the thread that leaves: without it, a thread that is woken at once looks runnable.
const FIRST: (u32, u32) = (5, 18);

/// The capabilities that the kernel requires for programs at tracepoints. CAP_SYS_ADMIN includes them.
const NEEDED: [(CapabilitySet, &str); 2] =
    [(CapabilitySet::BPF, "CAP_BPF"), (CapabilitySet::PERFMON, "CAP_PERFMON")];

/// Why nothing was recorded, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Something that recording needs is missing here.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The kernel did not take the programs.
    #[error("the kernel refuses the recorder's BPF programs: {reason}{}", .log.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    Refused {
        /// libbpf's reason.
        reason: String,
        /// The end of the verifier's log.
        log: Vec<String>,
    },
    /// The command could not be run.
    #[error(transparent)]
    Command(#[from] LoadError),
    /// A file, or a process.
    #[error("{0}")]
    Io(String, #[source] io::Error),
}

impl Failure for RecordError {
    fn kind(&self) -> FailureKind {
        match self {
            RecordError::Missing(_) => FailureKind::Missing,
            RecordError::Command(error) => error.kind(),
            RecordError::Refused { .. } | RecordError::Io(..) => FailureKind::Failed,
        }
    }
}

/// The error of a binary without the BPF programs.
pub fn not_built() -> Missing {
    let Missing { what, fix } = check::not_built();
    Missing::new(
        what,
        format!("{fix}; or record with perf: perf sched record -k CLOCK_MONOTONIC -m 8M -a -- COMMAND"),
    )
}

/// Checks all requirements, in a useful order.
///
/// # Errors
/// The first that is not met.
pub fn ready() -> Result<(), Missing> {
    if cfg!(feature = "bpf") { here() } else { Err(not_built()) }
}

fn here() -> Result<(), Missing> {
    let release = check::release();
    if check::version(&release).is_some_and(|version| version < FIRST) {
        return Err(Missing::new(
            format!("Linux {release} is too old to record: it must be {}.{} or later", FIRST.0, FIRST.1),
            "record with perf: perf sched record -k CLOCK_MONOTONIC -m 8M -a -- COMMAND",
        ));
    }
    check::btf()?;
    permission(capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective))
}

fn permission(effective: CapabilitySet) -> Result<(), Missing> {
    let lacking = check::lacking(effective, &NEEDED);
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Missing::new(
        format!("no permission to record the kernel's scheduling: {} missing", lacking.join(" and ")),
        "run it as root, as in: sudo divvy record ...; COMMAND then also runs as root",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let error = permission(CapabilitySet::NET_ADMIN).expect_err("not enough");
        assert!(
            error.what.contains("CAP_BPF and CAP_PERFMON missing") && error.fix.contains("sudo"),
            "{error}"
        );
        let error = permission(CapabilitySet::BPF).expect_err("half");
        assert!(error.what.contains(": CAP_PERFMON missing"), "{error}");
        assert_eq!(permission(CapabilitySet::BPF | CapabilitySet::PERFMON), Ok(()));
        assert_eq!(permission(CapabilitySet::SYS_ADMIN), Ok(()));
    }
}
