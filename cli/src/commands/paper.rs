//! `divvy paper [ID|all]`.

use divvy_policy::{Failure, FailureKind};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use divvy_lab::{Figure, Reproduction, Setting, Verdict, json, reproduce};
use divvy_policy::nearest;

use crate::args::choice::one_of;
use crate::args::look::LookArgs;
use crate::args::output::ClaimFormat;
use crate::command_line::this_command;
use crate::commands::paper_kernel::{self, WHERE, Where};
use crate::commands::paper_output::Drawings;
use crate::output::Output;
use crate::output_path;
use crate::progress::ProgressBar;
use crate::view::claims::kernel_ids;
use crate::view::{all_figures, claims, claims_page, figure_list};

/// List what the papers claim, or reproduce it: source, expected, measured, verdict
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  divvy paper
  divvy paper sfs-5 -o plots
  divvy paper sfs-1 --kernel
  divvy paper all --small -o claims.html",
    after_long_help = "\
Without an ID it lists the figures, tables and worked examples that can be reproduced, with the policies that each runs \
and how long it takes on two cores, simulated and in a kernel. Each claim has the paper's value and its source (printed, inferred, worded, read off \
a plot, or derived by us), the measured value with its 95 % interval, and the verdict. It is ok if the whole interval is \
within the tolerance. If a part of it is, the claim is undecided: that is counted, and no failure. A claim that is not \
met has the reason, and the exit code is 3.

The same seed gives the same bytes, on any number of cores; only costs (gr3-12, gr3-13, sfs-7, sfs-table-1, flow-overhead) are times of this machine. \
The GR3 study takes minutes, and all in a kernel an hour and a half on two cores: with --resume an interrupted run continues. The study ends with the same bytes.

With --kernel the policies run Linux: this machine's, or that of the virtual machine of divvy's source tree, which is \
emulated where there is no KVM. So its shares are those of any machine, and its times compare with each other only. Runs vary, more so \
on a machine that does other work. The table has the simulated value of the same workload and what the kernel did beyond it. The \
verdict is on the kernel. Costs (gr3-12, gr3-13, sfs-7, sfs-table-1) are counted in instructions there, on a clock that counts them: they repeat, and nothing simulates them. \
Web servers (gr3-14, gr3-18, gr3-web, pbs-8, pbs-9) are those of Debian's package apache2-bin, the database of pbs-9 is that of postgresql; they are started in the virtual machine only. \
So are real programs, beside tasks that stand for them in the simulator: cc1, gzip and grep of flow-real, ffmpeg and make of procfair-real and sfs-6b-real (packages build-essential and ffmpeg), Apache and PostgreSQL of sfs-6a-real, mawk of sfs-6a-real and sfs-6c-real. \
Of all, those whose clock counts instructions run first and at once, as many as there are CPUs, but at most four, because other work does not change them; the others run alone. One that fails is named, and the others go on.

Examples:
  divvy paper
  divvy paper gr3-9 --resume found
  divvy paper sfs-5 -o plots
  divvy paper sfs-1 --kernel
  divvy paper all --small -o claims.html
  divvy paper all --kernel --resume found -o kernel.html"
)]
pub struct PaperArgs {
    /// A figure, as in gr3-9, or all
    #[arg(value_name = "ID", value_hint = ValueHint::Other)]
    pub id: Option<String>,

    /// List every figure and table of the papers: the ID that reproduces it, or why there is none
    #[arg(long, conflicts_with = "id")]
    pub all_figures: bool,

    /// The quick version: fewer samples, wider intervals; some claims are not judged
    #[arg(long, requires = "id")]
    pub small: bool,

    /// In a running kernel: load each policy, play the workload with real threads, and show it beside the simulation
    ///
    /// `divvy paper` says which figures that can be. It takes minutes, of all an hour and a half on two cores.
    #[arg(long, value_name = "WHERE", value_parser = one_of(WHERE), num_args = 0..=1, require_equals = true,
        default_missing_value = "auto", requires = "id")]
    pub kernel: Option<Where>,

    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, requires = "id")]
    pub seed: u64,

    /// Keep results of the GR3 study, or of --kernel, in this directory, and continue from results of the same build
    #[arg(long, value_name = "DIR", requires = "id", value_hint = ValueHint::DirPath)]
    pub resume: Option<PathBuf>,

    /// How to print it
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: ClaimFormat,

    /// Write the figures to this directory, as SVG; or everything to one page, FILE.html
    #[arg(short, long, value_name = "DIR", requires = "id", help_heading = "Output", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub look: LookArgs,
}

/// The figure does not exist.
#[derive(Debug, thiserror::Error)]
#[error("there is no figure `{}`{} (`divvy paper` lists them)", id.escape_debug(), hint(*nearest))]
pub struct UnknownFigure {
    id: String,
    nearest: Option<&'static str>,
}

