//! Random numbers and repetitions.

use clap::Args;

/// Random numbers and repetitions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chance")]
pub struct RandomArgs {
    /// Number that all random numbers come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Repetitions, each with its own random numbers, the same for every policy
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub reps: u32,
}
