//! A run as a Perfetto trace.

use divvy_policy::{Failure, FailureKind};
use divvy_results::report::Report;
use divvy_results::schedule::{MOST_EVENTS, with_service_errors};
use divvy_results::text;
use divvy_trace::write_perfetto;

/// A trace, and where it is not complete.
pub struct Trace {
    pub bytes: Vec<u8>,
    pub notes: Vec<String>,
}

/// A run that no trace can be made of.
#[derive(Debug, thiserror::Error)]
pub enum NoTrace {
    /// Several runs have no common CPUs.
    #[error(
        "a Perfetto trace has the run of one policy, and these are {0}: give one policy, and a file for each"
    )]
    Several(usize),
    /// Real threads.
    #[error(
        "divvy play keeps no events: record them with `perf sched record`, and see `divvy convert --help`"
    )]
    Unseen,
}

impl Failure for NoTrace {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// The first repetition of the only policy, as a trace.
pub fn trace(report: &Report) -> anyhow::Result<Trace> {
    let firsts: Vec<_> = report.runs.iter().filter(|run| run.rep == 0).collect();
    let &[run] = &firsts[..] else { return Err(NoTrace::Several(firsts.len()).into()) };
    let schedule = with_service_errors(run).ok_or(NoTrace::Unseen)?;
    let mut notes = Vec::new();
    if schedule.is_cut {
        let events = text::count(MOST_EVENTS as f64);
        let end = text::time(schedule.to_ns as f64);
        notes.push(format!("the trace ends at {end}: more than {events} events"));
    }
    if let Some(end_ns) = schedule.counters_end_ns {
        let (end, most) = (text::time(end_ns as f64), text::count(MOST_EVENTS as f64));
        notes.push(format!("the policy's counters end at {end}: more than {most} changes"));
    }
    let mut bytes = Vec::new();
    write_perfetto(&schedule, &mut bytes)?;
    Ok(Trace { bytes, notes })
}
