//! The knowledge-based scheduler, Figures 1 and 6: a program is executed once to be logged, and then as in the figure.

use rayon::prelude::*;

use crate::error::LabError;
use crate::measurements::Measurements;
use crate::run::{self, Record};
use crate::setting::Setting;
use divvy_pages::plot::Chart;

/// When the executions that are measured begin, in seconds
const BEGIN_S: f64 = 60.0;

const FLOW_1: &str = include_str!("../../workloads/flow-1.toml");

/// Switches from one program to another since the figure begins
fn switches(record: &Record) -> usize {
    let from_ns = BEGIN_S as u64 * run::S;
    let mut order: Vec<usize> =
        record.slices.iter().filter(|s| s.from_ns >= from_ns).map(|s| s.row).collect();
    order.dedup();
    order.len() - 1
}

/// A needs 3.4 s and B, which comes while A runs its first second, 2.1 s.
pub fn figure_1(setting: &Setting) -> Result<Measurements, LabError> {
    let workload = run::workload("flow-1.toml", FLOW_1)?;
    let mut found = Measurements::default();
    for spec in ["rr", "rr+flow:Tm=100ms"] {
        let policy = spec.split(':').next().unwrap_or(spec);
        let names = ["A (s)", "B (s)", "switches"].map(|what| format!("{policy}: {what}"));
        found.under(spec, &names, |_| {
            let record = run::run(&workload, spec, setting.seed, 0)?;
            let [a, b] = ["A", "B"].map(|program| record.end_of_s(program) - BEGIN_S);
            Ok(vec![a, b - 1.0, switches(&record) as f64])
        })?;
    }
    Ok(found)
}

/// CPU time of the program between its sleeps of 1 s, in ms; the timeslice is 100 ms.
const WORK_MS: [u32; 4] = [75, 125, 150, 200];
/// Maximum dispatch delays, in ms: at each work's threshold, just below, and between
const DELAYS_MS: [u32; 12] = [0, 10, 20, 24, 25, 30, 40, 49, 50, 75, 99, 100];

/// How long 20 times work and sleep last, beside a program that loops, in s
fn processing_s(work_ms: u32, spec: &str, seed: u64) -> Result<f64, LabError> {
    let program = format!("[ {{ loop = 20, do = [ {{ run = \"{work_ms}ms\" }}, {{ sleep = \"1s\" }} ] }} ]");
    let text = format!(
        "quantum = \"100ms\"\nduration = \"100s\"\ntask = [\n\
         {{ name = \"loop\", program = [ {{ run = \"forever\" }} ] }},\n\
         {{ name = \"log\", executable = \"test\", program = {program} }},\n\
         {{ name = \"test\", start = \"{BEGIN_S}s\", program = {program} }},\n]\n"
    );
    let record = run::run(&run::workload("flow-6", &text)?, spec, seed, 0)?;
    // The last sleep is part of it.
    Ok(record.end_of_s("test") + 1.0 - BEGIN_S)
}

/// As the paper draws it: normalised by the processing time without the modifier.
pub fn figure_6(setting: &Setting) -> Result<Measurements, LabError> {
    let all: Vec<(u32, u32)> = WORK_MS.iter().flat_map(|&w| DELAYS_MS.map(|tm| (w, tm))).collect();
    let mut found = Measurements::default();
    let names: Vec<String> =
        all.iter().map(|(work, tm)| format!("work {work} ms, Tm = {tm} ms (of rr's time)")).collect();
    found.under("rr+flow", &names, |found| {
        let conventional = WORK_MS
            .par_iter()
            .map(|&work| processing_s(work, "rr", setting.seed))
            .collect::<Result<Vec<f64>, _>>()?;
        let measure =
            |&(work, tm): &(u32, u32)| processing_s(work, &format!("rr+flow:Tm={tm}ms"), setting.seed);
        let times = all.par_iter().map(measure).collect::<Result<Vec<f64>, _>>()?;
        let of_work = conventional.iter().flat_map(|time| [time; DELAYS_MS.len()]);
        let times: Vec<f64> =
            times.iter().zip(of_work).map(|(time, conventional)| time / conventional).collect();
        let title = "Knowledge-based scheduler, Figure 6: 20 times work and 1 s of sleep beside a loop";
        let mut chart = Chart::lines(
            "flow-6",
            title,
            "maximum dispatch delay (ms)",
            "processing time (of that under rr)",
        );
        for work in WORK_MS {
            let of = all.iter().zip(&times).filter(|((w, _), _)| *w == work);
            chart.add(format!("work {work} ms"), of.map(|((_, tm), time)| (f64::from(*tm), *time)).collect());
        }
        found.plots.push(chart.draw());
        Ok(times)
    })?;
    // Section 4.1: logging, and a controller that never delays, cost nothing that shows.
    for work in WORK_MS {
        let name = format!("work {work} ms: rr+flow:Tm=0 to rr");
        found.under("rr+flow", &[name], |_| {
            let [with, without] = ["rr+flow:Tm=0", "rr"].map(|spec| processing_s(work, spec, setting.seed));
            Ok(vec![with? / without?])
        })?;
    }
    Ok(found)
}
