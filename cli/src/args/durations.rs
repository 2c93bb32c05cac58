//! Times on the command line.

use std::time::Duration;

use divvy_policy::units::parse_duration_ns;

/// Reads a time; it may be 0.
pub fn duration(text: &str) -> Result<Duration, String> {
    parse_duration_ns(text).map(Duration::from_nanos)
}

/// Reads a time above 0.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    positive_ns(text).map(Duration::from_nanos)
}

/// Reads a time above 0, in ns.
pub fn positive_ns(text: &str) -> Result<u64, String> {
    match parse_duration_ns(text)? {
        0 => Err("it must be more than 0".to_owned()),
        ns => Ok(ns),
    }
}
