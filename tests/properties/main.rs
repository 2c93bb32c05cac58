//! The rules that every policy must keep, with any modifiers.
//!
//! `PROPTEST_CASES` multiplies the work of a longer search.

mod affinity;
mod determinism;
mod entitled;
mod forks;
mod general;
mod large;
mod limits;
mod model;
mod placement;
mod placement_weights;
mod service_error;
mod topology;
