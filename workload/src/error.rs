//! Errors that say what, where, and what to do.

use divvy_policy::{Failure, FailureKind};
use std::fmt;
use std::ops::Range;

/// Why a workload could not be read: a place in a file, or a file that could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The operating system's reason.
    #[error("cannot read {file}: {reason}")]
    File {
        /// The path as given.
        file: String,
        /// The reason that the system gives.
        reason: String,
    },
    /// Something in the text.
    #[error("{0}")]
    Text(Box<TextError>),
}

/// An error at a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The path as given.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The problem.
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
    /// The line itself, cut if very long.
    pub excerpt: String,
    /// Number of characters from `column` on that are meant.
    pub width: usize,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, help, excerpt, width } = self;
        write!(f, "{file}:{line}:{column}: {message}")?;
        if *column <= excerpt.chars().count() {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            let carets = "^".repeat(*width);
            write!(f, "\n  {number} | {excerpt}\n  {margin} | {:>indent$}{carets}", "", indent = column - 1)?;
        }
        if help.is_empty() { Ok(()) } else { write!(f, "\n  help: {help}") }
    }
}

/// A file's name and text, which errors point into.
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// The nearest byte at or before this one at which a character begins.
    fn boundary(&self, at: usize) -> usize {
        (0..=at.min(self.text.len())).rev().find(|&i| self.text.is_char_boundary(i)).unwrap_or(0)
    }

    /// The line and column of a byte, both from 1; the column is in characters.
    pub(super) fn line_column(&self, at: usize) -> (usize, usize) {
        let before = &self.text[..self.boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// An error at these bytes of the text.
    pub(super) fn error(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> WorkloadError {
        /// Longest excerpt, in characters.
        const LONGEST: usize = 120;
        let start = self.boundary(span.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_text = self.text[line_start..].lines().next().unwrap_or("");
        let (line, column) = self.line_column(start);
        let meant = self.text.get(start..span.end).unwrap_or("");
        let on_this_line = meant.lines().next().unwrap_or("").chars().count();
        WorkloadError::Text(Box::new(TextError {
            file: self.file.to_owned(),
            line,
            column,
            message: message.into(),
            help: help.into(),
            // Control characters would move the terminal's cursor, and the carets away from what they mark.
            excerpt: line_text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect(),
            width: on_this_line.clamp(1, LONGEST.saturating_sub(column).max(1)),
        }))
    }
}

impl Failure for WorkloadError {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}
