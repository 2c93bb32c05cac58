//! A workload under a scheduler, to be simulated and to be played.

use divvy_results::report::Run;
use divvy_workload::Workload;

/// The kernel's own scheduler, as a spec.
pub const LINUX: &str = "linux";

/// Names, with their units, and values: those of a run of each case.
pub type Values = Vec<(String, f64)>;

/// One of the runs of a figure.
pub struct Case {
    /// The policy, or [`LINUX`].
    pub spec: &'static str,
    /// A number of threads, or the second in which a window begins: cases of the same spec differ in it.
    pub point: u64,
    pub workload: Workload,
}

impl Case {
    /// The policy to simulate: EEVDF is what Linux has had since 6.6. The simulator has one queue for all CPUs, Linux one for each.
    pub fn simulated(&self) -> &'static str {
        if self.spec == LINUX { "eevdf" } else { self.spec }
    }
}

/// From one moment of a run to another; what came before counts no more.
pub fn window(workload: &Workload, from_ns: u64, to_ns: u64) -> Workload {
    Workload { warmup_ns: from_ns, duration_ns: Some(to_ns), ..workload.clone() }
}

/// CPU time of the tasks whose names begin so, in s.
pub fn service_s(run: &Run, prefix: &str) -> f64 {
    let own = run.tasks.iter().filter(|task| task.name.starts_with(prefix));
    own.map(|task| task.service_ns).sum::<u64>() as f64 / 1e9
}
