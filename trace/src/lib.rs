//! Recorded scheduler traces: importers, intervals, replayable workloads.
//!
//! [`read`] takes a `perf.data` of `perf sched record` or the text of `perf script`, and reconstructs what each thread did:
//! a [`Recording`] of [`Interval`]s, with a [`Quality`] report. [`replayable`] turns it into a [`Replay`]: each thread's own program
//! of CPU demand, wakes, forks and waits with their causes, which a simulator can run under another scheduler.
//!
//! ```no_run
//! use divvy_trace::{ReadOptions, WakePolicy, read, replayable};
//! let recording = read("trace.perf.data".as_ref(), &ReadOptions::default())?;
//! println!("grade {:?}", recording.quality.grade());
//! let replay = replayable(&recording, WakePolicy::Dependency);
//! # Ok::<(), divvy_trace::TraceError>(())
//! ```

mod chrome;
mod classify;
mod engine;
mod error;
mod event;
mod import;
mod interval;
mod observed;
mod perf_data;
mod perf_script;
mod perfetto;
mod progress;
mod quality;
mod read;
mod recording;
mod replay;
mod schedule;
mod state;
mod switches;

pub use divvy_results::schedule::State;

pub use chrome::write as write_chrome;
pub use classify::{Class, WakeCounts};
pub use error::{ErrorKind, Place, TraceError};
pub use interval::{Activity, Interval, Queued, Wake};
pub use observed::{Observed, Spread};
pub use perf_data::scrub::{Scrubbed, scrub};
pub use perf_script::write::write as write_perf_script;
pub use perfetto::write::write as write_perfetto;
pub use quality::{Finding, Grade, Quality};
pub use read::{ReadOptions, read, read_bytes, read_from};
pub use recording::{Filter, Recording, Thread};
pub use replay::{Cause, Replay, ReplayTask, Start, Step, Timing, WakePolicy, replayable};
