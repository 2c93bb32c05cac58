//! Puts events in order of time with a bounded window.
//!
//! perf drains the CPUs' buffers in rounds: everything in a round is later than the newest event of the round before the previous
//! one, so events up to the previous round's newest can go out, and only the last two rounds are held.

use crate::error::{ErrorKind, TraceError};
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
    /// Rounds say nothing here.
    no_rounds: bool,
    /// Nothing goes out before the end: the parts of a recording follow each other, and each is from start to end.
    is_whole: bool,
    /// The end is missing.
    is_cut: bool,
}

impl Window {
    /// A window for a recording in parts.
    pub fn whole() -> Window {
        Window { no_rounds: true, is_whole: true, ..Window::default() }
    }

    /// From now on rounds are not where they were in the recording.
    pub fn ignore_rounds(&mut self) {
        self.no_rounds = true;
    }

    /// The rest of the file is missing. Of the last round, some CPUs' events may be there and others not.
    pub fn cut(&mut self) {
        self.is_cut = true;
    }

    pub fn push(&mut self, event: Event, sink: &mut Sink) -> Result<(), TraceError> {
        self.newest_ns = self.newest_ns.max(event.t_ns);
        self.held.push(event);
        if self.held.len() < MOST_HELD {
            return Ok(());
        }
        if self.is_whole {
            let what = format!("more than {MOST_HELD} events in the files of a directory");
            return Err(TraceError::new(ErrorKind::TooLarge, what).advise("record without --threads"));
        }
        self.held.sort_by_key(|e| e.t_ns);
        self.pass(MOST_HELD / 2, sink)
    }

    /// Ends a round.
    pub fn end_round(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        if self.no_rounds {
            return Ok(());
        }
        self.held.sort_by_key(|e| e.t_ns); // stable: file order breaks ties
        let safe = self.held.partition_point(|e| e.t_ns <= self.safe_ns);
        self.safe_ns = self.newest_ns;
        self.pass(safe, sink)
    }

    /// Ends with the file.
    pub fn finish(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        self.held.sort_by_key(|e| e.t_ns);
        let has_rounds = self.is_cut && !self.no_rounds && self.safe_ns > 0;
        let whole = self.held.partition_point(|e| !has_rounds || e.t_ns <= self.safe_ns);
        self.pass(whole, sink)
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
