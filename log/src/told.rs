//! One event of a log with its answer.

use divvy_policy::{Answer, Event};

/// An event of a log, with the kernel's answer. It displays as one line of text.
#[derive(Clone, Debug)]
pub struct Told {
    /// From 1, in the order in which the machine was told.
    pub number: u64,
    /// Number of its record, from 1, in the order of the file.
    pub record: u64,
    /// Byte of the file at which the record begins.
    pub offset: u64,
    /// Time in ns, by the kernel's clock.
    pub now_ns: u64,
    /// The shard whose machine was told, if there are several; numbers of events and CPUs are that one's.
    pub shard: Option<u32>,
    /// The event.
    pub event: Event,
    /// The answer of the kernel's machine.
    pub answer: Answer,
}
