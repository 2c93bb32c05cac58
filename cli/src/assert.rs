//! `--assert` and `--goal`: claims about a report, whether its runs meet them, and how far they are from it.
//!
//! ```text
//! claim     = side ("<" | "<=" | ">" | ">=" | "==" | "!=") side
//! side      = number | [number "*"] measure
//! number    = decimal ["ns" | "us" | "ms" | "s" | "min" | "h" | "%"]
//! measure   = quantity ["(" arg {"," arg} ")"] | statistic "(" quantity {"," arg} ")"
//! arg       = ["task" "="] name | "process" "=" name | "policy" "=" spec
//! statistic = "mean" | "p50" | "p90" | "p99" | "p999" | "max" | "min" | "sum" | "count"
//! ```
//!
//! Quantities are those of [`QUANTITIES`]. A quantity of the run stands
//! alone (`jain`), one of a task names its task (`share(T1)`) or pools tasks (`max(error)`), and a
//! distribution needs a statistic (`p99(response, task=T1)`). A task's name stands for all instances
//! of its `count`. Without a task, a distribution is that of all jobs of the run; several tasks that are
//! named together have the mean over their jobs, and the worst of their percentiles. Names that contain `,`
//! or `)` are put in double quotes.
//!
//! A claim is met when every run meets it; a side with `policy=` is that policy's in the same
//! repetition, so `mean(wait, policy=gr3) < 0.5 * mean(wait, policy=rr)` compares two policies. What
//! was not measured meets no claim.

use divvy_policy::{Failure, FailureKind};
use std::fmt;

use divvy_policy::nearest;
use divvy_policy::quantity;
use divvy_results::measure::{QUANTITIES, Source, Statistic, Unit};
use divvy_results::report::{Report, Run, TaskResult};
use divvy_workload::Workload;

mod claim;
mod goal;
mod parse;
#[cfg(test)]
mod tests;

use claim::{ASSERT, Measure, Name, Op, Side};
pub use claim::{Claim, ClaimError};

/// The claims of `--assert`, or of `--goal`.
pub struct Claims(Vec<Claim>);

impl Claims {
    /// Reads them.
    ///
    /// # Errors
    /// If one does not follow the grammar.
    pub fn parse(texts: &[String]) -> Result<Self, ClaimError> {
        texts.iter().map(|text| Claim::parse(text)).collect::<Result<_, _>>().map(Self)
    }

    /// Looks for names of tasks and processes that no run of this workload can have, before it runs.
    ///
    /// # Errors
    /// If a claim has such a name.
    pub fn check_names(&self, workload: &Workload) -> Result<(), ClaimError> {
        self.0.iter().try_for_each(|claim| claim.check_names(workload))
    }

    /// The claims, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = &Claim> {
        self.0.iter()
    }

    /// Fails with [`NotMet`] if some runs do not meet them.
    ///
    /// # Errors
    /// Also if a claim names a policy, process or task that the report does not have.
    pub fn check(&self, report: &Report) -> anyhow::Result<()> {
        let failures: Result<Vec<_>, ClaimError> =
            self.0.iter().filter_map(|claim| claim.check(report).transpose()).collect();
        match failures? {
            failures if failures.is_empty() => Ok(()),
            failures => Err(NotMet { failures }.into()),
        }
    }
}

/// A claim that some runs do not meet.
#[derive(Clone, Debug)]
pub struct UnmetClaim {
    /// The claim as given.
    pub claim: String,
    /// The measured values, one line per run that does not meet it.
    pub measured: Vec<String>,
}

impl Claim {
    /// Reads a claim.
    pub fn parse(text: &str) -> Result<Self, ClaimError> {
        parse::claim(text)
    }

    fn check_names(&self, workload: &Workload) -> Result<(), ClaimError> {
        let tasks = || workload.tasks.iter().map(|task| task.name.as_str());
        // A task without a process is one of its own.
        let processes = || workload.tasks.iter().map(|task| task.process.as_deref().unwrap_or(&task.name));
        for side in [&self.left, &self.right] {
            let Side::Measure { measure, .. } = side else { continue };
            if let Some(name) = measure.task.as_ref().filter(|name| !may_be_one_of(&name.text, tasks())) {
                return Err(self.unknown("task", name, tasks()));
            }
            if let Some(name) =
                measure.process.as_ref().filter(|name| !may_be_one_of(&name.text, processes()))
            {
                return Err(self.unknown("process", name, processes()));
            }
        }
        Ok(())
    }

