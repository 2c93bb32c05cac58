//! Surplus fair scheduling in a kernel: example 1 and figure 1. The workload is that of the simulation.

use divvy_results::report::Run;

use crate::error::LabError;
use crate::figures::sfs::FIGURE_1;
use crate::kernel::case::{Case, LINUX, Values, service_s, window};
use crate::run::{S, workload};

/// Service of T3 less that of T1 is how much longer T1 waited: they have equal weights.
fn behind_s(run: &Run) -> f64 {
    service_s(run, "T3") - service_s(run, "T1")
}

/// From when T3 comes to the end.
pub fn cases_1(_small: bool) -> Result<Vec<Case>, LabError> {
    let all = workload("sfs-1.toml", FIGURE_1)?;
    let case = |spec| Case { spec, point: 1, workload: window(&all, S, 3 * S) };
    Ok(["sfq", "sfq+feasible", "sfs", LINUX].map(case).into())
}

pub fn values_1(cases: &[Case], runs: &[Run]) -> Values {
    let value = |(case, run): (&Case, &Run)| {
        // A quantum is 1 ms.
        (format!("{}: T3's CPU time less T1's, 1 s to 3 s (quanta)", case.spec), behind_s(run) * 1000.0)
    };
    cases.iter().zip(runs).map(value).collect()
}
