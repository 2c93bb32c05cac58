//! What every policy must do, with any modifiers.
//!
//! `PROPTEST_CASES` multiplies the work of a longer search.

mod determinism;
mod entitled;
mod general;
mod model;
mod service_error;
