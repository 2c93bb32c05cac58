//! `divvy replay TRACE -p SPEC..`.

use std::io;
use std::path::Path;

use divvy_sim::replay::{ReplayOptions, replay};
use divvy_sim::run::Options;
use divvy_trace::{Filter, ReadOptions, Recording, TraceError, WakePolicy, read, read_from};

use super::common;
use crate::args::{Grade, RecordingArgs, ReplayArgs, Wakes};
use crate::output::Output;
use crate::place;
use crate::progress::Bar;
use crate::view::page::Wish;

/// A recording that could be read, but is not what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// Worse than `--strict` allows.
    #[error("the recording's grade is {grade:?}, --strict asks for {least:?}{}", lines(findings))]
    Grade {
        /// What it is.
        grade: divvy_trace::Grade,
        /// What it should be.
        least: divvy_trace::Grade,
        /// Why it is not better.
        findings: Vec<String>,
    },
    /// `--keep` leaves no thread.
    #[error("no thread of the recording is called {}; there are {}", .names.join(" or "), .known.join(", "))]
    NothingKept {
        /// What was asked for.
        names: Vec<String>,
        /// The names of those that used the CPU most.
        known: Vec<String>,
    },
}

fn lines(findings: &[String]) -> String {
    findings.iter().map(|finding| format!("\n  {finding}")).collect()
}

/// Reads, replays, compares, checks.
pub fn run(args: &ReplayArgs, verbose: bool, output: Output) -> anyhow::Result<()> {
    place::not_input(std::iter::once(args.trace.as_path()), args.show.output.as_deref())?;
    let (specs, baseline) = common::specs(&args.policies)?;
    let claims = common::claims(&args.show)?;
    let recording = fit(open(&args.trace)?, &args.recording)?;
    let options = ReplayOptions {
        run: Options {
            seed: args.chance.seed,
            reps: args.chance.reps,
            ..common::options(&args.machine, &args.schedule, &args.show)
        },
        wakes: wakes(args.recording.wakes),
        per_thread: args.recording.per_thread,
    };
    let duration_ns = options.run.duration_ns.unwrap_or(recording.span_ns);
    let bar = Bar::new("simulating", Some(duration_ns), specs.len() as u64, output);
    let report = replay(&name(&args.trace), &recording, &specs, &options, &bar);
    drop(bar);
    let wish = Wish { baseline: baseline.as_deref(), all_tasks: verbose };
    common::show(report?, &wish, &args.show, &claims, output)
}

/// Reads a trace of any kind.
pub fn open(path: &Path) -> Result<Recording, TraceError> {
    let options = ReadOptions::default();
    if path == Path::new("-") {
        return read_from(io::stdin().lock(), &name(path), &options);
    }
    read(path, &options)
}

/// What a trace is called.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}

/// Good enough, and only what is to be kept.
fn fit(recording: Recording, args: &RecordingArgs) -> Result<Recording, Unfit> {
    let grade = recording.quality.grade();
    if let Some(least) = args.strict.map(least).filter(|least| grade > *least) {
        let findings = recording.quality.findings().into_iter().map(|finding| finding.text).collect();
        return Err(Unfit::Grade { grade, least, findings });
    }
    if args.keep.is_empty() {
        return Ok(recording);
    }
    let known = busiest(&recording);
    let filter = Filter { names: args.keep.clone(), descendants: true, ..Filter::default() };
    let kept = recording.keep(&filter);
    if kept.threads.is_empty() {
        return Err(Unfit::NothingKept { names: quoted(&args.keep), known: quoted(&known) });
    }
    Ok(kept)
}

/// Names of the threads that used the CPU most, a few.
fn busiest(recording: &Recording) -> Vec<String> {
    const SHOWN: usize = 8;
    let mut threads: Vec<_> = recording.threads.iter().collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.run_ns));
    let mut names: Vec<String> = Vec::new();
    for thread in threads {
        if names.len() < SHOWN && !names.contains(&thread.name) {
            names.push(thread.name.clone());
        }
    }
    names
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{}`", name.escape_debug())).collect()
}

fn least(grade: Grade) -> divvy_trace::Grade {
    match grade {
        Grade::A => divvy_trace::Grade::A,
        Grade::B => divvy_trace::Grade::B,
        Grade::C => divvy_trace::Grade::C,
        Grade::D => divvy_trace::Grade::D,
    }
}

fn wakes(wakes: Wakes) -> WakePolicy {
    match wakes {
        Wakes::Dep => WakePolicy::Dependency,
        Wakes::Fixed => WakePolicy::Fixed,
        Wakes::Open => WakePolicy::Open,
    }
}
