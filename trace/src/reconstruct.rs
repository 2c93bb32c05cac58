//! From an importer's events to a recording.

use crate::engine::Engine;
use crate::error::{ErrorKind, TraceError};
use crate::event::Event;
use crate::import::Facts;
use crate::perf_data::window::Sink;
use crate::recording::{Intervals, Recording};

/// Limits: a trace may be huge or hostile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// Most threads, each generation of a number counted. Default 2^20.
    pub max_threads: usize,
    /// Most intervals over all threads, 40 bytes each. Default 2^26.
    pub max_intervals: usize,
    /// Keep intervals. Without them memory is bounded by threads, and only totals and the quality are there.
    pub intervals: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { max_threads: 1 << 20, max_intervals: 1 << 26, intervals: true }
    }
}

pub(crate) fn reconstruct(
    options: &ReadOptions,
    import: impl FnOnce(&mut Sink) -> Result<Facts, TraceError>,
) -> Result<Recording, TraceError> {
    let mut engine =
        Engine::new(Intervals::new(options.max_intervals, options.intervals), options.max_threads);
    let facts = import(&mut |event: &Event| engine.event(event))?;
    engine.finish()?;
    let quality = &mut engine.quality;
    quality.format = facts.format.to_owned();
    quality.clock = facts.clock.to_owned();
    quality.kernel = facts.kernel;
    quality.malformed += facts.malformed;
    quality.cut_at = facts.cut_at;
    quality.guessed = facts.guessed;
    quality.ticks = facts.ticks;
    quality.first_malformed_line = facts.first_malformed_line;
    quality.lost_events = quality.lost_events.saturating_add(facts.lost_somewhere);
    if quality.switches == 0 {
        return Err(TraceError::new(ErrorKind::Empty, "the trace has no sched_switch events")
            .advise("record with: perf sched record -k CLOCK_MONOTONIC -m 8M -a -- COMMAND"));
    }
    Ok(Recording { cgroups: facts.cgroups, ..Recording::from(engine) })
}
