//! The kernel's scheduling as a recording: a `perf.data`, without perf.
//!
//! BPF programs at the scheduler's tracepoints (`bpf/record.bpf.c`) write into a ring for each CPU; the session looks into
//! them by its own clock and writes the file. What the rings had no room for is counted, and stands in the file at its place.

#![cfg_attr(not(feature = "bpf"), allow(dead_code))]

#[cfg(feature = "bpf")]
mod cpus;
mod error;
#[cfg(feature = "bpf")]
mod event;
mod names;
#[cfg(feature = "bpf")]
mod object;
#[cfg(feature = "bpf")]
mod output;
mod present;
#[cfg(feature = "bpf")]
mod session;
#[cfg(feature = "bpf")]
mod sys;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub use error::{RecordError, ready};
#[cfg(feature = "bpf")]
pub use session::record;

/// A recording to make, and where to write it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file; `-` is stdout.
    pub output: PathBuf,
    /// How long; without it until the command ends, or a signal arrives.
    pub duration: Option<Duration>,
    /// Names are replaced.
    pub scrub: bool,
    /// Events that each CPU's ring has room for.
    pub slots: u32,
    /// A program to run meanwhile.
    pub command: Vec<OsString>,
}

/// The least and the most events of a ring.
pub const SLOTS: std::ops::RangeInclusive<u32> = 64..=1 << 20;

/// A recording, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How long.
    pub elapsed: Duration,
    /// Events that were written.
    pub events: u64,
    /// Changes of the running thread among them.
    pub switches: u64,
    /// Wake-ups among them.
    pub wakes: u64,
    /// Events that a ring had no room for, by CPU.
    pub lost: Vec<u64>,
    /// Bytes that were written.
    pub bytes: u64,
    /// CPU time of this process, for reading and writing.
    pub own_cpu: Duration,
    /// Cgroups whose paths were lost when they were made. Those that were there for longer were looked up.
    pub lost_paths: u64,
}

impl Summary {
    /// All events that were lost.
    #[must_use]
    pub fn all_lost(&self) -> u64 {
        self.lost.iter().sum()
    }
}

/// Learns how a recording goes on.
pub trait Watch {
    /// A message for the user.
    fn note(&mut self, text: &str);
    /// How far it has come, several times a second.
    fn progress(&mut self, so_far: &Summary);
}

/// Without the feature `bpf` nothing can be recorded: always an error.
#[cfg(not(feature = "bpf"))]
pub fn record(_: &Options, _: &mut dyn Watch) -> (Result<Summary, RecordError>, Option<u8>) {
    (Err(error::not_built().into()), None)
}
