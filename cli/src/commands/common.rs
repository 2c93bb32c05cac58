//! What `sim`, `replay` and `play` share: reading specs and claims before anything runs, and showing the report.

use std::ffi::OsString;
use std::path::Path;

use divvy_policy::spec;
use divvy_policy::spec::{Spec, SpecError};
use divvy_results::figures::Limits;
use divvy_results::report::Report;
use divvy_results::schedule::{MOST_EVENTS, Window, with_service_errors};
use divvy_sim::run::Options;
use divvy_trace::write_perfetto;
use divvy_workload::{Workload, WorkloadError};

use crate::args::{Figure, Format, MachineArgs, PolicyArgs, ScheduleArgs, ShowArgs};
use crate::assert::{Claim, ClaimError, NotMet};
use crate::output::Output;
use crate::view::page::{Wish, page};
use crate::view::{csv, gantt, json, markdown, table};
use divvy_pages::drawing;
use divvy_pages::report;
use divvy_pages::report::Source;
use divvy_results::text;

/// The policies to run, none twice, the baseline among them; and the baseline's name in the report.
pub fn specs(args: &PolicyArgs) -> Result<(Vec<Spec>, Option<String>), SpecError> {
    let baseline = args.baseline.as_deref().map(|text| spec::parse(text, divvy_policy::all())).transpose()?;
    let name = baseline.as_ref().map(ToString::to_string);
    let mut specs: Vec<Spec> = Vec::new();
    for spec in spec::parse_list(&args.policy, divvy_policy::all())?.into_iter().chain(baseline) {
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }
    Ok((specs, name))
}

/// Reads a workload, and tells how it is not quite as the file says.
pub fn workload(path: &Path, output: Output) -> Result<Workload, WorkloadError> {
    let (workload, notes) = Workload::load(path)?;
    notes.iter().for_each(|note| output.note(&format!("note: {note}")));
    Ok(workload)
}

/// On which machine to run them, and what to list; without chance.
pub fn options(machine: &MachineArgs, schedule: &ScheduleArgs, show: &ShowArgs) -> Options {
    let is_trace = show.format() == Format::Perfetto;
    let has_figures = schedule.figures || is_trace || [Format::Html, Format::Svg].contains(&show.format());
    let draws_schedule =
        schedule.gantt || (show.format() == Format::Svg && show.figure == Some(Figure::Timeline));
    let drawn = draws_schedule.then(|| window(schedule.gantt_span));
    Options {
        figures: has_figures.then(Limits::default),
        schedule: if is_trace { Some(Window::WHOLE) } else { drawn },
        cpus: machine.cpus,
        duration_ns: machine.duration,
        quantum_ns: machine.quantum,
        first_decisions: schedule.schedule.map_or(0, |count| count as usize),
        ..Options::default()
    }
}

fn window((from_ns, to_ns): (u64, u64)) -> Window {
    Window { from_ns, to_ns, most: MOST_EVENTS, values: false }
}

/// The claims of `--assert`.
pub fn claims(args: &ShowArgs) -> Result<Vec<Claim>, ClaimError> {
    args.assert.iter().map(|text| Claim::parse(text)).collect()
}

/// Prints the report, then fails if it does not meet the claims.
pub fn show(
    mut report: Report,
    wish: &Wish,
    args: &ShowArgs,
    claims: &[Claim],
    output: Output,
) -> anyhow::Result<()> {
    let file = args.output.as_deref();
    report.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    report.command = Some(this_command());
    let report = &report;
    let text = match args.format() {
        Format::Table => {
            let (columns, styled) = (output.columns(file), output.is_styled(file));
            table::draw(&page(report, wish), columns, styled) + &gantt::draw(report, columns, styled)
        }
        Format::Json => json::write(report)?,
        Format::Csv => csv::write(report),
        Format::Markdown => markdown::write(&page(report, wish)),
        Format::Svg => drawing::draw(report, args.figure.map(Into::into))?,
        Format::Html => report::write(&[Source { name: None, report }])?,
        Format::Perfetto => {
            output.write_bytes(&perfetto(report, output)?, file)?;
            return check(report, claims);
        }
    };
    output.write(&text, file)?;
    check(report, claims)
}

/// A run that no trace can be made of.
#[derive(Debug, thiserror::Error)]
pub enum NoTrace {
    /// CPUs of several runs are not one machine's.
    #[error(
        "a Perfetto trace is of one policy's run, and these are {0}: give one policy, and a file for each"
    )]
    Several(usize),
    /// Real threads.
    #[error(
        "divvy play keeps no events: record them with `perf sched record`, and see `divvy convert --help`"
    )]
    Unseen,
}

/// The first repetition of the only policy, as a trace.
fn perfetto(report: &Report, output: Output) -> anyhow::Result<Vec<u8>> {
    let firsts: Vec<_> = report.runs.iter().filter(|run| run.rep == 0).collect();
    let &[run] = &firsts[..] else { return Err(NoTrace::Several(firsts.len()).into()) };
    let schedule = with_service_errors(run).ok_or(NoTrace::Unseen)?;
    if schedule.is_cut {
        let events = text::count(MOST_EVENTS as f64);
        let end = text::time(schedule.to_ns as f64);
        output.note(&format!("note: the trace ends at {end}: more than {events} events"));
    }
    if let Some(end_ns) = schedule.counters_end_ns {
        let (end, most) = (text::time(end_ns as f64), text::count(MOST_EVENTS as f64));
        output.note(&format!("note: the policy's counters end at {end}: more than {most} changes"));
    }
    let mut bytes = Vec::new();
    write_perfetto(&schedule, &mut bytes)?;
    Ok(bytes)
}

fn check(report: &Report, claims: &[Claim]) -> anyhow::Result<()> {
    let failures: Result<Vec<_>, ClaimError> =
        claims.iter().filter_map(|claim| claim.check(report).transpose()).collect();
    match failures? {
        failures if failures.is_empty() => Ok(()),
        failures => Err(NotMet { failures }.into()),
    }
}

/// This command, as a shell takes it.
pub fn this_command() -> String {
    command_line(std::env::args_os().skip(1))
}

fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let quoted = arguments.map(|argument| quoted(&argument.to_string_lossy()));
    std::iter::once("divvy".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_the_command_as_it_was_given() {
        let words =
            ["sim", "it's mine.toml", "-p", "pbs:alpha=2+procfair", "--assert", "max(error) < 8ms", ""];
        let script = format!(
            "divvy() {{ printf '%s\\n' \"$@\"; }}; {}",
            command_line(words.map(OsString::from).into_iter())
        );
        let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&output.stdout), words.join("\n") + "\n");
    }

    fn names(policy: &[&str], baseline: Option<&str>) -> Vec<String> {
        let policy = policy.iter().map(|text| (*text).to_owned()).collect();
        let args = PolicyArgs { policy, baseline: baseline.map(str::to_owned) };
        specs(&args).expect("valid").0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_policy_runs_once_however_often_it_is_named() {
        assert_eq!(names(&["rr,sfq", "rr"], Some("fcfs")), ["rr", "sfq", "fcfs"]);
        assert_eq!(names(&["rr,sfq"], Some("sfq")), ["rr", "sfq"]);
    }
}