impl Failure for UnknownFigure {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// The figure has real programs, which nothing simulates by themselves.
#[derive(Debug, thiserror::Error)]
#[error("{id} runs real programs, in a kernel only: add --kernel")]
pub struct OnlyInKernel {
    id: String,
}

impl Failure for OnlyInKernel {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|id| format!("; did you mean `{id}`?")).unwrap_or_default()
}

/// Some claims of the papers are not met.
#[derive(Debug, thiserror::Error)]
#[error("not met: {}", claims.join(", "))]
pub struct ClaimsNotMet {
    /// Number of claims, for each figure.
    claims: Vec<String>,
}

impl Failure for ClaimsNotMet {
    fn kind(&self) -> FailureKind {
        FailureKind::NotMet
    }
}

/// Lists the figures, or reproduces some.
pub fn run(args: &PaperArgs, output: Output) -> anyhow::Result<()> {
    let Some(id) = &args.id else {
        let text = match args.format {
            ClaimFormat::Table if args.all_figures => all_figures::table(output.columns(None)),
            ClaimFormat::Json if args.all_figures => all_figures::json()?,
            ClaimFormat::Csv if args.all_figures => all_figures::csv(),
            ClaimFormat::Table => figure_list::table(output.columns(None)),
            ClaimFormat::Json => figure_list::json()?,
            ClaimFormat::Csv => figure_list::csv(),
        };
        return output.write(&text, None);
    };
    let simulated = figures(id);
    let in_kernel = match (args.kernel, &simulated, paper_kernel::chosen(id)) {
        (Some(choice), _, Ok(chosen)) => Some((choice, chosen)),
        (Some(_), Ok(_), Err(only_simulated)) => return Err(only_simulated.into()),
        (None, Err(_), Ok(_)) => return Err(OnlyInKernel { id: id.clone() }.into()),
        // It is simulated, or nothing has this name.
        _ => None,
    };
    let figures = if in_kernel.is_some() { Vec::new() } else { simulated? };
    let drawings = Drawings::to(args.output.as_deref(), &args.look)?;
    let resume = args.resume.as_deref();
    resume.map_or(Ok(()), |dir| output_path::directory("--resume", dir, "a directory for results"))?;
    if let Some((choice, chosen)) = in_kernel {
        let &PaperArgs { small, seed, format, .. } = args;
        let options = paper_kernel::Options { choice, small, seed, format, resume };
        return met(paper_kernel::run(&chosen, options, &drawings, output)?);
    }
    let mut done = Vec::new();
    for figure in figures {
        let one = reproduce_one(figure, args, output)?;
        drawings.add(&one.plots)?;
        if args.format == ClaimFormat::Table {
            let between = if done.is_empty() { "" } else { "\n" };
            output.write(&format!("{between}{}", claims::table(&one, output.columns(None))), None)?;
        }
        done.push(one);
    }
    match args.format {
        ClaimFormat::Table => {}
        ClaimFormat::Json => output.write(&json::figures(&done, id == "all", args.seed)?, None)?,
        ClaimFormat::Csv => output.write(&divvy_lab::csv::table(&done), None)?,
    }
    drawings.end(|| claims_page::write(&done, args.seed, &this_command()), output)?;
    claims::note_undecided(&having(&done, |verdict| verdict == Verdict::Undecided), output);
    verdict(&done)
}

fn figures(id: &str) -> Result<Vec<&'static Figure>, UnknownFigure> {
    if id == "all" {
        return Ok(divvy_lab::all().iter().collect());
    }
    divvy_lab::find(id).map(|figure| vec![figure]).ok_or_else(|| UnknownFigure {
        id: id.to_owned(),
        nearest: nearest(id, divvy_lab::all().iter().map(|figure| figure.id).chain(kernel_ids())),
    })
}

fn reproduce_one(figure: &'static Figure, args: &PaperArgs, output: Output) -> anyhow::Result<Reproduction> {
    let bar = ProgressBar::new(figure.id, output);
    let setting =
        Setting { small: args.small, seed: args.seed, progress: &bar, saved: args.resume.as_deref() };
    Ok(reproduce(figure, &setting)?)
}

fn verdict(done: &[Reproduction]) -> anyhow::Result<()> {
    met(having(done, Verdict::is_failure))
}

/// How many claims of each figure have such a verdict.
fn having(done: &[Reproduction], is_such: fn(Verdict) -> bool) -> Vec<String> {
    done.iter().filter_map(|one| claims::counted(one.figure.id, one.claims.iter(), is_such)).collect()
}

fn met(claims: Vec<String>) -> anyhow::Result<()> {
    if claims.is_empty() { Ok(()) } else { Err(ClaimsNotMet { claims }.into()) }
}
