//! The machine model: CPUs, time, and tasks that run their programs under a policy.
//!
//! Time is integer nanoseconds. What happens at one instant happens in this order, and again until nothing
//! is left to happen at it:
//!
//! 1. timers, in the order in which they were set: arrivals and wake-ups, so that a decision at an instant
//!    knows the tasks that came at that instant;
//! 2. CPUs whose task's slice or burst ends, by number: a burst that ends with the slice ends first, tasks that it then
//!    wakes are there before its CPU decides, and while one CPU decides, those with higher numbers still run;
//! 3. CPUs that something above asked to decide (idle ones for which work came, preempted ones), by number.
//!
//! After every instant the invariants of `checks.rs` hold, or the run ends with a [`Violation`].
//!
//! [`Engine`] (`state.rs`) is made of parts that know nothing of each other: the clock with its timers, the CPUs, the
//! tasks, the classes of tasks, mutexes and barriers, the accounts, the observer. What concerns several parts is done by
//! methods of the engine: the event loop, dispatching, the lifecycle of tasks, execution of programs, statistics,
//! checks, and the report.

// Parts.
mod accounting;
mod class;
mod clock;
mod cpu_set;
mod cpus;
mod instance;
mod masks;
mod notifier;
mod programs;
mod scheduler;
mod setup;
mod sync;
mod tasks;
mod violation;

mod state;

// Methods of the engine, which use its parts.
mod checks;
mod deadlock;
mod dispatch;
mod event_loop;
mod execute;
mod hear;
mod lifecycle;
mod report;
mod statistics;

pub use scheduler::{Birth, Change, Scheduler};
pub use setup::{Rows, Setup};
pub use state::Engine;
pub(crate) use tasks::process_id;
pub use violation::Violation;
