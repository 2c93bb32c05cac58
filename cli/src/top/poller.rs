//! Asks the loaded scheduler for its counters, and makes intervals of them.

use divvy_kernel::load::{self, AskError, Period, Viewer};
use divvy_policy::{Failure, FailureKind};

/// The scheduler's policy, and an interval of its counters.
#[derive(Clone, Debug)]
pub struct Observation {
    pub policy: String,
    pub interval: Period,
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
}

impl Poller {
    /// The interval since the last poll; the first time, since loading.
    pub fn poll(&mut self) -> anyhow::Result<Observation> {
        match load::look() {
            Ok(look) => {
                self.has_seen = true;
                let policy = look.policy.clone();
                Ok(Observation { policy, interval: self.viewer.interval(look) })
            }
            Err(AskError::Missing(_)) if self.has_seen => Err(Unloaded.into()),
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
