//! PBS, figures 2 and 3: CPU shares of a few tasks over time.

use rayon::prelude::*;

use crate::error::LabError;
use crate::measurements::Measurements;
use crate::run::{self, MS, Record, S, seconds};
use crate::setting::Setting;
use divvy_pages::plot::{Chart, Kind};

pub const FIGURE_2: &str = include_str!("../../workloads/pbs-2.toml");
const FIGURE_3: &str = include_str!("../../workloads/pbs-3.toml");

/// Four tasks arrive at 0, 1, 3, 5 s and need 4.5, 2.5, 3, 2 s.
pub fn figure_2(setting: &Setting) -> Result<Measurements, LabError> {
    let workload = run::workload("pbs-2.toml", FIGURE_2)?;
    let alphas = ["0.01", "0.4", "1", "2", "100"];
    let records = records(&workload, &alphas, setting)?;
    let mut found = Measurements::default();
    for (alpha, record) in alphas.iter().zip(&records) {
        for task in 1..=4 {
            let name = format!("alpha {alpha}: task {task} ends (s)");
            found.is(name, record.end_of_s(&format!("task {task}")));
        }
        found.plots.push(shares("pbs-2", alpha, record, 4, 12 * S).draw());
    }
    Ok(found)
}

/// A task that runs for ever sees four more come at 2.5, 3, 3.5 and 4 s.
pub fn figure_3(setting: &Setting) -> Result<Measurements, LabError> {
    let workload = run::workload("pbs-3.toml", FIGURE_3)?;
    let alphas = ["0.4", "0.5", "1", "2", "10"];
    let records = records(&workload, &alphas, setting)?;
    let mut found = Measurements::default();
    for (alpha, record) in alphas.iter().zip(&records) {
        let (from, to) = interruption(record);
        found.is(format!("alpha {alpha}: task 1 is interrupted (s)"), seconds(from));
        found.is(format!("alpha {alpha}: task 1 is back (s)"), seconds(to));
        found.is(format!("alpha {alpha}: least share of a task at the end"), least_share(record));
        found.plots.push(shares("pbs-3", alpha, record, 5, 16 * S).draw());
    }
    Ok(found)
}

fn records(
    workload: &divvy_workload::Workload,
    alphas: &[&str],
    setting: &Setting,
) -> Result<Vec<Record>, LabError> {
    setting.progress.begin(Some(alphas.len() as u64));
    let one = |alpha: &&str| {
        let record = run::run(workload, &format!("pbs:alpha={alpha}"), setting.seed, 0);
        setting.progress.advance(1);
        record
    };
    alphas.par_iter().map(one).collect()
}

/// The longest time in which task 1 is not served.
fn interruption(record: &Record) -> (u64, u64) {
    let served = record.stretches_ns("task 1");
    let gaps = served.windows(2).map(|pair| (pair[0].1, pair[1].0));
    gaps.max_by_key(|(from, to)| to - from).unwrap_or_default()
}

/// In the last tenth of the run
fn least_share(record: &Record) -> f64 {
    let end = record.run.duration_ns;
    let from = end - end / 10;
    let services = (1..=5).map(|task| record.service_ns(&format!("task {task}"), from, end) as f64);
    services.fold(f64::INFINITY, f64::min) / (end - from) as f64
}

/// Shares of the CPU in stretches of 100 ms, stacked with task 1 at the bottom.
fn shares(figure: &str, alpha: &str, record: &Record, tasks: usize, until_ns: u64) -> Chart {
    let window = 100 * MS;
    let title = format!("PBS, Figure {}: alpha = {alpha}", &figure[4..]);
    let mut chart = Chart::lines(&format!("{figure}-alpha-{alpha}"), &title, "time (s)", "share of the CPU");
    chart.kind = Kind::Stacked;
    for task in 1..=tasks {
        let name = format!("task {task}");
        let services = record.windows_ns(&name, window, (until_ns / window) as usize);
        let point = |(i, service)| (seconds(i * window + window / 2), service as f64 / window as f64);
        let points = (0..).zip(services).map(point).collect();
        chart.add(name, points);
    }
    chart
}
