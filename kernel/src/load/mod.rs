//! A policy as the running kernel's scheduler: what must be there first, loading, statistics, commands.
//!
//! Everything but the loading itself is built without the feature `bpf`, so that `divvy set` and
//! `divvy doctor` work from any build; and is tested there.

#![cfg_attr(not(feature = "bpf"), allow(dead_code))]

use rules::RulesFile;

pub mod check;
mod client;
mod commands;
#[cfg(feature = "bpf")]
mod configuration;
pub(crate) mod cpus;
pub mod doctor;
mod end;
mod error;
pub(crate) mod grouping;
pub(crate) mod host;
#[cfg(feature = "bpf")]
mod host_programs;
mod look;
mod names;
#[cfg(feature = "bpf")]
mod object;
mod options;
mod peer;
pub(crate) mod privileges;
#[cfg(feature = "bpf")]
mod programs;
mod protocol;
mod quotas;
pub(crate) mod ready;
#[cfg(feature = "bpf")]
mod records;
mod rules;
#[cfg(feature = "bpf")]
mod ruling;
#[cfg(feature = "bpf")]
pub(crate) mod running;
mod send_queue;
mod server;
#[cfg(feature = "bpf")]
mod session;
mod socket;
mod statistics;
mod subordinates;
pub(crate) mod sys;
#[cfg(feature = "bpf")]
mod verification;
mod verified;
mod wait;
mod writer;

pub use client::{AskError, ask, look};
pub use end::End;
pub use error::{LoadError, Missing};
pub use grouping::Grouping;
pub use host::{MAX_POOL, Stats};
pub use look::{Look, Viewer};
pub use options::{Options, Watch};
pub use peer::GroupMay;
pub use protocol::{Head, Reply, Request};
pub use rules::{RULES, RulesError};
pub use statistics::{Period, TaskRow};
pub use sys::{Signal, Signals};
pub use verified::VerifiedProgram;
pub use writer::Writer;

/// Loads a policy, and returns when it is unloaded again: because of a signal, of the time, of the command's end,
/// or of the kernel.
///
/// # Errors
/// When something is missing, the policy is for the simulator only, it looks at all tasks and nobody said how many there may be, the
/// kernel does not take it, or throws it out.
pub fn load(options: &Options, watch: &mut dyn Watch) -> Result<End, LoadError> {
    check_options(options)?;
    if let Some(bound) = bound(options)? {
        watch.note(&bound);
    }
    run(options, watch)
}

/// Says what a user is to know of a policy that looks at all tasks.
fn bound(options: &Options) -> Result<Option<String>, LoadError> {
    let policy = options.spec.selection.name;
    let Some(per_task) = divvy_policy::find(policy).and_then(|policy| policy.linear) else { return Ok(None) };
    let most = options.max_tasks.ok_or(LoadError::Linear { policy, per_task })?.min(options.pool);
    let accesses = u64::from(per_task) * u64::from(most);
    Ok(Some(format!(
        "{policy} may look at every task to choose one: for {most} tasks up to {accesses} accesses to memory, while all CPUs wait"
    )))
}

/// Whether [`load`] would take these options, on a machine that has everything.
///
/// # Errors
/// When the policy is for the simulator only, or looks at all tasks and nobody said how many there may be, or the file of rules is
/// damaged.
pub fn loadable(options: &Options) -> Result<(), LoadError> {
    check_options(options)?;
    RulesFile::asked_for(options.rules.as_deref())?;
    bound(options).map(drop)
}

/// Lets the kernel verify a policy's programs, and returns what the verifier says of each. Nothing is scheduled.
///
/// # Errors
/// As [`load`]: when something is missing, the policy is for the simulator only, or the kernel does not take it.
pub fn dry_run(options: &Options) -> Result<Vec<VerifiedProgram>, LoadError> {
    check_options(options)?;
    verify(options)
}

fn check_options(options: &Options) -> Result<(), LoadError> {
    let policy = options.spec.selection.name;
    if let Some(placement) = options.spec.placement {
        return Err(LoadError::Placement(placement));
    }
    match divvy_policy::find(policy).and_then(|policy| policy.simulator_only) {
        Some(why) => Err(LoadError::SimulatorOnly { policy, why }),
        None => Ok(()),
    }
}

#[cfg(feature = "bpf")]
use session::run;
#[cfg(feature = "bpf")]
use verification::verify;

/// Without the feature `bpf` there is nothing to load.
#[cfg(not(feature = "bpf"))]
fn run(_: &Options, _: &mut dyn Watch) -> Result<End, LoadError> {
    Err(check::not_built().into())
}

/// Nor to verify.
#[cfg(not(feature = "bpf"))]
fn verify(_: &Options) -> Result<Vec<VerifiedProgram>, LoadError> {
    Err(check::not_built().into())
}
