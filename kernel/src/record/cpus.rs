//! The CPUs that are recorded.

use std::fs;

use super::error::RecordError;

const DIRECTORY: &str = "/sys/devices/system/cpu";

/// How many CPUs there are, in three ways. Kernels have many more possible CPUs than there are, on machines that may get more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// One more than the greatest number of a CPU that this kernel may have.
    pub possible: u32,
    /// One more than the greatest number of a CPU that is online: each below has a ring.
    pub rings: u32,
    /// CPUs that are online.
    pub online: u32,
}

impl Cpus {
    pub fn here() -> Result<Self, RecordError> {
        let [possible, online] = ["possible", "online"].map(|name| {
            let path = format!("{DIRECTORY}/{name}");
            let text = fs::read_to_string(&path)
                .map_err(|error| RecordError::Io(format!("cannot read {path}"), error))?;
            parse(&text).ok_or_else(|| RecordError::Refused {
                reason: format!("{path} says {text:?}"),
                log: Vec::new(),
            })
        });
        let ((possible, _), (rings, online)) = (possible?, online?);
        Ok(Self { possible: possible.max(rings), rings, online })
    }
}

/// A list as `0-3,5`: one more than its greatest number, and how many it has.
fn parse(text: &str) -> Option<(u32, u32)> {
    let (mut end, mut count) = (0, 0u32);
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        end = end.max(last.checked_add(1)?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some((end, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse("0\n"), Some((1, 1)));
        assert_eq!(parse("0-3,5,8-9\n"), Some((10, 7)));
        for bad in ["", "\n", "3-1", "a", "0-", "4294967295"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
