//! The error of a run on the real machine.

use divvy_policy::{Failure, FailureKind};
use thiserror::Error;

/// Why a workload could not be played, or not to its end. Each message names the place and a remedy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlayError {
    /// The machine or the kernel lacks something, or permission is missing.
    #[error("{0}")]
    Machine(String),
    /// The workload does not fit the options.
    #[error("{0}")]
    Workload(String),
    /// The run started and could not go on.
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
