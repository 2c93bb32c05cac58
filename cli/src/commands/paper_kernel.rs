//! `divvy paper ID --kernel`: the papers' experiments in a running kernel.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use anyhow::{Context as _, anyhow};
use divvy_kernel::load::Missing;
use divvy_kernel::load::check;
use divvy_kernel::stock::online;
use divvy_lab::Verdict;
use divvy_lab::kernel::{Compared, Kept, KernelFigure, Machine, Play, compare, figures, find};
use divvy_policy::{Failure, FailureKind};

use crate::args::choice::Choice;
use crate::args::output::ClaimFormat;
use crate::command_line::this_command;
use crate::commands::in_order::in_order;
use crate::commands::paper_output::Drawings;
use crate::output::Output;
use crate::view::claims::{counted, kernel_ids, note_undecided};
use crate::view::kernel_claims;
use crate::view::kernel_page;

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// This one if it has sched_ext, we are root, and there are as many CPUs as the figure has; else the virtual machine.
    Auto,
    /// This one.
    Here,
    /// The virtual machine.
    Vm,
}

/// The values of `--kernel`.
pub const WHERE: &[Choice<Where>] = &[
    (
        "auto",
        Where::Auto,
        "This machine, if it has sched_ext and the figure's number of CPUs, for root; or else vm. Costs are counted in vm only, and web servers and other real programs are started there",
    ),
    ("here", Where::Here, "This machine"),
    ("vm", Where::Vm, "The virtual machine of the source tree that this directory or the command is in"),
];

/// How to run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    pub choice: Where,
    pub small: bool,
    pub seed: u64,
    pub format: ClaimFormat,
    /// The directory that keeps values.
    pub resume: Option<&'a Path>,
}

/// The figure is only simulated.
#[derive(Debug, thiserror::Error)]
#[error("{id} does not run in a kernel; these do: {}", kernel_ids().join(", "))]
pub struct OnlySimulated {
    id: String,
}

impl Failure for OnlySimulated {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// Some of all figures have no result.
#[derive(Debug, thiserror::Error)]
#[error("{} of {all} figures were not measured; mend the reasons, and run it again{}\n{}", reasons.len(), if *is_kept { "" } else { "; --resume DIR keeps what is measured" }, reasons.join("\n"))]
pub struct NotMeasured {
    /// With the IDs.
    reasons: Vec<String>,
    all: usize,
    is_kept: bool,
}

impl Failure for NotMeasured {
    fn kind(&self) -> FailureKind {
        FailureKind::Failed
    }
}

/// How many virtual machines run at once, at most: each takes up to 3 GB.
const MOST_MACHINES: usize = 4;

/// The figures of an ID: one that runs in a kernel, or all.
pub fn chosen(id: &str) -> Result<Vec<&'static KernelFigure>, OnlySimulated> {
    match id {
        "all" => Ok(figures().iter().collect()),
        id => Ok(vec![find(id).ok_or_else(|| OnlySimulated { id: id.to_owned() })?]),
    }
}

/// Runs figures. Returns which have claims that are not met, with their numbers.
pub fn run(
    chosen: &[&'static KernelFigure],
    options: Options,
    drawings: &Drawings,
    output: Output,
) -> anyhow::Result<Vec<String>> {
    let divvy = env::current_exe().context("cannot find the command itself")?;
    let kept = options.resume.map(|dir| Kept::open(dir, &divvy)).transpose()?;
    // A missing machine or a damaged file is an error before an hour of work.
    let job = |figure: &&'static KernelFigure| Ok(Job { figure, machine: machine(figure, options.choice)? });
    let jobs = chosen.iter().map(job).collect::<Result<Vec<Job>, Missing>>()?;
    if let Some(kept) = &kept {
        let check = |job: &Job| kept.check(job.figure.id, options.small, &job.play(&divvy, options, &|_| {}));
        jobs.iter().try_for_each(check)?;
    }
    let mut done: Vec<Compared> = Vec::new();
    let mut reasons = Vec::new();
    let one = |job: &&Job| (job.figure.id, job.run(&divvy, kept.as_ref(), options, output));
    let mut take = |(id, result): (&'static str, anyhow::Result<Compared>)| -> anyhow::Result<()> {
        if let (Err(error), true) = (&result, jobs.len() > 1) {
            output.note(&format!("{id}: not measured: {error:#}"));
            reasons.push(format!("  {id}: {error:#}"));
            return Ok(());
        }
        let result = result?;
        drawings.add(&result.plots)?;
        if options.format == ClaimFormat::Table {
            let between = if done.is_empty() { "" } else { "\n" };
            output
                .write(&format!("{between}{}", kernel_claims::table(&result, output.columns(None))), None)?;
        }
        done.push(result);
        Ok(())
    };
    let (beside, alone): (Vec<&Job>, Vec<&Job>) =
        jobs.iter().partition(|job| job.repeats_beside_other_work());
    let at_once = available_parallelism().map_or(1, usize::from).min(MOST_MACHINES);
    in_order(&beside, at_once, one, &mut take)?;
    in_order(&alone, 1, one, &mut take)?;
    done.sort_by_key(|one| chosen.iter().position(|figure| figure.id == one.figure.id));
    let is_list = chosen.len() > 1;
    match options.format {
        ClaimFormat::Table => {}
        ClaimFormat::Json => output.write(&kernel_claims::json(&done, is_list, options.seed)?, None)?,
        ClaimFormat::Csv => output.write(&kernel_claims::csv(&done), None)?,
    }
    if !done.is_empty() {
        let missing: Vec<&str> = chosen
            .iter()
            .map(|figure| figure.id)
            .filter(|id| done.iter().all(|one| one.figure.id != *id))
            .collect();
        drawings.end(|| kernel_page::write(&done, &missing, options.seed, &this_command()), output)?;
    }
    note_undecided(&having(&done, |verdict| verdict == Verdict::Undecided), output);
    let not_met = having(&done, Verdict::is_failure);
    if reasons.is_empty() {
        return Ok(not_met);
    }
    if !not_met.is_empty() {
        output.note(&format!("not met: {}", not_met.join(", ")));
    }
    Err(NotMeasured { reasons, all: jobs.len(), is_kept: kept.is_some() }.into())
}

/// A figure, and where it runs.
struct Job {
    figure: &'static KernelFigure,
    machine: Machine,
}

impl Job {
    fn repeats_beside_other_work(&self) -> bool {
        matches!(self.machine, Machine::Virtual(_)) && self.figure.repeats_beside_other_work()
    }

    fn play<'a>(&'a self, divvy: &'a Path, options: Options, tell: &'a dyn Fn(&str)) -> Play<'a> {
        Play { machine: &self.machine, divvy, seed: options.seed, tell }
    }

    /// A panic would end the others, too.
    fn run(
        &self,
        divvy: &Path,
        kept: Option<&Kept>,
        options: Options,
        output: Output,
    ) -> anyhow::Result<Compared> {
        let id = self.figure.id;
        let tell = |text: &str| output.note(&format!("{id}: {text}"));
        let run = || compare(self.figure, options.small, &self.play(divvy, options, &tell), kept);
        let result = catch_unwind(AssertUnwindSafe(run));
        Ok(result.map_err(|_| anyhow!("divvy panicked, as said above; please report it"))??)
    }
}

