//! `divvy sim WORKLOAD -p SPEC..`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use divvy_kernel::hosted::{self, HostedOptions, Kernel};
use divvy_policy::quantity::format_time_ns;
use divvy_policy::spec::Spec;
use divvy_results::report::Report;
use divvy_results::schedule::Window;
use divvy_sim::run::{Options, simulate};
use divvy_sim::theory;
use divvy_workload::Workload;

use crate::args::jobs::Jobs;
use crate::args::machine::MachineArgs;
use crate::args::output::{BadOutputArgs, Format, OutputArgs};
use crate::args::policies::PolicyArgs;
use crate::args::random::RandomArgs;
use crate::args::schedule::ScheduleArgs;
use crate::assert::Claims;
use crate::input;
use crate::output::Output;
use crate::output_path;
use crate::print::print;
use crate::progress::ProgressBar;
use crate::view::page::PageOptions;
use crate::view::{jobs_csv, textbook};

/// Simulate a workload under one or more policies, and compare them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy sim mix.toml -p rr,sfq,gr3
  divvy sim queue.toml -p fcfs,sfq+procfair --reps 10 --theory -o queue.json
  divvy sim mix.toml -p gr3 --gantt --gantt-span 1s..1200ms --assert 'max(error) < 8ms'
  divvy sim mix.toml -p gr3 --host linux-6.12:hz=250 --log decisions.log
  divvy sim --jobs P1:0:8,P2:1:4,P3:2:9 -p fcfs,srtf --textbook --schedule 9
  divvy sim mix.toml -p ./mine.h:alpha=2,sfq --jobs-csv jobs.csv")]
pub struct SimArgs {
    /// The workload, a TOML file; - is stdin
    #[arg(value_name = "WORKLOAD", value_hint = ValueHint::FilePath, required_unless_present = "jobs")]
    pub workload: Option<PathBuf>,

    /// Instead of a workload: jobs that come once, on one CPU, as NAME:ARRIVAL:BURST,.. or NAME:ARRIVAL:BURST:PRIORITY,..
    ///
    /// Times without a unit are milliseconds. A priority is a nice value, -20 to 19: the least is the highest.
    #[arg(long, value_name = "JOBS", conflicts_with = "workload")]
    pub jobs: Option<Jobs>,

    #[command(flatten)]
    pub policies: PolicyArgs,

    #[command(flatten)]
    pub machine: MachineArgs,

    /// Schedule by the host that `divvy load` loads, in a model of this kernel: linux-6.12|7.1|7.3[:hz=100|250|300|1000]
    ///
    /// A version stands for those up to the next one here: linux-7.1 also for Linux 7.2. These three differ in what they tell a scheduler.
    /// The kernel's ticks end slices, and interrupts take time; without :hz= there are 1000 ticks a second. The workload's tick means nothing
    /// then. The model is C, which the first run compiles: the machine needs a C compiler.
    #[arg(long, value_name = "KERNEL", help_heading = "Machine")]
    pub host: Option<Kernel>,

    #[command(flatten)]
    pub random: RandomArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub schedule: ScheduleArgs,

    /// Print each job's arrival, burst, completion, turnaround, waiting and response, and who ran when, as textbooks do
    ///
    /// For jobs that come once and do not pause. With --schedule N also the first N decisions, with their times and reasons.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["format", "gantt", "figure", "by", "reps"])]
    pub textbook: bool,

    /// Write each job to this file: task, arrival, start, completion, service, wait; of the first repetition
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath, conflicts_with_all = ["gantt", "figure"])]
    pub jobs_csv: Option<PathBuf>,

    /// Beside the measured mean responses, those of queueing theory, where a formula applies
    ///
    /// For open arrivals at random (M/M/k, M/G/1, M/G/k) and one class of users who think, of jobs that only use CPU time: FCFS, PS,
    /// LAS, SRPT, SJF and others, also by weight. Says why if there is none. In a table, in Markdown and in JSON.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["gantt", "figure", "textbook", "host"])]
    pub theory: bool,

    /// Write the host's decisions to this file, for `divvy verify`
    #[arg(long, value_name = "FILE", requires = "host", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub log: Option<PathBuf>,
}

