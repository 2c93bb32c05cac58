//! Why a workload could not be played.

use divvy_policy::{Failure, FailureKind};
use thiserror::Error;

/// Why a workload could not be played, or not to its end.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlayError {
    /// The machine or the kernel lacks something, or permission is missing.
    #[error("{0}")]
    Machine(String),
    /// The workload does not fit the options.
    #[error("{0}")]
    Workload(String),
    /// The run broke off.
    #[error("{0}")]
    Broken(String),
}

impl Failure for PlayError {
    fn kind(&self) -> FailureKind {
        match self {
            PlayError::Machine(_) => FailureKind::Missing,
            PlayError::Workload(_) => FailureKind::BadInput,
            PlayError::Broken(_) => FailureKind::Failed,
        }
    }
}
