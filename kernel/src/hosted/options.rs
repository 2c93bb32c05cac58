//! How a workload runs in the host.

use std::path::PathBuf;

use super::kernel::Kernel;

/// The modelled kernel, and what is kept.
#[derive(Clone, Debug, Default)]
pub struct HostedOptions {
    /// The kernel.
    pub kernel: Kernel,
    /// Where to write the decision log of the run, for `divvy verify`.
    pub log: Option<PathBuf>,
}
