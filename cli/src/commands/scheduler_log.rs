//! Reads the decision log of a scheduler in the kernel as a trace.

use std::path::Path;

use divvy_log::{Scheduled, Verdict, schedule};
use divvy_results::schedule::Schedule;

use super::verify::Mismatched;
use crate::output::Output;

/// The schedule of a log; prints a note if it is not complete.
pub fn read(file: &Path, output: Output) -> anyhow::Result<Schedule> {
    let Scheduled { schedule, report } = schedule(file)?;
    let end_s = |at_ns: u64| (at_ns - report.first_ns) as f64 / 1e9;
    match &report.verdict {
        Verdict::Mismatch(mismatch) => return Err(Mismatched::new(file, mismatch).into()),
        Verdict::Incomplete(_) => output.note(&format!(
            "note: {} records are missing, because the kernel had no room for them; the trace ends before the first of them, after {:.3} s",
            report.dropped,
            end_s(report.last_ns)
        )),
        Verdict::Ok => {}
    }
    if schedule.is_cut {
        output.note("note: the trace ends where there was no room for more events");
    }
    Ok(schedule)
}
