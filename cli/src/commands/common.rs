//! What `sim`, `replay` and `play` share: reading specs and claims before anything runs, and showing the report.

use divvy_sim::policy;
use divvy_sim::report::Report;
use divvy_sim::run::Options;
use divvy_sim::spec::{self, Spec, SpecError};

use crate::args::{Format, MachineArgs, PolicyArgs, ScheduleArgs, ShowArgs};
use crate::assert::{Claim, ClaimError, NotMet};
use crate::output::Output;
use crate::view::page::{Wish, page};
use crate::view::{csv, json, markdown, table};

/// The policies to run, none twice, the baseline among them; and the baseline's name in the report.
pub fn specs(args: &PolicyArgs) -> Result<(Vec<Spec>, Option<String>), SpecError> {
    let baseline = args.baseline.as_deref().map(|text| spec::parse(text, policy::all())).transpose()?;
    let name = baseline.as_ref().map(ToString::to_string);
    let mut specs: Vec<Spec> = Vec::new();
    for spec in spec::parse_list(&args.policy, policy::all())?.into_iter().chain(baseline) {
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }
    Ok((specs, name))
}

/// On which machine to run them, and what to list; without chance.
pub fn options(machine: &MachineArgs, schedule: &ScheduleArgs) -> Options {
    Options {
        cpus: machine.cpus,
        duration_ns: machine.duration,
        quantum_ns: machine.quantum,
        schedule: schedule.schedule.map_or(0, |count| count as usize),
        ..Options::default()
    }
}

/// The claims of `--assert`.
pub fn claims(args: &ShowArgs) -> Result<Vec<Claim>, ClaimError> {
    args.assert.iter().map(|text| Claim::parse(text)).collect()
}

/// Prints the report, then fails if it does not meet the claims.
pub fn show(
    report: &Report,
    wish: &Wish,
    args: &ShowArgs,
    claims: &[Claim],
    output: Output,
) -> anyhow::Result<()> {
    let file = args.output.as_deref();
    let text = match args.format {
        Format::Table => table::draw(&page(report, wish), output.columns(file)),
        Format::Json => json::write(report)?,
        Format::Csv => csv::write(report),
        Format::Markdown => markdown::write(&page(report, wish)),
    };
    output.write(&text, file)?;
    let failures: Result<Vec<_>, ClaimError> =
        claims.iter().filter_map(|claim| claim.check(report).transpose()).collect();
    match failures? {
        failures if failures.is_empty() => Ok(()),
        failures => Err(NotMet { failures }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
