//! Errors of reading, checking and writing a log.

use std::io;
use std::path::PathBuf;

use super::format::offset;

/// Why a log cannot be written, or read to its end.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The operating system refused.
    #[error("{}: {error}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not a log, or is from another machine or version.
    #[error("{}: {what}", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// The reason, and what to do.
        what: String,
    },
    /// A record is impossible, or impossible at its place.
    #[error("{}: record {record} at byte {}: {what}", file.display(), offset(*header_size, *record))]
    Bad {
        /// The file.
        file: PathBuf,
        /// Number of the record, from 1, in the order of the file.
        record: u64,
        /// Byte of the file at which records begin.
        header_size: u64,
        /// The problem, in words.
        what: String,
    },
    /// The file ends without a trailer.
    #[error(
        "{}: cut off at byte {at}: the trailer is missing, so the writer was killed or the copy is incomplete; the {events} \
         events before agree with the native machine",
        file.display()
    )]
    Cut {
        /// The file.
        file: PathBuf,
        /// Its size, in bytes.
        at: u64,
        /// Number of events that were verified before.
        events: u64,
    },
    /// The caller's function failed, for example on writing the events.
    #[error(transparent)]
    Observer(io::Error),
}
