//! Kinds of failure: the exit code of a command follows from the kind of its error.

/// The kind of failure that an error is. If one error caused another, the greater kind of the two counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// Something failed, and none of the other kinds says more.
    Failed,
    /// The command was not given as it must be.
    Usage,
    /// A claim, or what was asserted, is not met.
    NotMet,
    /// A file that was read is wrong.
    BadInput,
    /// The kernel lacks something, or permission is missing.
    Missing,
}

impl FailureKind {
    /// The exit code of a command that fails so.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotMet => 3,
            Self::BadInput => 4,
            Self::Missing => 5,
        }
    }
}

/// An error that knows its kind.
pub trait Failure: std::error::Error {
    /// The kind of failure that this is.
    fn kind(&self) -> FailureKind;
}
