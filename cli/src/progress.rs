//! Progress bars on stderr, only on a terminal.

use divvy_sim::run::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// A bar over the simulated time of all runs; removed when dropped.
pub struct RunBar(ProgressBar);

impl RunBar {
    /// A bar for `runs` runs of `duration_ns` each; a spinner if the duration is not known.
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
        // The templates are constants; if one were wrong, the default style would do.
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(bar.with_style(style))
    }
}

/// A bar over the bytes of a file; removed when dropped.
pub struct FileBar(ProgressBar);

impl FileBar {
    /// A bar for `bytes`.
    pub fn new(bytes: u64, output: Output) -> Self {
        if !output.shows_progress() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("verifying {wide_bar} {percent:>3}%, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(ProgressBar::new(bytes).with_style(style))
    }

    /// The position, in bytes.
    pub fn at(&self, byte: u64) {
        self.0.set_position(byte);
    }
}

/// A bar over the steps of a figure or a sweep; removed when dropped.
pub struct StepBar(ProgressBar);

impl StepBar {
    /// A bar with this label.
    pub fn new(id: &str, output: Output) -> Self {
        if !output.shows_progress() {
            return Self(ProgressBar::hidden());
        }
        let template = format!("{id} {{wide_bar}} {{percent:>3}}%, {{eta}} left");
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(ProgressBar::new(0).with_style(style))
    }
}

impl divvy_results::progress::StepProgress for StepBar {
    fn begin(&self, steps: u64) {
        self.0.set_length(steps);
    }

    fn advance(&self, steps: u64) {
        self.0.inc(steps);
    }
}

impl Drop for StepBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for FileBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Progress for RunBar {
    fn advance(&self, simulated_ns: u64) -> bool {
        self.0.inc(simulated_ns);
        true
    }
}

impl Drop for RunBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
