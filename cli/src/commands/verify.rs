//! `divvy verify FILE`.

use divvy_policy::{Failure, FailureKind, file};
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use divvy_log::{Gap, Mismatch, Report, Told, Verdict, verify};
use divvy_policy::{Answer, Event};
use divvy_results::progress::Progress as _;
use divvy_results::text;
use serde_json::{Value, json};

use crate::args::output::PlainFormat;
use crate::output::Output;
use crate::progress::ProgressBar;

/// Check a kernel scheduler's log: does the native build decide the same?
///
/// Gives the native build of the policy every event that the scheduler in the kernel saw (`divvy load SPEC --log
/// FILE`), and compares every answer: the task, its slice, the CPU that is asked to choose again. A difference
/// fails with exit code 1. If records are missing, because the kernel had no room for them, the events before the
/// first are compared, and the exit code is 3. A file that is damaged or cut off is bad input, 4.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy verify run.log
  divvy verify run.log --events --limit 20
  divvy verify run.log -p ./mine.h
  divvy verify run.log --format json > verdict.json")]
pub struct VerifyArgs {
    /// The log
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub log: PathBuf,

    /// The policy file whose log it is, as the spec in the log names it: ./mine.h
    ///
    /// A log does not choose code that runs here: without this, the log of a policy file is refused.
    #[arg(short, long = "policy", value_name = "FILE.h", value_hint = ValueHint::FilePath)]
    pub policy: Option<String>,

    /// Print the events, one per line, before the verdict
    #[arg(long, help_heading = "Output")]
    pub events: bool,

    /// Print only the first N events; all are verified
    #[arg(long, value_name = "N", requires = "events", help_heading = "Output")]
    pub limit: Option<u64>,

    /// How to print it; json has one object per line, the last is the verdict
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: PlainFormat,
}

/// The kernel and the native build decide differently.
#[derive(Debug, thiserror::Error)]
#[error("{}: record {record} at byte {offset}: the kernel's answer differs from the native build's", file.display())]
pub struct Mismatched {
    file: PathBuf,
    record: u64,
    offset: u64,
}

impl Failure for Mismatched {
    fn kind(&self) -> FailureKind {
        FailureKind::Failed
    }
}

impl Mismatched {
    /// The error for this event of this log.
    pub fn new(file: &Path, mismatch: &Mismatch) -> Self {
        Self { file: file.to_owned(), record: mismatch.told.record, offset: mismatch.told.offset }
    }
}

/// Records are missing.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: incomplete: {dropped} record{} found no room in the kernel, {}; record for a shorter time, or on a machine with less load",
    file.display(),
    if *dropped == 1 { "" } else { "s" },
    at.map_or_else(|| "at the end".to_owned(), |at| format!("the first at event {at}"))
)]
pub struct Incomplete {
    file: PathBuf,
    dropped: u64,
    at: Option<u64>,
}

impl Failure for Incomplete {
    fn kind(&self) -> FailureKind {
        FailureKind::NotMet
    }
}

/// Events between two updates of the progress.
const PROGRESS_EVENTS: u64 = 1 << 16;

/// Prints the result, then fails unless the two agree.
pub fn run(args: &VerifyArgs, output: Output) -> anyhow::Result<()> {
    if let Some(policy) = &args.policy {
        file::load(policy)?;
    }
    let limit = if args.events { args.limit.unwrap_or(u64::MAX) } else { 0 };
    let bar = ProgressBar::new("verifying", output);
    bar.begin(std::fs::metadata(&args.log).ok().map(|file| file.len()));
    let mut out = BufWriter::new(io::stdout().lock());
    let report = verify(&args.log, &mut |told| {
        if told.number % PROGRESS_EVENTS == 0 {
            bar.set_position(told.offset);
        }
        match args.format {
            _ if told.number > limit => Ok(()),
            PlainFormat::Table => writeln!(out, "{told}"),
            PlainFormat::Json => writeln!(out, "{}", event_json(told)),
        }
    })
    // Events are printed before the error.
    .map_err(|error| out.flush().err().map_or(error, divvy_log::LogError::Observer))?;
    out.flush()?;
    drop((out, bar));
    let name = args.log.display().to_string();
    let said = match args.format {
        PlainFormat::Table => table(&name, &report),
        PlainFormat::Json => format!("{}\n", report_json(&name, &report)),
    };
    output.write(&said, None)?;
    fail(&args.log, &report)
}

fn fail(file: &Path, report: &Report) -> anyhow::Result<()> {
    let file = file.to_owned();
    match &report.verdict {
        Verdict::Ok => Ok(()),
        Verdict::Mismatch(mismatch) => Err(Mismatched::new(&file, mismatch).into()),
        Verdict::Incomplete(gap) => Err(Incomplete { file, dropped: report.dropped, at: gap.at }.into()),
    }
}

// ---- for people ----

