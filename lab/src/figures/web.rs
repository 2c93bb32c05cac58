//! GR3, figures 14 to 19 and the two further experiments of section 5.2: web servers whose processes have different weights. The paper's search script
//! is not public. Its processes are "each running consecutive searches", so here they always run.

use rayon::prelude::*;

use crate::error::LabError;
use crate::measurements::Measurements;
use crate::run::missing;
use crate::setting::Setting;
use crate::web::{Curves, Experiment, Site, values};
use divvy_pages::plot::Chart;

/// Processes of each server.
const WORKERS: usize = 100;

/// Figures 14 to 17: `o1` came later, and `linux` is what Linux has now.
const ON_ONE_CPU: &[&str] = &["linux24", "wfq", "vtrr", "gr3", "o1", "linux"];
const ON_TWO_CPUS: &[&str] = &["linux24", "gr3", "o1", "linux"];

pub fn figure_14(setting: &Setting) -> Result<Measurements, LabError> {
    figure(ON_ONE_CPU, &[Experiment::Heavy], 1, &[14, 15, 16, 17], setting)
}

pub fn figure_18(setting: &Setting) -> Result<Measurements, LabError> {
    figure(ON_TWO_CPUS, &[Experiment::Heavy], 2, &[18, 19], setting)
}

pub fn further(setting: &Setting) -> Result<Measurements, LabError> {
    figure(ON_ONE_CPU, &[Experiment::Ladder, Experiment::Random], 1, &[], setting)
}

/// Draws the first policies as the figures of these numbers.
fn figure(
    specs: &[&'static str],
    experiments: &[Experiment],
    cpus: u64,
    numbers: &[u32],
    setting: &Setting,
) -> Result<Measurements, LabError> {
    if let Some(policy) = specs.iter().filter(|spec| **spec != "linux").find_map(|spec| missing(spec)) {
        return Err(LabError::Run(format!("no policy {policy}")));
    }
    let site =
        |experiment| move |&spec: &&'static str| Site::new(spec, experiment, cpus, WORKERS, 1, setting.small);
    let sites: Vec<Site> =
        experiments.iter().flat_map(|&experiment| specs.iter().map(site(experiment))).collect();
    let curves =
        sites.par_iter().map(|site| site.simulated(setting.seed)).collect::<Result<Vec<Curves>, _>>()?;
    let mut found = Measurements::default();
    for (name, value) in values(&sites, &curves, 0) {
        found.is(name, value);
    }
    for ((number, site), curves) in numbers.iter().zip(&sites).zip(&curves) {
        let title = format!("GR3, Figure {number}: {}", site.spec);
        let mut chart =
            Chart::lines(&format!("gr3-{number}"), &title, "time (s)", "CPU time of a process (s)");
        for server in 0..site.servers() {
            let weight = site.weights()[server * WORKERS];
            chart.add(format!("server {}, weight {weight}", server + 1), curves.of_process(server * WORKERS));
        }
        found.plots.push(chart.draw());
    }
    Ok(found)
}
