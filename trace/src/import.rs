//! Facts that every importer reports beside its events.

use std::collections::BTreeMap;

/// Facts about a trace that are not events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    /// The format's name.
    pub format: &'static str,
    /// The clock's name, empty when the format does not say.
    pub clock: &'static str,
    /// The kernel's release, empty when the format does not say.
    pub kernel: String,
    /// Lines or records that could not be understood.
    pub malformed: u64,
    /// Line number of the first of them, 0 when the format has no lines.
    pub first_malformed_line: u64,
    /// The byte at which the file ends too early, if it does.
    pub cut_at: Option<u64>,
    /// The descriptions of its events are missing: what they look like was guessed from the events.
    pub guessed: bool,
    /// The clock counts ticks of unknown length.
    pub ticks: bool,
    /// Lost events whose CPU or time the file does not give.
    pub lost_somewhere: u64,
    /// The paths of cgroups, by their numbers.
    pub cgroups: BTreeMap<u64, String>,
}
