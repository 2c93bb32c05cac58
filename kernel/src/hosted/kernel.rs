//! The kernel that is modelled.

use std::fmt;
use std::str::FromStr;

/// A modelled kernel: `linux-6.12`, or `linux-6.12:hz=250` with that many ticks a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    hz: u32,
}

/// Ticks a second that Linux can be built with (`CONFIG_HZ`).
const RATES: [u32; 4] = [100, 250, 300, 1000];
const NAME: &str = "linux-6.12";

/// A text that names no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; write linux-6.12, or linux-6.12:hz=250: ticks a second are 100, 250, 300 or 1000")]
pub struct BadKernel(String);

impl Kernel {
    /// The time between two ticks, in ns, as the kernel rounds it.
    #[must_use]
    pub fn tick_ns(self) -> u64 {
        (1_000_000_000 + u64::from(self.hz) / 2) / u64::from(self.hz)
    }
}

impl Default for Kernel {
    fn default() -> Self {
        Self { hz: 1000 }
    }
}

impl FromStr for Kernel {
    type Err = BadKernel;

    fn from_str(text: &str) -> Result<Self, BadKernel> {
        let (name, parameter) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        if name != NAME {
            return Err(BadKernel(format!("there is no model of `{name}`")));
        }
        let Some(parameter) = parameter else { return Ok(Self::default()) };
        let hz = parameter
            .strip_prefix("hz=")
            .ok_or_else(|| BadKernel(format!("a kernel has no parameter `{parameter}`")))?;
        let hz = hz.parse().ok().filter(|hz| RATES.contains(hz));
        hz.map(|hz| Self { hz }).ok_or_else(|| BadKernel(format!("no kernel has `{parameter}`")))
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}:hz={}", self.hz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_a_name_and_a_rate() {
        let kernel = |text: &str| text.parse::<Kernel>();
        assert_eq!(kernel("linux-6.12"), Ok(Kernel { hz: 1000 }));
        assert_eq!(kernel("linux-6.12:hz=300").map(Kernel::tick_ns), Ok(3_333_333));
        assert_eq!(kernel("linux-6.12:hz=250").expect("one").to_string(), "linux-6.12:hz=250");
        for bad in
            ["linux-6.13", "", "linux-6.12:", "linux-6.12:hz=", "linux-6.12:hz=50", "linux-6.12:tick=1ms"]
        {
            let error = kernel(bad).expect_err(bad).to_string();
            assert!(error.contains("; write linux-6.12, or linux-6.12:hz=250"), "{bad}: {error}");
        }
    }
}
