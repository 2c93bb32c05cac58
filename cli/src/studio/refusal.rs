//! Why there is no run.

use serde::Serialize;

/// The problem, and its place.
#[derive(Debug, Default, Serialize)]
pub struct Refusal {
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
    /// In the text.
    #[serde(flatten)]
    pub place: Option<Box<Place>>,
    /// Which policy it is about, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<usize>,
}

/// A place in the text of a workload, as its errors have it.
#[derive(Debug, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub width: usize,
    pub excerpt: String,
}

impl Refusal {
    pub fn new(message: String) -> Self {
        Self { message, ..Self::default() }
    }
}
