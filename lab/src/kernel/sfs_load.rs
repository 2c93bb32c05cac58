//! Surplus fair scheduling in a kernel, figure 6: web servers, a decoder and an interactive program beside background work. The programs are
//! those of the simulation.

use divvy_results::report::Run;
use divvy_workload::Workload;

use crate::error::LabError;
use crate::figures::sfs_load::{JOBS, WEIGHTS, decoder, interact, response_ms, servers};
use crate::kernel::case::{Case, Values, service_s, window};
use crate::run::{MS, S};

/// When all threads have started.
const FROM_NS: u64 = 500 * MS;

/// The small version has the most uneven weights.
pub fn cases_6a(small: bool) -> Result<Vec<Case>, LabError> {
    let of = |&weight: &u64| {
        let workload = window(&servers(weight, 4)?, FROM_NS, FROM_NS + 3 * S);
        Ok(Case::new("sfs", weight, workload))
    };
    WEIGHTS[if small { 3 } else { 0 }..].iter().map(of).collect()
}

pub fn values_6a(cases: &[Case], runs: &[Run]) -> Values {
    let value = |(case, run): (&Case, &Run)| {
        let name = format!("sfs, weights 1:{}: server 2 for each s of server 1's", case.point);
        (name, service_s(run, "server 2") / service_s(run, "server 1"))
    };
    cases.iter().zip(runs).map(value).collect()
}

/// Ticks of linux24 are as much shorter than the paper's as quanta are.
pub const TIME_SHARING: &str = "linux24:tick=1ms";

/// Each policy with each number of jobs.
fn beside_jobs(
    specs: &[&'static str],
    jobs: &[u32],
    workload: impl Fn(u32) -> Result<Workload, LabError>,
) -> Result<Vec<Case>, LabError> {
    let cases = specs.iter().flat_map(|spec| jobs.iter().map(move |&jobs| (*spec, jobs)));
    cases.map(|(spec, jobs)| Ok(Case::new(spec, jobs.into(), workload(jobs)?))).collect()
}

/// The run of a policy beside so many jobs, if there is one
fn beside<'a>(cases: &[Case], runs: &'a [Run], spec: &str, jobs: u64) -> Option<&'a Run> {
    cases.iter().zip(runs).find(|(case, _)| case.spec == spec && case.point == jobs).map(|(_, run)| run)
}

/// The small version has SFS alone.
pub fn cases_6b(small: bool) -> Result<Vec<Case>, LabError> {
    let (specs, jobs, seconds): (&[&str], &[u32], u64) =
        if small { (&["sfs"], &[0, 10], 2) } else { (&["sfs", TIME_SHARING], &JOBS, 4) };
    beside_jobs(specs, jobs, |jobs| Ok(window(&decoder(jobs, 20)?, FROM_NS, FROM_NS + seconds * S)))
}

pub fn values_6b(cases: &[Case], runs: &[Run]) -> Values {
    let received = |run: &Run| service_s(run, "decoder") / (run.duration_ns as f64 / S as f64);
    let run = |spec, jobs| beside(cases, runs, spec, jobs);
    let beside_10 = ["sfs", TIME_SHARING].into_iter().filter_map(|spec| {
        let name = format!("{spec}: frame rate beside 10 compilations, for each alone");
        Some((name, received(run(spec, 10)?) / received(run(spec, 0)?)))
    });
    let mut values: Values = beside_10.collect();
    if let Some((sfs, time_sharing)) = run("sfs", 10).zip(run(TIME_SHARING, 10)) {
        let name = "frame rate beside 10 compilations under sfs, for each under linux24";
        values.push((name.to_owned(), received(sfs) / received(time_sharing)));
    }
    let all = cases.iter().zip(runs);
    values.extend(all.map(|(case, run)| {
        (format!("{}, {} compilations: CPUs that the decoder has", case.spec, case.point), received(run))
    }));
    values
}

pub const CREDIT: &str = "sfs:credit=200ms";

/// The small version has the last of the two claims.
pub fn cases_6c(small: bool) -> Result<Vec<Case>, LabError> {
    let (specs, jobs, seconds): (&[&str], &[u32], u64) =
        if small { (&[CREDIT, "linux24"], &[10], 3) } else { (&["sfs", CREDIT, "linux24"], &[2, 6, 10], 10) };
    beside_jobs(specs, jobs, |jobs| Ok(window(&interact(jobs, 200)?, FROM_NS, FROM_NS + seconds * S)))
}

pub fn values_6c(cases: &[Case], runs: &[Run]) -> Values {
    let run = |spec| beside(cases, runs, spec, 10);
    let compared = ["sfs", CREDIT].into_iter().filter_map(|spec| {
        let name = format!("10 simulations: response under {spec} for each ms under linux24");
        Some((name, response_ms(run(spec)?) / response_ms(run("linux24")?)))
    });
    let all = cases.iter().zip(runs).map(|(case, run)| {
        let name = format!("{}, {} simulations: mean response of Interact (ms)", case.spec, case.point);
        (name, response_ms(run))
    });
    compared.chain(all).collect()
}