fn table(name: &str, report: &Report) -> String {
    let span = text::time((report.last_ns - report.first_ns) as f64);
    let mut out = format!("{name}: {} on {}, {span}\n", report.header.spec, text::cpus(report.header.cpus));
    let so_far = format!("{} events, {} decisions", thousands(report.events), thousands(report.decisions));
    let _ = match &report.verdict {
        Verdict::Ok => writeln!(out, "{so_far}: all as in the native build"),
        Verdict::Incomplete(Gap { at: Some(at), missing }) => writeln!(
            out,
            "{so_far}: as in the native build; then {} missing, and the rest cannot be compared",
            range(*at, *missing)
        ),
        Verdict::Incomplete(Gap { at: None, missing }) => {
            writeln!(out, "{so_far}: as in the native build; the last {} are missing", thousands(*missing))
        }
        Verdict::Mismatch(mismatch) => {
            writeln!(out, "{so_far}; the last differs from the native build:\n\n{}", difference(mismatch))
        }
    };
    out
}

fn difference(mismatch: &Mismatch) -> String {
    let lines: Vec<String> =
        mismatch.before.iter().chain([&mismatch.told]).map(ToString::to_string).collect();
    let [kernel, native] = mismatch.answers();
    format!("{}\n\n  kernel: {kernel}\n  native: {native}", lines.join("\n"))
}

/// `event 5 is`, `events 5 to 7 are`
fn range(first: u64, n: u64) -> String {
    match n {
        1 => format!("event {} is", thousands(first)),
        _ => format!("events {} to {} are", thousands(first), thousands(first + n - 1)),
    }
}

fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

// ---- for programs ----

fn report_json(name: &str, report: &Report) -> Value {
    let (verdict, gap, mismatch) = match &report.verdict {
        Verdict::Ok => ("ok", Value::Null, Value::Null),
        Verdict::Incomplete(gap) => {
            ("incomplete", json!({ "event": gap.at, "missing": gap.missing }), Value::Null)
        }
        Verdict::Mismatch(mismatch) => ("mismatch", Value::Null, mismatch_json(mismatch)),
    };
    json!({
        "schema_version": 1,
        "log": name,
        "policy": report.header.spec,
        "cpus": report.header.cpus,
        "quantum_ns": report.header.quantum_ns,
        "verdict": verdict,
        "events": report.events,
        "decisions": report.decisions,
        "answers": report.answers,
        "records": report.records,
        "dropped": report.dropped,
        "first_ns": report.first_ns,
        "last_ns": report.last_ns,
        "gap": gap,
        "mismatch": mismatch,
    })
}

fn mismatch_json(mismatch: &Mismatch) -> Value {
    json!({
        "told": event_json(&mismatch.told),
        "native": answer_json(&mismatch.native),
        "before": mismatch.before.iter().map(event_json).collect::<Vec<_>>(),
    })
}

fn event_json(told: &Told) -> Value {
    let mut value = json!({
        "event": told.number,
        "record": told.record,
        "offset": told.offset,
        "now_ns": told.now_ns,
        "kind": told.event.name(),
    });
    let arguments = match told.event {
        Event::New { task, process, weight } => {
            json!({ "task": task, "process": process, "weight": weight.fixed() })
        }
        Event::Runnable { task, is_new } => json!({ "task": task, "is_new": is_new }),
        Event::Quiescent { task, exits } => json!({ "task": task, "exits": exits }),
        Event::Exit { task, moves } => json!({ "task": task, "moves": moves }),
        Event::Enqueue { task }
        | Event::Dequeue { task }
        | Event::Running { task }
        | Event::Session { task }
        | Event::Expire { task } => {
            json!({ "task": task })
        }
        Event::Stopping { task, ran_ns } => json!({ "task": task, "ran_ns": ran_ns }),
        Event::Carry { task, by_ns } => json!({ "task": task, "by_ns": by_ns }),
        Event::Dispatch { cpu } | Event::Yield { cpu } | Event::TakeCpu { cpu } => json!({ "cpu": cpu }),
        Event::SetWeight { task, weight } => json!({ "task": task, "weight": weight.fixed() }),
        Event::SetAllowed { task, ref mask } => {
            // The kernel's machine has four words.
            let words: Vec<u64> = (0..4).map(|at| mask.words().get(at).copied().unwrap_or(0)).collect();
            json!({ "task": task, "mask": words })
        }
        Event::SetProcess { task, process } => json!({ "task": task, "process": process }),
        Event::SetGroup { group, parent, weight } => {
            json!({ "group": group, "parent": parent, "weight": weight.fixed() })
        }
        Event::Fork { task, parent } => json!({ "task": task, "parent": parent }),
        Event::EnterGroup { task, group } => json!({ "task": task, "group": group }),
        // JSON numbers are not exact for 64-bit identities.
        Event::SetProgram { task, program } => json!({ "task": task, "program": format!("{program:016x}") }),
        Event::Learn { program, at, run_ns, .. } => {
            json!({ "program": format!("{program:016x}"), "at": at, "run_ns": run_ns })
        }
        Event::SetParam { owner, index, value } => json!({ "owner": owner, "index": index, "value": value }),
    };
    if let (Value::Object(value), Some(shard)) = (&mut value, told.shard) {
        value.insert("shard".to_owned(), json!(shard));
    }
    let answer = if told.event.is_answered() { answer_json(&told.answer) } else { Value::Null };
    if let (Value::Object(value), Value::Object(arguments)) = (&mut value, arguments) {
        value.extend(arguments);
        value.insert("answer".to_owned(), answer);
    }
    value
}

fn answer_json(answer: &Answer) -> Value {
    json!({ "task": answer.task, "slice_ns": answer.slice_ns, "asked": answer.asked })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
