//! Why a figure has no result.

use std::path::PathBuf;

use divvy_policy::{Failure, FailureKind};
use thiserror::Error;

/// Why a figure has no result.
#[derive(Debug, Error)]
pub enum LabError {
    /// A file of the laboratory itself is wrong.
    #[error("lab/{file}: {what}; this is a fault of divvy, please report it")]
    Own {
        /// Which file.
        file: String,
        /// The problem.
        what: String,
    },
    /// The results so far cannot be saved.
    #[error("{}: {error}; --resume saves results there: give a directory that can be written", path.display())]
    Saved {
        /// The file, or its directory.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// A file of results so far is damaged.
    #[error("{}: {what}; --resume keeps results there: remove this one, and they are measured again", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// Where, and the problem.
        what: String,
    },
    /// A simulation broke off.
    #[error("{0}")]
    Run(String),
    /// The kernel lacks something, or it is not free.
    #[error("{0}")]
    Kernel(String),
}

impl Failure for LabError {
    fn kind(&self) -> FailureKind {
        match self {
            LabError::Kernel(_) => FailureKind::Missing,
            LabError::Unread { .. } => FailureKind::BadInput,
            LabError::Own { .. } | LabError::Saved { .. } | LabError::Run(_) => FailureKind::Failed,
        }
    }
}
