//! How both tables run a workload in the simulator.

use divvy_sim::engine::Setup;
use divvy_sim::run::Rows;
use divvy_sim::sharing::Sharing;
use divvy_workload::Workload;

/// The first run of a workload, as the command makes it.
pub fn first_run(workload: &Workload, sharing: Sharing) -> Setup {
    Setup { seed: 1, rep: 0, until_ns: workload.duration_ns, schedule: 0, rows: Rows::EachInstance, sharing }
}
