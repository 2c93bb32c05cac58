//! Times on the command line.

use divvy_policy::units::parse_duration;

/// Reads a time above 0, in ns.
pub fn positive_duration(text: &str) -> Result<u64, String> {
    match parse_duration(text)? {
        0 => Err("it must be more than 0".to_owned()),
        ns => Ok(ns),
    }
}
