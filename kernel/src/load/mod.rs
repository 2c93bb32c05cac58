//! A policy as the running kernel's scheduler: what must be there first, loading, statistics, commands.
//!
//! Everything but the loading itself is built without the feature `bpf`, so that `divvy set` and
//! `divvy doctor` work from any build; and is tested there.

#![cfg_attr(not(feature = "bpf"), allow(dead_code))]

use loadable::{bound, check_options};

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
mod loadable;
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
#[cfg(feature = "bpf")]
mod replacement;
mod rules;
#[cfg(feature = "bpf")]
mod ruling;
#[cfg(feature = "bpf")]
pub(crate) mod running;
mod send_queue;
mod server;
#[cfg(feature = "bpf")]
mod session;
mod shards;
mod socket;
mod statistics;
mod subordinates;
pub(crate) mod sys;
#[cfg(feature = "bpf")]
mod verification;
mod verified;
mod wait;
mod writer;

pub use client::{AskError, ask, look, replace};
pub use end::End;
pub use error::{LoadError, Missing};
pub use grouping::Grouping;
pub use host::{Account, MAX_POOL, Shard, ShardStats, Stats};
pub use loadable::loadable;
pub use look::{Look, Viewer};
pub use options::{Options, ReadOptions, Watch};
pub use peer::GroupMay;
pub use protocol::{Head, Reply, Request};
pub use rules::{RULES, RulesError};
pub use statistics::{Period, TaskRow};
pub use sys::{Signal, Signals};
pub use verified::VerifiedProgram;
pub use writer::Writer;

/// Loads a policy, and returns when it is unloaded again: because of a signal, of the time, of the command's end,
/// or of the kernel. If somebody asks for another policy meanwhile, `read` makes options of the words.
///
/// # Errors
/// When something is missing, the policy is for the simulator only, it looks at all tasks and nobody said how many there may be, the
/// kernel does not take it, or throws it out.
pub fn load(options: &Options, read: ReadOptions<'_>, watch: &mut dyn Watch) -> Result<End, LoadError> {
    check_options(options)?;
    if let Some(bound) = bound(options)? {
        watch.note(&bound);
    }
    run(options, read, watch)
}

/// Lets the kernel verify a policy's programs, and returns what the verifier says of each. Nothing is scheduled. The programs are those for this machine, or
/// for one with so many CPUs.
///
/// # Errors
/// As [`load`]: when something is missing, the policy is for the simulator only, or the kernel does not take it.
pub fn dry_run(options: &Options, cpus: Option<u16>) -> Result<Vec<VerifiedProgram>, LoadError> {
    check_options(options)?;
    verify(options, cpus)
}

#[cfg(feature = "bpf")]
use session::run;
#[cfg(feature = "bpf")]
use verification::verify;

/// Without the feature `bpf` there is nothing to load.
#[cfg(not(feature = "bpf"))]
fn run(_: &Options, _: ReadOptions<'_>, _: &mut dyn Watch) -> Result<End, LoadError> {
    Err(check::not_built().into())
}

/// Nor to verify.
#[cfg(not(feature = "bpf"))]
fn verify(_: &Options, _: Option<u16>) -> Result<Vec<VerifiedProgram>, LoadError> {
    Err(check::not_built().into())
}
