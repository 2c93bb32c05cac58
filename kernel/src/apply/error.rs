//! Errors of `divvy apply`.

use std::io;
use std::path::PathBuf;

use divvy_policy::{Failure, FailureKind};

use crate::load::Missing;

/// Why weights were not applied, or not restored.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A permission, or something of the machine.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Two at once would each undo what the other does.
    #[error("another divvy apply is at work: process {pid} has {lock}\n  end it first, as in: kill {pid}", lock = .lock.display())]
    Running {
        /// Its process.
        pid: String,
        /// The lock.
        lock: PathBuf,
    },
    /// The journal is damaged, or somebody else wrote it.
    #[error(
        "{}:{line}: {why}; it says what an earlier divvy apply changed\n  look at the file; when nothing in it matters any more: rm {}",
        .file.display(), .file.display()
    )]
    Journal {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The reason.
        why: String,
    },
    /// The words do not go together.
    #[error("{0}")]
    Usage(&'static str),
    /// A file or a directory.
    #[error("{0}")]
    Io(String, #[source] io::Error),
    /// Something could not be put back.
    #[error(
        "{count} values could not be restored; the first: {first}\n  the journal has them: divvy apply --restore"
    )]
    NotRestored {
        /// How many.
        count: usize,
        /// The first one, and why.
        first: String,
    },
}

impl Failure for ApplyError {
    fn kind(&self) -> FailureKind {
        match self {
            ApplyError::Missing(_) => FailureKind::Missing,
            ApplyError::Journal { .. } => FailureKind::BadInput,
            ApplyError::Usage(_) => FailureKind::Usage,
            ApplyError::Running { .. } | ApplyError::Io(..) | ApplyError::NotRestored { .. } => {
                FailureKind::Failed
            }
        }
    }
}
