//! Surplus fair scheduling: example 1 and figure 1, figures 4 and 5.

use rayon::prelude::*;

use crate::error::LabError;
use crate::measurements::Measurements;
use crate::run::{self, MS, Record, S, seconds};
use crate::setting::Setting;
use divvy_pages::plot::Chart;

pub const FIGURE_1: &str = include_str!("../../workloads/sfs-1.toml");
pub const FIGURE_4: &str = include_str!("../../workloads/sfs-4.toml");
pub const FIGURE_5: &str = include_str!("../../workloads/sfs-5.toml");

/// The longest time that a task waits from one moment to another, in ns.
fn longest_wait(record: &Record, task: &str, from_ns: u64, to_ns: u64) -> u64 {
    let (mut since, mut longest) = (from_ns, 0);
    for (from, to) in record.stretches_ns(task) {
        longest = longest.max(from.min(to_ns).saturating_sub(since));
        since = since.max(to);
    }
    longest.max(to_ns.saturating_sub(since))
}

/// Section 1.2: T3 comes after 1000 quanta of 1 ms, to T1 of weight 1 and T2 of weight 10.
pub fn figure_1(setting: &Setting) -> Result<Measurements, LabError> {
    let workload = run::workload("sfs-1.toml", FIGURE_1)?;
    let mut found = Measurements::default();
    for spec in ["sfq", "sfq+feasible", "sfs"] {
        let name = format!("{spec}: longest wait of T1 (quanta)");
        found.under(spec, &[name], |found| {
            let record = run::run(&workload, spec, setting.seed, 0)?;
            let mut chart = curves(&record, &["T1", "T2", "T3"], 20 * MS);
            (chart.name, chart.title) =
                (format!("sfs-1-{}", spec.replace('+', "-")), format!("SFS, Example 1, under {spec}"));
            found.plots.push(chart.draw());
            Ok(vec![(longest_wait(&record, "T1", S, 3 * S) / MS) as f64])
        })?;
    }
    Ok(found)
}

fn curves(record: &Record, tasks: &[&str], step_ns: u64) -> Chart {
    let mut chart = Chart::lines("", "", "time (s)", "service received (s)");
    for task in tasks {
        chart.add(*task, record.curve(task, step_ns));
    }
    chart
}

/// Section 4.2: T1 (weight 1) and T2 (10), from 15 s to 30 s T3 (1) beside them, then without T2.
pub fn figure_4(setting: &Setting) -> Result<Measurements, LabError> {
    let workload = run::workload("sfs-4.toml", FIGURE_4)?;
    let mut found = Measurements::default();
    for spec in ["sfq", "sfq+feasible", "sfs"] {
        let names: Vec<String> = match spec {
            "sfq" => vec!["sfq: longest wait of T1 from 15 s to 30 s (s)".to_owned()],
            _ => [
                "T2 for each s of T1, 0 s to 15 s",
                "T2 for each s of T1, 15 s to 30 s",
                "T3 for each s of T1, 15 s to 30 s",
                "T3 for each s of T1, 30 s to 45 s",
            ]
            .map(|name| format!("{spec}: {name}"))
            .to_vec(),
        };
        found.under(spec, &names, |found| {
            let record = run::run(&workload, spec, setting.seed, 0)?;
            let mut chart = curves(&record, &["T1", "T2", "T3"], S / 2);
            (chart.name, chart.title) =
                (format!("sfs-4-{}", spec.replace('+', "-")), format!("SFS, Figure 4, under {spec}"));
            found.plots.push(chart.draw());
            let got = |task: &str, from: u64| record.service_ns(task, from * S, (from + 15) * S) as f64;
            let for_t1 = |task: &str, from: u64| got(task, from) / got("T1", from);
            Ok(match spec {
                "sfq" => vec![seconds(longest_wait(&record, "T1", 15 * S, 30 * S))],
                _ => vec![for_t1("T2", 0), for_t1("T2", 15), for_t1("T3", 15), for_t1("T3", 30)],
            })
        })?;
    }
    Ok(found)
}

/// The paper's quantum comes first.
const QUANTA_MS: [u64; 7] = [200, 100, 50, 20, 10, 5, 2];

/// Section 4.3: T1 of weight 20, T2 to T21 of weight 1, and threads of weight 5 that live for 300 ms, one after another. These
/// are forked, and in the paper a new thread owes nothing.
pub fn figure_5(setting: &Setting) -> Result<Measurements, LabError> {
    let (duration_s, quanta) = if setting.small { (60, 5) } else { (300, QUANTA_MS.len()) };
    let workload = run::workload("sfs-5.toml", FIGURE_5)?;
    setting.progress.begin(Some(2 * quanta as u64));
    let mut found = Measurements::default();
    let mut shape = Chart::lines(
        "sfs-5-quantum",
        "SFS, Figure 5: T1's service for each s of the short threads'",
        "quantum (ms)",
        "T1 / short (4 would be fair)",
    );
    shape.log_x = true;
    for spec in ["sfq", "sfs"] {
        let name = |ms: &u64, who: &str| format!("{spec}, {ms} ms: {who} for each s of the short threads");
        let names: Vec<String> =
            QUANTA_MS[..quanta].iter().flat_map(|ms| [name(ms, "T1"), name(ms, "T2 to T21")]).collect();
        found.under(spec, &names, |found| {
            let run_at = |ms: &u64| -> Result<Record, LabError> {
                let mut workload = workload.clone();
                workload.quantum_ns = ms * MS;
                workload.duration_ns = Some(duration_s * S);
                let record = run::run(&workload, &format!("{spec}:debit=off"), setting.seed, 0);
                setting.progress.advance(1);
                record
            };
            let records = QUANTA_MS[..quanta].par_iter().map(run_at).collect::<Result<Vec<_>, _>>()?;
            let ratios = records.iter().flat_map(|record| {
                let short = record.service_of_all_ns("short") as f64;
                ["T1", "T2-21"].map(|who| record.service_of_all_ns(who) as f64 / short)
            });
            let ratios: Vec<f64> = ratios.collect();
            let points = QUANTA_MS.iter().zip(ratios.iter().step_by(2));
            let mut points: Vec<(f64, f64)> = points.map(|(&ms, &ratio)| (ms as f64, ratio)).collect();
            points.reverse();
            shape.add(spec, points);
            found.plots.push(figure_5_plot(&records[0], spec).draw());
            Ok(ratios)
        })?;
    }
    found.plots.push(shape.draw());
    Ok(found)
}

/// As the paper draws it: the first 60 s of the three groups.
fn figure_5_plot(record: &Record, spec: &str) -> Chart {
    let mut chart = Chart::lines(
        &format!("sfs-5-{spec}"),
        &format!("SFS, Figure 5, under {spec} with quanta of 200 ms"),
        "time (s)",
        "service received (s)",
    );
    for (name, prefix) in [("T1", "T1"), ("T2 to T21", "T2-21"), ("short threads", "short")] {
        let rows: Vec<bool> = record.run.tasks.iter().map(|task| task.name.starts_with(prefix)).collect();
        let mut points = vec![(0.0, 0.0)];
        let mut sum = 0.0;
        for slice in record.slices.iter().filter(|slice| rows[slice.row] && slice.to_ns <= 60 * S) {
            sum += seconds(slice.to_ns - slice.from_ns);
            points.push((seconds(slice.to_ns), sum));
        }
        chart.add(name, points);
    }
    chart
}
