//! The warm-up of a sweep's runs.

use std::str::FromStr;

use divvy_policy::units::parse_duration_ns;
use serde::{Deserialize, Serialize};

/// The part of a run, from its start, that does not count.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub enum WarmUp {
    /// A part of the run's duration, 0 to less than 1.
    Share(f64),
    /// In nanoseconds.
    Time(u64),
}

impl FromStr for WarmUp {
    type Err = String;

    /// Reads `10%` or `5s`.
    fn from_str(text: &str) -> Result<WarmUp, String> {
        let Some(percent) = text.strip_suffix('%') else {
            return parse_duration_ns(text).map(WarmUp::Time);
        };
        let share = percent.parse::<f64>().ok().filter(|percent| (0.0..100.0).contains(percent));
        share
            .map(|percent| WarmUp::Share(percent / 100.0))
            .ok_or_else(|| "expected 0% to less than 100%, or a time, as in 5s".to_owned())
    }
}
