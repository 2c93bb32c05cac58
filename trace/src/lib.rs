//! Recorded scheduler traces: readers, intervals, replayable workloads, and writers.
//!
//! - [`read()`] takes a recording of perf, Perfetto, ftrace, trace-cmd, LTTng or SchedViz, and reconstructs what each
//!   thread did: a [`Recording`] of [`Interval`]s, with a [`Quality`] report.
//! - [`replayable`] turns a recording into a [`Replay`]: each thread's own program of CPU demand, wakes, forks and waits
//!   with their causes. [`Replay::workload`] makes a workload of it, which the simulator runs under another policy.
//! - [`latencies()`] and [`history()`] say how long threads ran and waited, in sum and one after the other.
//! - [`Recording::schedule`] says which thread ran on which CPU. [`write_perfetto`], [`write_chrome`] and
//!   [`write_perf_script`] write a [`divvy_results::schedule::Schedule`], from a recording or from a simulation.
//!
//! Times are in nanoseconds from the first event of the recording.
//!
//! ```no_run
//! use divvy_trace::{ReadOptions, WakePolicy, read, replayable, write_perfetto};
//! let recording = read("trace.perf.data".as_ref(), &ReadOptions::default())?;
//! println!("grade {:?}", recording.quality.grade());
//! let workload = replayable(&recording, WakePolicy::Dependency).workload("trace");
//! write_perfetto(&recording.schedule(), &mut std::fs::File::create("trace.perfetto-trace")?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chrome;
mod classify;
mod ctf;
mod directory;
mod engine;
mod error;
mod event;
mod folder;
mod history;
mod import;
mod interval;
mod known;
mod latency;
mod measured;
mod perf_data;
mod perf_script;
mod perfetto;
mod program;
mod progress;
mod quality;
mod read;
mod reconstruct;
mod recording;
mod repeat;
mod replay;
mod schedule;
mod schedviz;
mod select;
mod state;
mod switches;
mod tick;
mod trace_dat;
mod unpack;
mod workload;

pub use divvy_results::schedule::State;

pub use chrome::write as write_chrome;
pub use classify::{Class, WakeCounts};
pub use error::{ErrorKind, Place, TraceError};
pub use history::{Turn, history};
pub use interval::{Activity, Interval, Queued, Wake};
pub use latency::{Latency, Per, latencies};
pub use measured::{Measured, Spread};
pub use perf_data::scrub::{Scrubbed, scrub};
pub use perf_data::write::{Machine, Named, PerfWriter, Stamp};
pub use perf_script::write::write as write_perf_script;
pub use perfetto::write::write as write_perfetto;
pub use program::{Cause, ReplayTask, Start, Step, Timing};
pub use quality::{Finding, Grade, Quality};
pub use read::{read, read_bytes, read_from};
pub use reconstruct::ReadOptions;
pub use recording::{Filter, Recording, Thread};
pub use replay::{Replay, WakePolicy, replayable};
pub use select::Unfit;
pub use state::letter as state_letter;
