//! How far replays predicted what then really happened under another policy, as it was measured.
//!
//! The numbers are those of the page on trust (`docs/explanation/trust.md`), of `kernel/bench/prediction` on one CPU; a test of tests/repository
//! compares them.

/// Relative errors of many predictions of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// The metric's name on the page.
    pub metric: &'static str,
    /// Half of the predictions were nearer.
    pub median: f64,
    /// Nine of ten were nearer.
    pub ninth_decile: f64,
}

/// Mean response of a task.
pub const MEAN_RESPONSE: Errors = Errors { metric: "mean response", median: 0.076, ninth_decile: 0.915 };
/// 99th percentile of its response.
pub const P99_RESPONSE: Errors = Errors { metric: "p99 response", median: 0.093, ninth_decile: 0.482 };
/// Its share of the CPUs.
pub const SHARE: Errors = Errors { metric: "share of the CPUs", median: 0.046, ninth_decile: 0.288 };

/// The least relative difference in mean response that a replay supports: its own error, or that of half of the predictions if it
/// is larger. `None` if its own error is not known.
pub fn floor(self_replay_error: Option<f64>) -> Option<f64> {
    self_replay_error.map(|error| error.max(MEAN_RESPONSE.median))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_error_counts() {
        assert_eq!(floor(Some(0.01)), Some(MEAN_RESPONSE.median));
        assert_eq!(floor(Some(0.2)), Some(0.2));
        assert_eq!(floor(None), None);
    }
}
