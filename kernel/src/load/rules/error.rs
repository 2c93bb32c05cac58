//! Errors of the file of rules.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use divvy_policy::{Failure, FailureKind};

/// The longest piece of a file that a message repeats, in characters.
const LONGEST: usize = 80;

/// Why there are no rules: the file cannot be read, or its text is no list of rules.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The system did not let the file be read.
    #[error("cannot read {}: {error}{}", .file.display(), remedy(.file, .error))]
    Io {
        /// The path as given.
        file: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The file as a whole is no text with rules.
    #[error("{}: {why}", .file.display())]
    File {
        /// The path as given.
        file: PathBuf,
        /// The problem, and what is allowed.
        why: String,
    },
    /// Something in the text.
    #[error("{}:{line}:{column}: {problem}\n  {allowed}", .file.display())]
    Text {
        /// The path as given.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// The problem.
        problem: String,
        /// The remedy: all that is allowed.
        allowed: String,
    },
}

/// Root may be told that it has no permission, which needs an explanation.
fn remedy(file: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("\n  rules are read without root's privileges: chmod a+r {}", file.display())
        }
        _ => String::new(),
    }
}

impl Failure for RulesError {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

/// A file's name and text, which errors point into.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub file: &'a Path,
    pub text: &'a str,
}

impl Source<'_> {
    /// An error at these bytes of the text.
    pub fn error(
        &self,
        place: Range<usize>,
        problem: impl Into<String>,
        allowed: impl Into<String>,
    ) -> RulesError {
        let is_boundary = |at: &usize| self.text.is_char_boundary(*at);
        let end = (0..=place.start.min(self.text.len())).rev().find(is_boundary).unwrap_or(0);
        let before = &self.text[..end];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        RulesError::Text {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem: problem.into(),
            allowed: allowed.into(),
        }
    }
}

/// A piece of the file for a message: short, and without control characters, which would reach a terminal.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text.escape_debug().take(LONGEST).collect();
    if text.escape_debug().count() > LONGEST {
        shown.push_str("...");
    }
    shown
}
