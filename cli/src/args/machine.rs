//! The machine that is simulated.

use clap::Args;
use divvy_policy::quantity::format_time_ns;
use divvy_sim::run::Options;
use divvy_workload::{MAX_CPUS, Workload};

use super::durations::positive_ns;
use crate::output::Output;

/// The simulated machine.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
pub struct MachineArgs {
    /// Number of CPUs [default: as the workload says]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CPUS)))]
    pub cpus: Option<u32>,

    /// Simulated time, as in 30s [default: as the workload says]
    #[arg(long = "duration", value_name = "TIME", value_parser = positive_ns)]
    pub duration_ns: Option<u64>,

    /// Slice of policies that do not set their own, as in 2ms [default: as the workload says]
    #[arg(long = "quantum", value_name = "TIME", value_parser = positive_ns)]
    pub quantum_ns: Option<u64>,
}

impl MachineArgs {
    /// A simulation's options for this machine.
    pub fn options(&self) -> Options {
        Options {
            cpus: self.cpus,
            duration_ns: self.duration_ns,
            quantum_ns: self.quantum_ns,
            ..Options::default()
        }
    }

    /// Says that the run takes minutes, if its quantum is tiny beside its duration: often a unit is wrong.
    pub fn note_decisions(&self, workload: &Workload, output: Output) {
        const MANY: u64 = 1_000_000_000;
        let quantum_ns = self.quantum_ns.unwrap_or(workload.quantum_ns).max(1);
        let Some(duration_ns) = self.duration_ns.or(workload.duration_ns) else { return };
        let cpus = u64::from(self.cpus.unwrap_or(workload.cpus));
        if (duration_ns / quantum_ns).saturating_mul(cpus) >= MANY {
            output.note(&format!(
                "note: with a quantum of {} in a run of {} there may be more than a billion decisions, which takes minutes",
                format_time_ns(quantum_ns as i64),
                format_time_ns(duration_ns as i64)
            ));
        }
    }
}
