//! What can be wrong with a log.

use std::io;
use std::path::PathBuf;

use super::format::offset;
use divvy_policy::{Failure, FailureKind};

/// Why a log cannot be written, or read to its end.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system says no.
    #[error("{}: {error}", file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no log, or not of this machine or version.
    #[error("{}: {what}", file.display())]
    Foreign {
        /// Which file.
        file: PathBuf,
        /// How it is seen, and what to do.
        what: String,
    },
    /// A record cannot be, or not there.
    #[error("{}: record {record} at byte {}: {what}", file.display(), offset(*header_size, *record))]
    Bad {
        /// Which file.
        file: PathBuf,
        /// Which record, from 1, in the order of the file.
        record: u64,
        /// Where records begin.
        header_size: u64,
        /// What is wrong.
        what: String,
    },
    /// It ends without a trailer.
    #[error(
        "{}: cut off at byte {at}: there is no trailer, so whoever wrote it was killed or the copy is not whole; \
         the {events} events that could be verified are as natively",
        file.display()
    )]
    Cut {
        /// Which file.
        file: PathBuf,
        /// Its size.
        at: u64,
        /// Verified before.
        events: u64,
    },
    /// Who looks at the events failed.
    #[error(transparent)]
    Observer(io::Error),
}

impl Failure for LogError {
    fn kind(&self) -> FailureKind {
        match self {
            LogError::Observer(_) => FailureKind::Failed,
            LogError::Io { .. } | LogError::Foreign { .. } | LogError::Bad { .. } | LogError::Cut { .. } => {
                FailureKind::BadInput
            }
        }
    }
}
