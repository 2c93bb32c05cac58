//! The machine that is simulated.

use clap::Args;
use divvy_workload::MAX_CPUS;

use super::durations::positive_ns;

/// The simulated machine.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
pub struct MachineArgs {
    /// Number of CPUs [default: as the workload says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CPUS)))]
    pub cpus: Option<u32>,

    /// Simulated time, as in 30s [default: as the workload says]
    #[arg(long = "duration", value_name = "TIME", value_parser = positive_ns)]
    pub duration_ns: Option<u64>,

    /// Slice of policies that do not set their own, as in 2ms [default: as the workload says]
    #[arg(long = "quantum", value_name = "TIME", value_parser = positive_ns)]
    pub quantum_ns: Option<u64>,
}