/// Simulates, compares, checks.
pub fn run(args: &SimArgs, verbose: bool, output: Output) -> anyhow::Result<()> {
    // A name that no file has: there is no input to write over.
    let path = args.workload.as_deref().unwrap_or(Path::new(""));
    let target = args.output.target(path)?;
    if args.textbook && target.format != Format::Table {
        return Err(BadOutputArgs::TextbookForm.into());
    }
    if args.theory && !matches!(target.format, Format::Table | Format::Markdown | Format::Json) {
        return Err(BadOutputArgs::TheoryForm.into());
    }
    output_path::refuse_input([path], args.jobs_csv.as_deref())?;
    if args.jobs_csv.is_some() && args.jobs_csv.as_deref() == target.file {
        return Err(BadOutputArgs::SameFile.into());
    }
    let (specs, baseline) = args.policies.specs()?;
    let claims = Claims::parse(&args.output.assert)?;
    let workload = match &args.jobs {
        Some(jobs) => jobs.workload()?,
        None => input::workload(path, output)?,
    };
    if let Some(file) = &args.jobs_csv {
        output_path::file("--jobs-csv", file)?;
    }
    claims.check_names(&workload)?;
    args.schedule.check_span(&args.machine, &target, &workload)?;
    input::note_overload(
        divvy_sweep::overload(&workload, args.machine.cpus.unwrap_or(workload.cpus)),
        output,
    );
    input::note_heavy_tail(workload.heavy_tail_note(), output);
    args.machine.note_decisions(&workload, output);
    let mut options = Options {
        seed: args.random.seed,
        reps: args.random.reps,
        ..args.schedule.options(&args.machine, &target)
    };
    let keeps_jobs = args.textbook || args.jobs_csv.is_some();
    if keeps_jobs {
        let values = options.schedule.is_some_and(|window| window.values);
        options.schedule = Some(Window { values, jobs: true, ..Window::WHOLE });
    }
    let mut report = match args.host {
        Some(kernel) => in_host(args, kernel, &workload, &specs, &options, output)?,
        None => simulate(&workload, &specs, &options, &ProgressBar::new("simulating", output))?,
    };
    if args.theory {
        theory::add_to(&mut report, &workload, &specs);
    }
    if let Some(file) = &args.jobs_csv {
        output.write_bytes(jobs_csv::write(&report)?.as_bytes(), Some(file))?;
    }
    if args.textbook {
        let decisions = args.schedule.schedule.map_or(0, |count| count as usize);
        let (columns, styled) = (output.columns(target.file), output.is_styled(target.file));
        output.write(&textbook::draw(&report, decisions, columns, styled)?, target.file)?;
        return claims.check(&report);
    }
    if keeps_jobs && target.format == Format::Table {
        // A table draws the schedules that a report has.
        report.runs.iter_mut().for_each(|run| run.schedule = None);
    }
    let page = PageOptions { baseline: baseline.as_deref(), all_tasks: verbose, by: None };
    claims.check(&print(report, &page, &target, output)?)
}

fn in_host(
    args: &SimArgs,
    kernel: Kernel,
    workload: &Workload,
    specs: &[Spec],
    options: &Options,
    output: Output,
) -> anyhow::Result<Report> {
    let quantum_ns = options.quantum_ns.unwrap_or(workload.quantum_ns);
    if quantum_ns < kernel.tick_ns() {
        output.note(&format!(
            "note: the quantum of {} is shorter than a tick of {kernel}, so a slice lasts a tick of {}",
            format_time_ns(quantum_ns as i64),
            format_time_ns(kernel.tick_ns() as i64)
        ));
    }
    let bar = ProgressBar::new("simulating", output);
    let note = |policy: &str| bar.say(&format!("compiling the host with {policy} (kept for the next time)"));
    let hosted = HostedOptions { kernel, log: args.log.clone() };
    Ok(hosted::simulate(workload, specs, options, &hosted, &note, &bar)?)
}
