//! A workload whose tasks are scheduled by the unchanged BPF host (`bpf/host.bpf.c`), in a model of Linux's sched_ext (`model/`): with
//! ticks, interrupts, and the host's own queues and slices. The simulator's engine says what tasks do, the model which CPU they have.
//!
//! The model is C, as the host is. It is compiled when it is first needed, once for each policy and kernel, and each run is a process of its own,
//! with which [`Hosted`] talks over pipes.
//!
//! ```no_run
//! use divvy_kernel::hosted::{HostedOptions, simulate};
//! use divvy_policy::spec;
//! use divvy_sim::run::Options;
//! use divvy_workload::Workload;
//!
//! let text = "cpus = 1\nduration = \"1s\"\n[[task]]\nname = \"hog\"\ncount = 2\nprogram = [{ run = \"forever\" }]\n";
//! let workload = Workload::parse(text, "hogs.toml")?;
//! let specs = [spec::parse("rr", divvy_policy::all())?];
//! let hosted = HostedOptions { kernel: "linux-6.12:hz=250".parse()?, log: None };
//! let report = simulate(&workload, &specs, &Options::default(), &hosted, &|_| {}, &())?;
//! assert_eq!(report.runs[0].tasks.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod error;
mod kernel;
mod message;
mod options;
mod processes;
mod program;
mod scheduler;
mod session;

use std::collections::BTreeMap;

use divvy_policy::Failure as _;
use divvy_policy::spec::Spec;
use divvy_results::progress::Progress;
use divvy_results::report::Report;
use divvy_sim::run::{self, Options, Rows, RunError};
use divvy_workload::Workload;

pub use error::HostedError;
pub use kernel::{BadKernel, Kernel};
pub use options::HostedOptions;
pub use scheduler::Hosted;

/// Simulates `workload` under each of `specs` in the host, on all cores. `note` is told what takes a while before that.
///
/// # Errors
/// If the host does not do what the workload or a spec asks for, there is no C compiler, or as
/// [`divvy_sim::run::simulate`].
pub fn simulate(
    workload: &Workload,
    specs: &[Spec],
    options: &Options,
    hosted: &HostedOptions,
    note: &dyn Fn(&str),
    progress: &dyn Progress,
) -> Result<Report, HostedError> {
    let adapted = run::adapted(workload, options)?;
    check::check(&adapted, specs)?;
    if hosted.log.is_some() && (specs.len() > 1 || options.reps > 1) {
        return Err(HostedError::SeveralLogs);
    }
    let mut programs = BTreeMap::new();
    for spec in specs {
        let policy = spec.selection.name;
        note(policy);
        programs.insert(policy, program::build(policy, hosted.kernel.version())?);
    }
    let make = |workload: &Workload, spec: &Spec, rep: u32| {
        let failed = |error: HostedError| RunError::Scheduler {
            policy: spec.to_string(),
            what: error.to_string(),
            kind: error.kind(),
        };
        Hosted::start(&programs[spec.selection.name], workload, spec, options.seed, rep, hosted)
            .map_err(failed)
    };
    let report = run::simulate_under(workload, specs, options, &Rows::EachInstance, &make, progress)?;
    Ok(Report { host: Some(hosted.kernel.to_string()), ..report })
}