/// The machine to use, or the error that says what is missing.
fn machine(figure: &KernelFigure, choice: Where) -> Result<Machine, Missing> {
    if figure.is_virtual_only() && choice == Where::Here {
        return Err(not_here(figure));
    }
    check::built()?;
    if figure.is_virtual_only() {
        return virtual_machine();
    }
    match (choice, here(figure.cpus)) {
        (Where::Auto | Where::Here, Ok(())) => Ok(Machine::Here),
        (Where::Here, Err(missing)) => Err(missing),
        (Where::Auto | Where::Vm, _) => virtual_machine(),
    }
}

fn not_here(figure: &KernelFigure) -> Missing {
    let what = if figure.is_counted() {
        format!(
            "{} is about costs: they are counted in instructions, which the virtual machine's clock does",
            figure.id
        )
    } else {
        format!(
            "{} has web servers or other real programs, which are started in the virtual machine only",
            figure.id
        )
    };
    Missing {
        what,
        fix: "--kernel=vm; with --kernel alone each figure has the machine that it needs".to_owned(),
    }
}

fn here(cpus: u32) -> Result<(), Missing> {
    check::all()?;
    let (all, ours) = (online(), std::thread::available_parallelism().map_or(0, |n| n.get() as u32));
    if all != cpus {
        return Err(Missing {
            what: format!("the figure is about a machine of {cpus} CPUs, and this one has {all}"),
            fix: format!("--kernel=vm, or boot Linux with maxcpus={cpus}"),
        });
    } else if ours != all {
        return Err(Missing {
            what: format!("this command may use {ours} of the {all} CPUs"),
            fix: "run it without taskset and outside of cgroups with limits, or --kernel=vm".to_owned(),
        });
    }
    Ok(())
}

/// The script that starts it: of the tree that this directory is in, or the command.
fn virtual_machine() -> Result<Machine, Missing> {
    let places = [env::current_dir(), env::current_exe()];
    let found = places.iter().flatten().find_map(|place| in_tree(place));
    found.map(Machine::Virtual).ok_or_else(|| Missing {
        what: "the virtual machine is started by kernel/vm/run of divvy's source tree, and neither this directory nor the \
               command is in one"
            .to_owned(),
        fix: "go to a source tree; or, as root of a machine with sched_ext, give --kernel=here".to_owned(),
    })
}

fn in_tree(place: &Path) -> Option<PathBuf> {
    place.ancestors().map(|dir| dir.join("kernel/vm/run")).find(|script| script.is_file())
}

/// How many claims of each figure have such a verdict.
fn having(done: &[Compared], is_such: fn(Verdict) -> bool) -> Vec<String> {
    let of = |one: &Compared| counted(one.figure.id, one.claims.iter().map(|one| &one.claim), is_such);
    done.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_machine_but_the_virtual_one_counts_instructions_or_has_web_servers() {
        for (id, what) in
            [("gr3-12", "instructions"), ("gr3-14", "web servers"), ("flow-real", "real programs")]
        {
            let missing =
                machine(find(id).expect("a figure"), Where::Here).expect_err("the virtual one only");
            assert!(
                missing.what.contains(what)
                    && missing.what.starts_with(id)
                    && missing.fix.starts_with("--kernel=vm"),
                "{id}"
            );
        }
    }
}
