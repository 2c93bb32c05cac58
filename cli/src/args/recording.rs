//! Which part of a recording a command shows.

use clap::{ArgAction, Args, ValueHint};
use divvy_policy::units::parse_duration_ns;
use divvy_policy::{Failure, FailureKind};
use divvy_trace::{Filter, Grade, Recording};

/// The threads to show.
#[derive(Debug, Args)]
pub struct KeepArgs {
    /// Keep only threads of this name and those that they fork (repeat for more)
    #[arg(long, value_name = "COMM", action = ArgAction::Append, value_hint = ValueHint::CommandName)]
    pub keep: Vec<String>,
}

/// The time to show.
#[derive(Debug, Args)]
pub struct PartArgs {
    /// Begin at this time after the first event, as in 1.5s
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub from: Option<u64>,

    /// End at this time after the first event
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub to: Option<u64>,
}

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

impl KeepArgs {
    /// The threads of the recording that were asked for.
    pub fn select(&self, recording: Recording) -> Result<Recording, Unfit> {
        keep(recording, &self.keep)
    }
}

impl PartArgs {
    /// Whether a time, in ns from the first event, is in it.
    pub fn contains(&self, at_ns: u64) -> bool {
        self.from.is_none_or(|from| from <= at_ns) && self.to.is_none_or(|to| at_ns <= to)
    }
}

/// Keeps the threads of these names and those that they fork; all if there are no names.
pub fn keep(recording: Recording, names: &[String]) -> Result<Recording, Unfit> {
    if names.is_empty() {
        return Ok(recording);
    }
    let known = busiest(&recording);
    let filter = Filter { names: names.to_vec(), descendants: true, ..Filter::default() };
    let kept = recording.keep(&filter);
    if kept.threads.is_empty() {
        return Err(Unfit::NothingKept { names: quoted(names), known: quoted(&known) });
    }
    Ok(kept)
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
