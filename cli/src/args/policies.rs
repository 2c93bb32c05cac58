//! The policies to run.

use clap::{ArgAction, Args, ValueHint};
use divvy_policy::spec::Spec;
use divvy_policy::{ChoiceError, Chosen};

/// The policies to run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Policies")]
pub struct PolicyArgs {
    /// Policy to run: SELECTION[:param=value]..[+MODIFIER[:param=value]..].., several by commas or by repeating -p
    ///
    /// `divvy policies` lists selections and modifiers, `divvy policies NAME` their parameters. Times have a unit
    /// (gr3:quantum=2ms), ratios are decimals or inf. ./mine.h is a policy of your own, which is compiled now: `divvy help contract`.
    #[arg(short, long = "policy", required = true, value_name = "SPEC", action = ArgAction::Append, value_hint = ValueHint::Other)]
    pub policy: Vec<String>,

    /// Compare the others with this policy; it is added if -p does not name it [default: the first]
    #[arg(long, value_name = "SPEC", value_hint = ValueHint::Other)]
    pub baseline: Option<String>,
}

impl PolicyArgs {
    /// The policies to run, each once, with the baseline; and the baseline's name in the report. Policy files are compiled.
    pub fn specs(&self) -> Result<(Vec<Spec>, Option<String>), ChoiceError> {
        let Chosen { specs, baseline } = Chosen::read(&self.policy, self.baseline.as_deref())?;
        Ok((specs, baseline.as_ref().map(ToString::to_string)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(policy: &[&str], baseline: Option<&str>) -> Vec<String> {
        let policy = policy.iter().map(|text| (*text).to_owned()).collect();
        let args = PolicyArgs { policy, baseline: baseline.map(str::to_owned) };
        args.specs().expect("valid").0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_policy_runs_once_however_often_it_is_named() {
        assert_eq!(names(&["rr,sfq", "rr"], Some("fcfs")), ["rr", "sfq", "fcfs"]);
        assert_eq!(names(&["rr,sfq"], Some("sfq")), ["rr", "sfq"]);
    }
}
