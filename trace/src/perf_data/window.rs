//! Puts events in order of time with a bounded window.
//!
//! perf drains the CPUs' buffers in rounds: everything in a round is later than the newest event of the round before the previous
//! one, so events up to the previous round's newest can go out, and only the last two rounds are held.

use crate::error::TraceError;
use crate::event::Event;

/// Events held at most when a file marks no rounds; beyond it the older half goes out.
const MOST_HELD: usize = 1 << 22;

/// Where events go.
pub(crate) type Sink<'a> = dyn FnMut(&Event) -> Result<(), TraceError> + 'a;

#[derive(Default)]
pub(crate) struct Window {
    held: Vec<Event>,
    newest_ns: u64,
    /// The newest time of the previous round.
    safe_ns: u64,
}

impl Window {
    pub fn push(&mut self, event: Event, sink: &mut Sink) -> Result<(), TraceError> {
        self.newest_ns = self.newest_ns.max(event.t_ns);
        self.held.push(event);
        if self.held.len() < MOST_HELD {
            return Ok(());
        }
        self.held.sort_by_key(|e| e.t_ns);
        self.pass(MOST_HELD / 2, sink)
    }

    /// Ends a round.
    pub fn end_round(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        self.held.sort_by_key(|e| e.t_ns); // stable: file order breaks ties
        let safe = self.held.partition_point(|e| e.t_ns <= self.safe_ns);
        self.safe_ns = self.newest_ns;
        self.pass(safe, sink)
    }

    /// Ends with the file.
    pub fn finish(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        self.held.sort_by_key(|e| e.t_ns);
        self.pass(self.held.len(), sink)
    }

    /// Events held at present.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn pass(&mut self, count: usize, sink: &mut Sink) -> Result<(), TraceError> {
        self.held.drain(..count).try_for_each(|event| sink(&event))
    }
}
