//! The source of a claim's value: a number that the paper prints is other evidence than one that we derived.

use serde::Deserialize;

/// Where the value comes from that a claim is compared with. Every claim has one: a table without it does not read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// A number or a sequence in the paper's text, in a table, or in a caption: the section, figure or table.
    Printed(String),
    /// The paper prints the number, but it does not say exactly of which quantity: the reading that fits is compared.
    Inferred {
        /// The section, figure or table.
        place: String,
        /// The paper's words, and what is compared.
        reading: String,
    },
    /// The paper says it in words, without a number: the section, and the words. The bound is where they turn wrong: better
    /// is more than 0.
    Worded(String),
    /// Read off a plot.
    ReadOff {
        /// The plot.
        plot: String,
        /// How far the reading may be off, in the claim's unit. It is the tolerance.
        error: f64,
    },
    /// Not in the paper: computed from its rules or equations, by this equation or program.
    Derived(String),
}

impl Source {
    /// In a word or two, for a column of a table.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Source::Printed(_) => "printed",
            Source::Inferred { .. } => "inferred",
            Source::Worded(_) => "worded",
            Source::ReadOff { .. } => "read off",
            Source::Derived(_) => "derived",
        }
    }

    /// The place in the paper, or the oracle.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Source::Printed(place) | Source::Worded(place) | Source::Derived(place) => place.clone(),
            Source::Inferred { place, reading } => format!("{place}; {reading}"),
            Source::ReadOff { plot, error } => format!("{plot}, to within {error}"),
        }
    }
}
