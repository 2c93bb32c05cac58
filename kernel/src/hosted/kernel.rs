//! The kernel that is modelled.

use std::fmt;
use std::str::FromStr;

/// A modelled kernel: `linux-6.12`, or `linux-6.12:hz=250` with that many ticks a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    version: Version,
    hz: u32,
}

/// The first version of Linux that behaves in a way of its own towards a scheduler; later ones behave as it does, up to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    /// 6.12.
    #[default]
    Linux6_12,
    /// 7.1: `dequeue` is called for each task that leaves the host.
    Linux7_1,
    /// 7.3: also at once for those from another CPU.
    Linux7_3,
}

impl Version {
    const ALL: [Version; 3] = [Version::Linux6_12, Version::Linux7_1, Version::Linux7_3];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Version::Linux6_12 => "linux-6.12",
            Version::Linux7_1 => "linux-7.1",
            Version::Linux7_3 => "linux-7.3",
        }
    }

    /// `MODEL_NEWER` in `model/model.h`.
    pub fn model_newer(self) -> u32 {
        match self {
            Version::Linux6_12 => 0,
            Version::Linux7_1 => 71,
            Version::Linux7_3 => 73,
        }
    }
}

/// Ticks a second that Linux can be built with (`CONFIG_HZ`).
const RATES: [u32; 4] = [100, 250, 300, 1000];

/// A text that names no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}; write linux-6.12, linux-7.1 or linux-7.3, or linux-6.12:hz=250: ticks a second are 100, 250, 300 or 1000"
)]
pub struct BadKernel(String);

impl Kernel {
    /// The time between two ticks, in ns, as the kernel rounds it.
    #[must_use]
    pub fn tick_ns(self) -> u64 {
        (1_000_000_000 + u64::from(self.hz) / 2) / u64::from(self.hz)
    }

    pub(super) fn version(self) -> Version {
        self.version
    }
}

impl Default for Kernel {
    fn default() -> Self {
        Self { version: Version::default(), hz: 1000 }
    }
}

impl FromStr for Kernel {
    type Err = BadKernel;

    fn from_str(text: &str) -> Result<Self, BadKernel> {
        let (name, parameter) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let version = Version::ALL.into_iter().find(|version| version.name() == name);
        let version = version.ok_or_else(|| BadKernel(format!("there is no model of `{name}`")))?;
        let Some(parameter) = parameter else { return Ok(Self { version, ..Self::default() }) };
        let hz = parameter
            .strip_prefix("hz=")
            .ok_or_else(|| BadKernel(format!("a kernel has no parameter `{parameter}`")))?;
        let hz = hz.parse().ok().filter(|hz| RATES.contains(hz));
        hz.map(|hz| Self { version, hz }).ok_or_else(|| BadKernel(format!("no kernel has `{parameter}`")))
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:hz={}", self.version.name(), self.hz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_a_name_and_a_rate() {
        let kernel = |text: &str| text.parse::<Kernel>();
        assert_eq!(kernel("linux-6.12"), Ok(Kernel { version: Version::Linux6_12, hz: 1000 }));
        assert_eq!(kernel("linux-6.12"), Ok(Kernel::default()));
        assert_eq!(kernel("linux-7.1"), Ok(Kernel { version: Version::Linux7_1, hz: 1000 }));
        assert_eq!(kernel("linux-6.12:hz=300").map(Kernel::tick_ns), Ok(3_333_333));
        for text in ["linux-6.12:hz=250", "linux-7.1:hz=100", "linux-7.3:hz=1000"] {
            assert_eq!(kernel(text).expect("one").to_string(), text);
        }
        for bad in [
            "linux-6.13",
            "linux-7.2",
            "",
            "linux-7.3:",
            "linux-6.12:hz=",
            "linux-7.1:hz=50",
            "linux-6.12:tick=1ms",
        ] {
            let error = kernel(bad).expect_err(bad).to_string();
            assert!(
                error.contains("; write linux-6.12, linux-7.1 or linux-7.3, or linux-6.12:hz=250"),
                "{bad}: {error}"
            );
        }
    }
}
