//! The decision log of a scheduler in the kernel: every event that its machine was told, and the machine's answer.
//!
//! [`LogWriter`] writes a log, [`verify()`] replays it through the native build of the same policy and compares the answers,
//! and [`schedule()`] makes a [`divvy_results::schedule::Schedule`] of it.
//!
//! ```no_run
//! use divvy_log::{Verdict, verify};
//! let report = verify("decisions.log".as_ref(), &mut |event| { println!("{event}"); Ok(()) })?;
//! assert!(matches!(report.verdict, Verdict::Ok));
//! # Ok::<(), divvy_log::LogError>(())
//! ```
//!
//! A file is a header, records of 32 bytes as the BPF host writes them (`bpf/host.h`, `struct record`), and a
//! trailer of 32 bytes, all in the byte order of the machine that wrote it:
//!
//! | byte | header |
//! |---|---|
//! | 0 | `divvylog` |
//! | 8 | u32 0x01020304, the byte order |
//! | 12 | u32 version, 1 |
//! | 16 | u32 size of the header with its text and padding, a multiple of 32 |
//! | 20 | u32 size of a record, 32 |
//! | 24 | u32 CPUs |
//! | 28 | u32 pool: task ids are 1 to this |
//! | 32 | u64 quantum, ns |
//! | 40 | u32 length of the spec |
//! | 44 | u32 0 |
//! | 48 | the spec, UTF-8, and zeros |
//!
//! | byte | trailer |
//! |---|---|
//! | 0 | u64 records that the kernel wrote |
//! | 8 | u64 records that found no room |
//! | 16 | `divvyend` |
//! | 24 | zeros |
//! | 30 | u8 255, where a record has its kind |
//! | 31 | 0 |
//!
//! A writer writes the trailer only when it ends normally. So a file that was cut off anywhere has no valid trailer.

mod error;
mod format;
mod reader;
mod reorder;
mod schedule;
mod text;
mod told;
mod validate;
mod verify;
mod writer;

pub use error::LogError;
pub use format::{Header, RECORD_SIZE};
pub use reader::is_log;
pub use schedule::{Scheduled, schedule};
pub use told::Told;
pub use verify::{Gap, Mismatch, Report, Verdict, verify};
pub use writer::LogWriter;

#[cfg(test)]
mod tests;
