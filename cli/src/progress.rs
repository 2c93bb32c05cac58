//! A progress bar on stderr, only on a terminal.

use divvy_results::progress::Progress;
use indicatif::ProgressStyle;

use crate::output::Output;

const AMOUNT: &str = "{wide_bar} {percent:>3}%, {eta} left";

/// A bar with a label, or a spinner if nobody knows how much there is to do; removed when dropped.
pub struct ProgressBar {
    bar: indicatif::ProgressBar,
    label: String,
}

impl ProgressBar {
    /// A bar that shows nothing before it is told how much there is to do.
    pub fn new(label: &str, output: Output) -> Self {
        let shown = output.shows_progress();
        let bar = if shown { indicatif::ProgressBar::no_length() } else { indicatif::ProgressBar::hidden() };
        Self { bar, label: label.to_owned() }
    }

    /// A line of text instead of an amount.
    pub fn say(&self, text: &str) {
        self.set_template("{msg}");
        self.bar.set_message(text.to_owned());
    }

    /// A text after the amount.
    pub fn beside(&self, text: &str) {
        self.set_template(&format!("{AMOUNT}, {{msg}}"));
        self.bar.set_message(text.to_owned());
    }

    /// Shows this behind the label.
    fn set_template(&self, template: &str) {
        let template = format!("{} {template}", self.label);
        // The templates are constants; if one were wrong, the default style would do.
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar.set_style(style);
    }

    /// Prints something else meanwhile.
    pub fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// The amount that is done in all.
    pub fn set_position(&self, done: u64) {
        self.bar.set_position(done);
    }
}

impl Progress for ProgressBar {
    fn begin(&self, total: Option<u64>) {
        self.set_template(if total.is_some() { AMOUNT } else { "{spinner} {elapsed}" });
        if let Some(total) = total {
            self.bar.set_length(total);
        }
    }

    fn advance(&self, done: u64) -> bool {
        self.bar.inc(done);
        true
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
