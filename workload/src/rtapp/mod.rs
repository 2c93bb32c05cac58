//! Workloads of rt-app: its JSON, read leniently and written strictly.
//!
//! rt-app runs threads that run, sleep and wait for each other, by phases that repeat. What a workload of divvy cannot say
//! is refused with its place, or left out or taken for something near with a note entry: nothing is dropped silently.
//! `docs/reference/trace-formats.md` and rt-app's `doc/tutorial.txt` have the format.

mod build;
mod event;
mod json;
mod read;
mod steps;
mod task;
mod write;

pub(super) use json::is_json;
pub(super) use read::parse;
pub use write::{Inexpressible, write};
