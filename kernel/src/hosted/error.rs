//! Why a workload does not run in the host.

use divvy_policy::compile::CompileError;
use divvy_policy::{Failure, FailureKind};
use divvy_sim::run::RunError;

/// Why a workload does not run in the host.
#[derive(Debug, thiserror::Error)]
pub enum HostedError {
    /// The policy cannot be loaded into a kernel.
    #[error("policy {policy} does not run in a kernel's host: {why}; leave out --host")]
    Policy {
        /// As given.
        policy: String,
        /// Why not.
        why: String,
    },
    /// The workload asks for what the host, or a kernel, does not do.
    #[error("{workload}: {what}")]
    Workload {
        /// Its name.
        workload: String,
        /// The part, and what to do.
        what: String,
    },
    /// A log has the decisions of one run.
    #[error("a log has the decisions of one run: give one policy and no --reps with --log")]
    SeveralLogs,
    /// The model cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The model cannot be started.
    #[error("cannot start the model of Linux, {program}: {error}")]
    Start {
        /// Its executable.
        program: String,
        /// Why not.
        error: std::io::Error,
    },
    /// The decision log cannot be written.
    #[error(transparent)]
    Log(#[from] divvy_log::LogError),
    /// As without a host.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Failure for HostedError {
    fn kind(&self) -> FailureKind {
        match self {
            HostedError::Policy { .. } | HostedError::SeveralLogs => FailureKind::Usage,
            HostedError::Workload { .. } => FailureKind::BadInput,
            HostedError::Compile(error) => error.kind(),
            HostedError::Log(error) => error.kind(),
            HostedError::Run(error) => error.kind(),
            HostedError::Start { .. } => FailureKind::Failed,
        }
    }
}
