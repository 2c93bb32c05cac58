//! A claim, as it was written.

use divvy_policy::{Failure, FailureKind};
use divvy_results::measure::{Quantity, Statistic, Unit};

/// The option of claims, unless an error says otherwise.
pub(super) const ASSERT: &str = "--assert";

/// A claim about every run of a report.
#[derive(Clone, Debug)]
pub struct Claim {
    pub(super) text: String,
    pub(super) left: Side,
    pub(super) op: Op,
    pub(super) right: Side,
}

#[derive(Clone, Debug)]
pub(super) enum Side {
    Number(f64),
    Measure { factor: f64, measure: Measure },
}

#[derive(Clone, Debug)]
pub(super) struct Measure {
    /// As written, for messages.
    pub(super) text: String,
    pub(super) quantity: &'static Quantity,
    /// Absent for a number a run, and for one task's number.
    pub(super) statistic: Option<Statistic>,
    pub(super) task: Option<Name>,
    pub(super) process: Option<Name>,
    pub(super) policy: Option<Name>,
}

/// A name of something in the report, and where in the claim it stands.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Unequal,
}

/// A claim that cannot be judged: it does not follow the grammar, or names something that the report does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} '{}', column {column}: {message}", text.escape_debug())]
pub struct ClaimError {
    /// The option that gave it.
    pub option: &'static str,
    /// The claim as given.
    pub text: String,
    /// Counted in characters from 1.
    pub column: usize,
    /// The problem, and what to write instead.
    pub message: String,
}

impl Failure for ClaimError {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

impl Measure {
    /// A number of samples is a count, whatever is sampled.
    pub(super) fn unit(&self) -> Unit {
        if self.statistic == Some(Statistic::Count) { Unit::Count } else { self.quantity.unit }
    }

    /// Whether it is about some of a run's tasks.
    pub(super) fn is_narrowed(&self) -> bool {
        self.task.is_some() || self.process.is_some()
    }
}
