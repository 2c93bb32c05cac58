//! Which part of a recording a command shows.

use clap::{ArgAction, Args, ValueHint};
use divvy_policy::units::parse_duration_ns;
use divvy_trace::{Recording, Unfit};

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

impl KeepArgs {
    /// The threads of the recording that were asked for.
    pub fn select(&self, recording: Recording) -> Result<Recording, Unfit> {
        recording.named(&self.keep)
    }
}

impl PartArgs {
    /// Whether a time, in ns from the first event, is in it.
    pub fn contains(&self, at_ns: u64) -> bool {
        self.from.is_none_or(|from| from <= at_ns) && self.to.is_none_or(|to| at_ns <= to)
    }
}
