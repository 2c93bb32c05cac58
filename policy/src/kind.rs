//! What kind of failure an error is: each command's exit code follows from it.

/// What kind of failure an error is. A greater one is more telling, where several errors make up one.
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

/// An error that knows its kind.
pub trait Failure: std::error::Error {
    /// What kind of failure this is.
    fn kind(&self) -> FailureKind;
}
