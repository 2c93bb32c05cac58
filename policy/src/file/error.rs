//! Why there is no policy from a file.

use std::fmt;
use std::path::PathBuf;

use super::contract::Breach;
use crate::compile::CompileError;
use crate::kind::{Failure, FailureKind};

/// Why there is no policy from this file.
#[derive(Debug, thiserror::Error)]
#[error("policy file {}: {reason}", file.escape_debug())]
pub struct FileError {
    file: String,
    reason: Reason,
}

/// The reason.
#[derive(Debug, thiserror::Error)]
pub(super) enum Reason {
    #[error("a policy is a header in C: give a file whose name ends in .h")]
    Ending,
    #[error(
        "`{}` cannot be a policy's name: its functions begin with the file's name, so that has letters, digits and _, begins with none of the \
         digits, and is no word of C, no modifier's name and no name of the machine's own", .0.escape_debug()
    )]
    Name(String),
    #[error("cannot read {}: {}", .0.escape_debug(), .1)]
    Unreadable(String, String),
    #[error("it includes more than {0} headers of its own")]
    TooManyHeaders(usize),
    #[error(
        "{}:{}: it includes a header that is neither divvy's nor beside the policy: write `#include \"FILE\"`, with a file in the policy's directory",
        .0.escape_debug(), .1
    )]
    Outside(String, usize),
    #[error("{}: no policy that another machine sends has a header with this path, or of more than 1 MiB", .0.escape_debug())]
    Sent(String),
    #[error("it does not compile; the compiler says:\n{0}")]
    Refused(String),
    #[error("it does not keep the contract of a policy:\n{}\n`divvy help contract` prints the contract", list(.0))]
    Contract(Vec<Breach>),
    #[error("{0}")]
    Param(String),
    #[error("{0}")]
    Compile(CompileError),
    #[error("cannot load {}: {}; remove that file, and it is compiled again", .0.display(), .1)]
    NotLoaded(PathBuf, String),
}

fn list(breaches: &[Breach]) -> impl fmt::Display {
    breaches.iter().map(|breach| format!("  {breach}")).collect::<Vec<_>>().join("\n")
}

impl FileError {
    pub(super) fn new(file: &str, reason: Reason) -> FileError {
        FileError { file: file.to_owned(), reason }
    }
}

impl Failure for FileError {
    fn kind(&self) -> FailureKind {
        match &self.reason {
            Reason::Ending | Reason::Name(_) => FailureKind::Usage,
            Reason::Compile(error) => error.kind(),
            Reason::NotLoaded(..) => FailureKind::Failed,
            _ => FailureKind::BadInput,
        }
    }
}
