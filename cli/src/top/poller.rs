//! Asks the loaded scheduler for its counters, and makes intervals of them.

use divvy_kernel::load::{self, AskError, Period, Viewer};
use divvy_kernel::stock::Sampler;
use divvy_policy::{Failure, FailureKind};

/// The scheduler's policy, and an interval of its counters.
#[derive(Clone, Debug)]
pub struct Observation {
    /// [`KERNELS_OWN`] if no policy of divvy is loaded.
    pub policy: String,
    pub interval: Period,
}

/// The kernel's own scheduler, or another one that divvy does not know.
pub const KERNELS_OWN: &str = "linux";

impl Observation {
    /// Whether a policy of divvy schedules. Otherwise there are no counts of decisions.
    pub fn is_loaded(&self) -> bool {
        self.policy != KERNELS_OWN
    }

    /// Since when the interval's end is counted.
    pub fn since(&self) -> &'static str {
        if self.is_loaded() { "after loading" } else { "of watching" }
    }
}

/// The scheduler was unloaded while it was watched.
#[derive(Debug, thiserror::Error)]
#[error("the scheduler was unloaded: the kernel's own is back")]
pub struct Unloaded;

impl Failure for Unloaded {
    fn kind(&self) -> FailureKind {
        FailureKind::Missing
    }
}

/// Asks for counters again and again.
#[derive(Debug, Default)]
pub struct Poller {
    viewer: Viewer,
    has_seen: bool,
    stock: Sampler,
}

impl Poller {
    /// The interval since the last poll; the first time, since loading. Without a policy it is that of the kernel's own scheduler, and
    /// empty the first time.
    pub fn poll(&mut self) -> anyhow::Result<Observation> {
        match load::look() {
            Ok(look) => {
                self.has_seen = true;
                let policy = look.policy.clone();
                Ok(Observation { policy, interval: self.viewer.interval(look) })
            }
            Err(AskError::Missing(_)) if self.has_seen => Err(Unloaded.into()),
            Err(AskError::Missing(_)) => {
                let interval = self.stock.sample()?;
                Ok(Observation { policy: KERNELS_OWN.to_owned(), interval })
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::top::rows;

    pub fn observation() -> Observation {
        Observation { policy: "gr3".to_owned(), interval: rows::tests::interval() }
    }
}