    /// Looks at every run that the claim is about; `None` when all meet it.
    pub fn check(&self, report: &Report) -> Result<Option<UnmetClaim>, ClaimError> {
        for side in [&self.left, &self.right] {
            self.check_policy(side, report)?;
        }
        let repetitions = report.runs.iter().map(|run| run.rep).max().unwrap_or(0) + 1;
        let mut measured = Vec::new();
        for run in report.runs.iter().filter(|run| self.is_about(run)) {
            let left = self.value(&self.left, run, report)?;
            let right = self.value(&self.right, run, report)?;
            let met = left.zip(right).is_some_and(|(left, right)| self.op.holds(left, right));
            if !met {
                let sides = [(&self.left, left), (&self.right, right)];
                measured.push(format!("{}: {}", run_name(run, repetitions), finding(&sides)));
            }
        }
        let claim = self.text.clone();
        Ok((!measured.is_empty()).then_some(UnmetClaim { claim, measured }))
    }

    /// A claim whose sides all name policies is judged once per repetition, at the runs of the first policy.
    fn is_about(&self, run: &Run) -> bool {
        let mut named = None;
        for side in [&self.left, &self.right] {
            match side {
                Side::Number(_) => {}
                Side::Measure { measure, .. } => match &measure.policy {
                    None => return true,
                    Some(policy) => named = named.or(Some(&policy.text)),
                },
            }
        }
        named.is_none_or(|policy| *policy == run.policy)
    }

    fn check_policy(&self, side: &Side, report: &Report) -> Result<(), ClaimError> {
        let Side::Measure { measure: Measure { policy: Some(policy), .. }, .. } = side else {
            return Ok(());
        };
        if report.runs.iter().any(|run| run.policy == policy.text) {
            return Ok(());
        }
        let known = report.runs.iter().map(|run| run.policy.as_str());
        Err(self.unknown("policy", policy, known))
    }

    fn value(&self, side: &Side, run: &Run, report: &Report) -> Result<Option<f64>, ClaimError> {
        let (factor, measure) = match side {
            Side::Number(value) => return Ok(Some(*value)),
            Side::Measure { factor, measure } => (factor, measure),
        };
        let run = match &measure.policy {
            None => Some(run),
            Some(policy) => {
                report.runs.iter().find(|other| other.policy == policy.text && other.rep == run.rep)
            }
        };
        let Some(run) = run else { return Ok(None) };
        let statistic = measure.statistic.unwrap_or(Statistic::Max);
        let value = if measure.is_narrowed() {
            measure.quantity.of_tasks(run, &self.tasks(measure, run)?, statistic)
        } else {
            measure.quantity.of_run(run, statistic)
        };
        Ok(value.map(|value| factor * value))
    }

    fn tasks<'a>(&self, measure: &Measure, run: &'a Run) -> Result<Vec<&'a TaskResult>, ClaimError> {
        let mut tasks: Vec<&TaskResult> = run.tasks.iter().collect();
        if let Some(name) = &measure.task {
            tasks.retain(|task| task.name == name.text || is_instance(&task.name, &name.text));
            if tasks.is_empty() {
                return Err(self.unknown("task", name, run.tasks.iter().map(|task| task.name.as_str())));
            }
            if measure.statistic.is_none() && tasks.len() > 1 {
                let quantity = measure.quantity.name;
                return Err(self.error(
                    name.column,
                    format!(
                        "`{}` has {} instances; pool them, as in max({quantity}, task={}), or name one, as in {}",
                        name.text,
                        tasks.len(),
                        name.text,
                        tasks[0].name
                    ),
                ));
            }
        }
        if let Some(name) = &measure.process {
            tasks.retain(|task| task.process == name.text);
            if tasks.is_empty() {
                let known = run.tasks.iter().map(|task| task.process.as_str());
                return Err(self.unknown("process", name, known));
            }
        }
        Ok(tasks)
    }

    fn unknown<'a>(
        &self,
        what: &str,
        name: &Name,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> ClaimError {
        let hint = match nearest(&name.text, known.clone()) {
            Some(near) => format!("; did you mean `{}`?", near.escape_debug()),
            None => some_of(known),
        };
        self.error(name.column, format!("the report has no {what} `{}`{hint}", name.text.escape_debug()))
    }

    fn error(&self, column: usize, message: String) -> ClaimError {
        ClaimError { option: ASSERT, text: self.text.clone(), column, message }
    }
}

