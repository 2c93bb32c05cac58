//! How a figure is run.

use std::path::Path;

use divvy_results::progress::Progress;

/// How to run a figure.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The quick version.
    pub small: bool,
    /// Where all random numbers come from.
    pub seed: u64,
    /// Told how far it is.
    pub progress: &'a dyn Progress,
    /// Where studies keep what they have found so far, so that a run that is interrupted can be resumed.
    pub saved: Option<&'a Path>,
}
