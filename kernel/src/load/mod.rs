//! A policy as the running kernel's scheduler: what must be there first, loading, statistics, commands.
//!
//! Everything but the loading itself is built without the feature `bpf`, so that `divvy set` and
//! `divvy doctor` work from any build; and is tested there.

#![cfg_attr(not(feature = "bpf"), allow(dead_code))]

pub mod check;
mod commands;
mod cpus;
pub mod doctor;
mod end;
mod error;
mod grouping;
mod host;
mod look;
mod names;
#[cfg(feature = "bpf")]
mod object;
mod outbox;
#[cfg(feature = "bpf")]
mod privileges;
#[cfg(feature = "bpf")]
mod programs;
#[cfg(feature = "bpf")]
mod records;
#[cfg(feature = "bpf")]
mod running;
#[cfg(feature = "bpf")]
mod session;
mod socket;
mod statistics;
mod sys;

use divvy_policy::spec::Spec;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

pub use commands::{Reply, Request};
pub use end::End;
pub use error::{LoadError, Missing};
pub use host::{MAX_POOL, Stats};
pub use look::{Head, Look, Viewer};
pub use socket::{AskError, ask, look};
pub use statistics::{Interval, TaskRow};
pub use sys::{Signal, Signals};

/// What makes groups of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Cgroups, nested, with their `cpu.weight`.
    Cgroups,
    /// Users, all of the same weight.
    Users,
}

/// What to load, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// The policy.
    pub spec: Spec,
    /// The slice under policies that do not set slices of their own.
    pub quantum: Duration,
    /// How long a runnable task may wait before the kernel throws the scheduler out.
    pub timeout: Duration,
    /// How long a runnable task may wait before it gets a slice out of order; zero: no limit but the kernel's watchdog.
    pub starvation_limit: Duration,
    /// Which groups tasks are in; adds the modifier groups.
    pub grouping: Option<Grouping>,
    /// Tasks that the policy takes at most; further ones wait in a queue of their own.
    pub pool: u32,
    /// Between statistics.
    pub interval: Duration,
    /// When to unload; never by default.
    pub duration: Option<Duration>,
    /// A program to run under the scheduler, which is unloaded when it ends.
    pub command: Vec<OsString>,
    /// Where to write the decisions.
    pub log: Option<PathBuf>,
    /// Where the modifier flow keeps what it knows of programs.
    pub db: PathBuf,
    /// Who may send commands, beside root.
    pub group: Option<String>,
    /// Tasks in the statistics, those that received the most.
    pub top: usize,
    /// For tests: every so many tasks get no id.
    pub fail_every: u32,
}

/// Is told what happens while a scheduler is loaded.
pub trait Watch {
    /// Something to say.
    fn note(&mut self, text: &str);
    /// One interval's statistics. Where nobody looks any more it is unloaded, unless there is a command.
    fn interval(&mut self, interval: &Interval) -> ControlFlow<()>;
    /// Those of the whole run.
    fn total(&mut self, total: &Interval);
}

/// Loads a policy, and returns when it is unloaded again: because of a signal, of the time, of the command's end,
/// or of the kernel.
///
/// # Errors
/// When something is missing, the policy is for the simulator only, the kernel does not take it, or throws it out.
pub fn load(options: &Options, watch: &mut dyn Watch) -> Result<End, LoadError> {
    let policy = options.spec.selection.name;
    match divvy_policy::find(policy).and_then(|policy| policy.simulator_only) {
        Some(why) => Err(LoadError::SimulatorOnly { policy, why }),
        None => run(options, watch),
    }
}

#[cfg(feature = "bpf")]
use session::run;

/// Without the feature `bpf` there is nothing to load.
#[cfg(not(feature = "bpf"))]
fn run(_: &Options, _: &mut dyn Watch) -> Result<End, LoadError> {
    Err(check::not_built().into())
}