/// Claims that a report does not meet.
#[derive(Debug)]
pub struct NotMet {
    /// At least one.
    pub failures: Vec<UnmetClaim>,
}

impl Failure for NotMet {
    fn kind(&self) -> FailureKind {
        FailureKind::NotMet
    }
}

impl std::error::Error for NotMet {}

impl fmt::Display for NotMet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures: Vec<String> = self.failures.iter().map(ToString::to_string).collect();
        f.write_str(&failures.join("\n"))
    }
}

/// The language, for the help of `--assert`.
pub fn help() -> String {
    let mut help = "\
Fail, with exit code 3, if a run does not meet this (repeat for more).

Compares two of: a number, with a unit if it is a time (8ms) or percent (99%); a quantity of the run (jain); a \
quantity of one task (share(T1)), or of several pooled (max(error)); a statistic of a distribution \
(p99(response, task=T1)); one of these times a factor (0.5 * mean(wait, policy=rr)). The operators are \
< <= > >= == !=. task=, process= and policy= narrow what is meant; without policy= every run must meet it. A task's \
name stands for all instances of its count. Distributions without a task are over all jobs; of several tasks that are \
named together, percentiles are those of the worst.
"
    .to_owned();
    for (head, wanted) in [
        ("A run has:", (|source| matches!(source, Source::Run(_))) as fn(&Source) -> bool),
        ("A task has, to pool by mean, max, min, sum:", |source| matches!(source, Source::Task(_))),
        ("Distributions, with mean, p50, p90, p99, p999, max, count:", |source| {
            matches!(source, Source::Samples { .. })
        }),
    ] {
        help.push_str(&format!("\n{head}\n"));
        for quantity in QUANTITIES.iter().filter(|quantity| wanted(&quantity.source)) {
            help.push_str(&format!("  {:<12} {}\n", quantity.name, quantity.help));
        }
    }
    help
}

impl Op {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Greater => left > right,
            Self::AtLeast => left >= right,
            Self::Equal => left == right,
            Self::Unequal => left != right,
        }
    }
}

impl fmt::Display for UnmetClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 10;
        write!(f, "not met: {}", self.claim)?;
        for line in self.measured.iter().take(SHOWN) {
            write!(f, "\n  {line}")?;
        }
        match self.measured.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more runs"),
        }
    }
}

/// Whether `name` is an instance that `count` made of `class`, as `T/1` is of `T`.
fn is_instance(name: &str, class: &str) -> bool {
    name.strip_prefix(class)
        .and_then(|rest| rest.strip_prefix('/'))
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a run may have this name, if its workload has those. Forks decide how many instances there are.
fn may_be_one_of<'a>(name: &str, mut known: impl Iterator<Item = &'a str>) -> bool {
    known.any(|known| known == name || is_instance(name, known))
}

fn run_name(run: &Run, repetitions: u32) -> String {
    match repetitions {
        1 => run.policy.clone(),
        _ => format!("{}, repetition {}", run.policy, run.rep),
    }
}

/// The values of the sides that are measures.
fn finding(sides: &[(&Side, Option<f64>)]) -> String {
    let findings: Vec<String> = sides
        .iter()
        .filter_map(|(side, value)| match side {
            Side::Number(_) => None,
            Side::Measure { factor, measure } => {
                let times = if *factor == 1.0 { String::new() } else { format!("{factor} * ") };
                Some(match value {
                    Some(value) => {
                        format!("{times}{} = {}", measure.text, exact(measure.unit(), *value))
                    }
                    None => format!("{} was not measured", measure.text),
                })
            }
        })
        .collect();
    findings.join(", ")
}

/// With all its digits: a limit missed by a nanosecond must not print as the limit.
fn exact(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Time => quantity::format_time_ns(value.round() as i64),
        Unit::Ratio | Unit::Count => value.to_string(),
    }
}

fn some_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if distinct.len() > SHOWN {
            break;
        }
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    let more = if distinct.len() > SHOWN { ", ..." } else { "" };
    distinct.truncate(SHOWN);
    let list: Vec<String> = distinct.iter().map(|name| name.escape_debug().to_string()).collect();
    format!("; it has {}{more}", list.join(", "))
}
