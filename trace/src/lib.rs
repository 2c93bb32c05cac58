//! Recorded scheduler traces: importers, intervals, replayable workloads.
