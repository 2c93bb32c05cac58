//! Errors of reading a trace, with their place in the file.

use divvy_policy::{Failure, FailureKind};
use std::fmt;

/// The kind of failure, for callers that decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The operating system refused to open or read the file.
    Io,
    /// The file holds no bytes, or no scheduler events.
    Empty,
    /// The content is not a trace of any known kind.
    Foreign,
    /// A known kind of file, or a variant of it, that is not read here.
    Unsupported,
    /// The file ends before its own headers say so.
    Truncated,
    /// The content contradicts its format.
    Malformed,
    /// A limit of [`crate::ReadOptions`] was reached.
    TooLarge,
}

/// Where in the file an error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Line number, from 1.
    Line(u64),
    /// Byte offset, from 0.
    Offset(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, "line {n}"),
            Place::Offset(n) => write!(f, "byte {n}"),
        }
    }
}

/// A trace could not be read: what, where, and what to do next.
///
/// Displays as one line, or two when there is advice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TraceError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The file's name as the caller gave it.
    pub file: String,
    /// Where in the file, when that is known.
    pub place: Option<Place>,
    /// The problem, in words.
    pub message: String,
    /// Advice on the next step; may be empty.
    pub advice: String,
}

impl Failure for TraceError {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

impl TraceError {
    /// An error without a place; the importer that knows the file adds it.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        TraceError { kind, file: String::new(), place: None, message, advice: String::new() }
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// Adds the place unless a nearer one is known.
    pub(crate) fn at(mut self, place: Place) -> Self {
        self.place.get_or_insert(place);
        self
    }

    pub(crate) fn in_file(mut self, file: &str) -> Self {
        if self.file.is_empty() {
            self.file = file.to_owned();
        }
        self
    }
}

impl From<std::io::Error> for TraceError {
    fn from(e: std::io::Error) -> Self {
        let kind =
            if e.kind() == std::io::ErrorKind::InvalidData { ErrorKind::Malformed } else { ErrorKind::Io };
        TraceError::new(kind, e.to_string())
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        if let Some(place) = self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        if !self.advice.is_empty() {
            write!(f, "\n  {}", self.advice)?;
        }
        Ok(())
    }
}
