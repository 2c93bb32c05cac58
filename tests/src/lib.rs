//! The harness of divvy's tests: everything that several of them need. It has no tests of its own.
//!
//! - [`lockstep`] drives a machine quantum by quantum, all CPUs at the same instants; [`mod@bench`] runs programs of bursts
//!   and sleeps on a machine, and a watcher sees each event and each choice.
//! - [`record`] runs a workload in the engine and keeps every slice, [`watched`] what each CPU was told to run; [`example`] finds tasks of such a run by name.
//! - [`specs`] lists the policies that there are, [`workloads`] makes random workloads, [`random`] random programs,
//!   [`cases`] random weights and the settings of proptest.
//! - [`tags`], [`threads`], [`nice`] and [`study`] are references and settings for families of policies: those that sort by
//!   service over weight, the modifiers that count threads, Linux's earlier schedulers, the GR3 paper's baselines.
//!
//! The targets beside it are named in `Cargo.toml`. A test of a policy stands in `policies/NAME.rs`.

pub mod bench;
pub mod cases;
pub mod example;
pub mod lockstep;
pub mod nice;
pub mod random;
pub mod record;
pub mod specs;
pub mod study;
pub mod tags;
pub mod threads;
pub mod watched;
pub mod workloads;
