//! Context of a thread.

use super::handover::Handover;
use super::record::Log;
use super::run_setup::RunSetup;
use super::shared_state::SharedState;

/// The data that all threads of a run share.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub setup: &'a RunSetup<'a>,
    pub shared: &'a SharedState,
    pub log: &'a Log,
    /// For tasks that execute a program; `None` if none does.
    pub handover: Option<&'a Handover<'a>>,
}
