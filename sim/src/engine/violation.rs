//! The error that ends a run.

use thiserror::Error;

/// A run that had to end: a defect of a policy or of the simulator, or a workload that makes no sense.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("at {at_ns} ns: {what}")]
pub struct Violation {
    /// When, in simulated time.
    pub at_ns: u64,
    /// The fault, as a sentence.
    pub what: String,
}
