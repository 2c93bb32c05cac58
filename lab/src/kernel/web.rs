//! GR3's web servers in a kernel, figures 14 to 19 and the two further experiments: several servers of Apache, whose prefork workers always have a request
//! (`kernel/bench/web`).

use crate::error::LabError;
use crate::kernel::case::{Beside, LINUX, Values, beside, means, numbers};
use crate::kernel::machine::Play;
use crate::run::MS;
use crate::web::{Curves, Experiment, Site, values};

/// Slices end at the nearest tick of 1 ms. This one lasts 10 ms also where it begins a moment after a tick.
const SLICE: &str = "9800us";
/// Processes of each server, where the paper has 100.
const WORKERS: usize = 10;
/// The same of the small version, and of the two further experiments.
const FEW_WORKERS: usize = 5;

pub fn sites_of_gr3_14(small: bool, windows: u32) -> Vec<Site> {
    let specs: &[&str] = if small { &["wfq", "gr3"] } else { &["linux24", "wfq", "vtrr", "gr3", LINUX] };
    heavy(specs, 1, small, windows)
}

pub fn sites_of_gr3_18(small: bool, windows: u32) -> Vec<Site> {
    let specs: &[&str] = if small { &["gr3"] } else { &["linux24", "gr3", LINUX] };
    heavy(specs, 2, small, windows)
}

fn heavy(specs: &[&'static str], cpus: u64, small: bool, windows: u32) -> Vec<Site> {
    let workers = if small { FEW_WORKERS } else { WORKERS };
    specs.iter().map(|&spec| Site::new(spec, Experiment::Heavy, cpus, workers, windows, small)).collect()
}

pub fn sites_of_gr3_web(small: bool, windows: u32) -> Vec<Site> {
    let site = |spec, experiment| Site::new(spec, experiment, 1, FEW_WORKERS, windows, small);
    if small {
        return vec![site("gr3", Experiment::Ladder)];
    }
    let specs = ["linux24", "wfq", "vtrr", "gr3", LINUX];
    let experiments = [Experiment::Ladder, Experiment::Random];
    experiments.iter().flat_map(|&experiment| specs.map(|spec| site(spec, experiment))).collect()
}

/// The means over the windows.
pub fn simulation(sites: &[Site], windows: u32, seed: u64) -> Result<Values, LabError> {
    let curves = sites.iter().map(|site| site.simulated(seed)).collect::<Result<Vec<Curves>, _>>()?;
    Ok(numbers(means(&values_of_windows(sites, &curves, windows))))
}

pub fn beside_simulation(sites: &[Site], windows: u32, cpus: u32, play: &Play) -> Result<Beside, LabError> {
    let simulated = simulation(sites, windows, play.seed)?;
    let mut curves = Vec::new();
    // A run has servers of one number of processes, and one number of them.
    for alike in sites.chunk_by(|a, b| a.total_ns() == b.total_ns() && a.servers() == b.servers()) {
        let [first, ..] = alike else { continue };
        let [warm_up_ms, total_ms] = [first.warm_up_ns(), first.total_ns()].map(|ns| ns / MS);
        let numbers = [cpus.into(), first.workers() as u64, first.servers() as u64, warm_up_ms, total_ms];
        let cases: String = alike.iter().map(case).collect();
        let said = play.serve(("web", &[]), &numbers, &[("sites".to_owned(), cases)], alike.len())?;
        curves.append(&mut read(alike, &said)?);
    }
    Ok(beside(simulated, means(&values_of_windows(sites, &curves, windows))))
}

fn values_of_windows(sites: &[Site], curves: &[Curves], windows: u32) -> Vec<Values> {
    (0..windows).map(|window| values(sites, curves, window.into())).collect()
}

/// The line of `kernel/bench/web`.
fn case(site: &Site) -> String {
    let list = |values: Vec<String>| values.join(",");
    let (kind, values) = match site.nices() {
        Some(nices) => ("nice", list(nices.iter().map(i64::to_string).collect())),
        None => ("weight", list(site.weights().iter().map(u64::to_string).collect())),
    };
    let spec = if site.spec == "linux24" { format!("linux24:tick={SLICE}") } else { site.spec.to_owned() };
    format!("{spec} {SLICE} {kind} {values}\n")
}

/// The curves in what it printed.
fn read(sites: &[Site], said: &str) -> Result<Vec<Curves>, LabError> {
    let parts: Vec<&str> = said.split("== serve ").skip(1).collect();
    let curves: Option<Vec<Curves>> = sites.iter().zip(&parts).map(|(site, part)| one(site, part)).collect();
    curves
        .filter(|curves| curves.len() == sites.len() && parts.len() == sites.len())
        .ok_or_else(|| LabError::Run(format!("what kernel/bench/web printed does not read: {said:.2000}")))
}

fn one(site: &Site, said: &str) -> Option<Curves> {
    let numbers = |line: &str| line.split(' ').map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>();
    let lines = |key: &'static str| said.lines().filter_map(move |line| line.strip_prefix(key));
    let used_ns: Vec<Vec<u64>> = lines("cpu ").map(numbers).collect::<Option<_>>()?;
    let processes = site.weights().len();
    let is_whole = used_ns.len() > 1 && used_ns.iter().all(|used| used.len() == processes);
    let is_rising = used_ns.windows(2).all(|pair| pair[0].iter().zip(&pair[1]).all(|(a, b)| a <= b));
    let enough = used_ns.last()?.iter().sum::<u64>() >= site.total_ns();
    // One server has answered at least.
    let searches = lines("searches ").next().and_then(numbers)?;
    let served = searches.len() == site.servers() && searches.iter().any(|&n| n > 0);
    (is_whole && is_rising && enough && served).then(|| Curves::new(used_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_has_weights_and_linux_nice_values() {
        let sites = sites_of_gr3_14(false, 1);
        let line = |spec: &str| case(sites.iter().find(|site| site.spec == spec).expect("a site"));
        assert!(line("gr3").starts_with("gr3 9800us weight 10,10,"), "{}", line("gr3"));
        assert!(line("gr3").ends_with(",1,1\n"));
        assert!(line("linux24").starts_with("linux24:tick=9800us 9800us nice -16,"), "{}", line("linux24"));
        assert!(line("linux").starts_with("linux 9800us nice 0,"), "{}", line("linux"));
    }

    #[test]
    fn what_is_missing_or_damaged_is_an_error() {
        let sites = sites_of_gr3_18(true, 1);
        let total_ns = sites[0].total_ns();
        let cpu = |ns: u64| format!("cpu {}\n", vec![ns.to_string(); 30].join(" "));
        let said = |end_ns: u64, searches: &str| {
            format!("== serve gr3\n{}{}{searches}\n", cpu(0), cpu(end_ns / 30 + 1))
        };
        assert!(read(&sites, &said(total_ns, "searches 9 1 1 1 1 1")).is_ok());
        for said in [
            String::new(),
            said(total_ns - 100, "searches 9 1 1 1 1 1"),
            said(total_ns, ""),
            said(total_ns, "searches 0 0 0 0 0 0"),
            said(total_ns, "searches 9 1 1 1 1"),
            said(total_ns, "searches 9 1 1 1 1 1").replace("cpu 0", "cpu"),
            said(total_ns, "searches 9 1 1 1 1 1").replace("cpu 0 0", "cpu 999999999999 0"),
            said(total_ns, "searches 9 1 1 1 1 1").repeat(2),
        ] {
            assert!(read(&sites, &said).is_err(), "{said}");
        }
    }
}
