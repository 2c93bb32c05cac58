//! How far a run is, on stderr, and only on a terminal.

use divvy_sim::run::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// A bar over the time of all runs; it goes away when dropped.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar for what is done, `runs` runs of `duration_ns` each; without an end in sight, a spinner.
    pub fn new(what: &str, duration_ns: Option<u64>, runs: u64, output: Output) -> Self {
        if !output.shows_progress() {
            return Self(ProgressBar::hidden());
        }
        let bar = match duration_ns {
            Some(duration_ns) => ProgressBar::new(duration_ns.saturating_mul(runs)),
            None => ProgressBar::new_spinner(),
        };
        let template = match duration_ns {
            Some(_) => format!("{what} {{wide_bar}} {{percent:>3}}%, {{eta}} left"),
            None => format!("{what} {{spinner}} {{elapsed}}"),
        };
        // The templates are constants; should one not read, the default look will do.
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(bar.with_style(style))
    }
}

impl Progress for Bar {
    fn advance(&self, simulated_ns: u64) -> bool {
        self.0.inc(simulated_ns);
        true
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
