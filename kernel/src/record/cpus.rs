//! The CPUs that are recorded.

use std::fs;
use std::ops::RangeInclusive;

use super::error::RecordError;
use crate::cpu_list;

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
            cpu_list::parse(&text).ok_or_else(|| RecordError::Refused {
                reason: format!("{path} says {text:?}"),
                log: Vec::new(),
            })
        });
        let (possible, online) = (possible?, online?);
        let end = |ranges: &[RangeInclusive<u16>]| ranges.last().map_or(0, |last| u32::from(*last.end()) + 1);
        let (possible, rings) = (end(&possible), end(&online));
        let online = online.into_iter().map(|range| range.len() as u32).sum();
        Ok(Self { possible: possible.max(rings), rings, online })
    }
}
