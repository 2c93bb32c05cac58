//! The part of a recording that was asked for: good enough, and of some threads.

use divvy_policy::{Failure, FailureKind};

use crate::quality::Grade;
use crate::recording::{Filter, Recording};

/// A recording that was read, but does not meet the options.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// Worse than `--strict` allows.
    #[error(
        "the recording's grade is {grade:?}, and --strict asks for {least:?} or better{}",
        lines(findings)
    )]
    Grade {
        /// The recording's grade.
        grade: Grade,
        /// The lowest grade that `--strict` allows.
        least: Grade,
        /// Why it is not better.
        findings: Vec<String>,
    },
    /// `--keep` leaves no thread.
    #[error("no thread of the recording is called {}; there are {}", .names.join(" or "), .known.join(", "))]
    NothingKept {
        /// The names of `--keep`.
        names: Vec<String>,
        /// The names of those that used the CPU most.
        known: Vec<String>,
    },
}

impl Failure for Unfit {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

fn lines(findings: &[String]) -> String {
    findings.iter().map(|finding| format!("\n  {finding}")).collect()
}

impl Recording {
    /// Refuses a recording below this grade.
    ///
    /// # Errors
    /// If it is, with the findings that lower its grade.
    pub fn at_least(self, least: Option<Grade>) -> Result<Recording, Unfit> {
        let grade = self.quality.grade();
        match least.filter(|least| grade > *least) {
            None => Ok(self),
            Some(least) => {
                let findings = self.quality.findings().into_iter().map(|finding| finding.text).collect();
                Err(Unfit::Grade { grade, least, findings })
            }
        }
    }

    /// Keeps the threads of these names and those that they fork; all if there are no names.
    ///
    /// # Errors
    /// If no thread has one of the names.
    pub fn named(self, names: &[String]) -> Result<Recording, Unfit> {
        if names.is_empty() {
            return Ok(self);
        }
        let known = busiest(&self);
        let filter = Filter { names: names.to_vec(), descendants: true, ..Filter::default() };
        let kept = self.keep(&filter);
        if kept.threads.is_empty() {
            return Err(Unfit::NothingKept { names: quoted(names), known: quoted(&known) });
        }
        Ok(kept)
    }
}

/// Names of the threads that used the CPU most, a few.
fn busiest(recording: &Recording) -> Vec<String> {
    const SHOWN: usize = 8;
    let mut threads: Vec<_> = recording.threads.iter().collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.run_ns));
    let mut names: Vec<String> = Vec::new();
    for thread in threads {
        if names.len() < SHOWN && !names.contains(&thread.name) {
            names.push(thread.name.clone());
        }
    }
    names
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{}`", name.escape_debug())).collect()
}
