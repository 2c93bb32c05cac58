//! Surplus fair scheduling, figure 6: web servers, a video decoder and an interactive program beside background work.
//! Programs are as the text of section 4.4 has them; times that it does not give are stated here.

use divvy_workload::Workload;
use rayon::prelude::*;

use crate::error::LabError;
use crate::measurements::Measurements;
use crate::run::{self, Record, S, missing};
use crate::setting::Setting;
use divvy_pages::plot::Chart;

/// The paper's quantum.
const QUANTUM_MS: u32 = 200;

/// On the paper's machine.
fn workload(name: &str, tasks: &str, quantum_ms: u32) -> Result<Workload, LabError> {
    run::workload(name, &format!("cpus = 2\nquantum = \"{quantum_ms}ms\"\nduration = \"300s\"\n{tasks}"))
}

fn per_second(record: &Record, task: &str) -> f64 {
    record.service(task, 0, record.run.duration_ns) as f64 / record.run.duration_ns as f64
}

const WEIGHTS: [u64; 4] = [1, 2, 4, 7];

/// Two servers that always have requests, each of 5 ms on the average, and 20 background processes of weight 1.
pub fn figure_6a(setting: &Setting) -> Result<Measurements, LabError> {
    let mut found = Measurements::default();
    let mut chart = Chart::lines("sfs-6a", "SFS, Figure 6(a)", "weight of server 2", "CPUs received");
    for spec in ["sfs", "linux24"] {
        if let Some(policy) = missing(spec) {
            return Err(LabError::Run(format!("no policy {policy}")));
        }
        let of = |weight: &u64| -> Result<[f64; 2], LabError> {
            let server = |i: u32, weight: u64| {
                format!(
                    "[[task]]\nname = \"server {i}\"\nweight = {weight}\n\
                     program = [ {{ loop = \"forever\", do = [ {{ run = {{ exp = \"5ms\" }} }} ] }} ]\n"
                )
            };
            let background = "[[task]]\nname = \"dhrystone\"\ncount = 20\nweight = 1\nprogram = [ { run = \"forever\" } ]\n";
            let tasks = server(1, 1) + &server(2, *weight) + background;
            let record = run::run(&workload("sfs-6a", &tasks, QUANTUM_MS)?, spec, setting.seed, 0)?;
            Ok(["server 1", "server 2"].map(|server| per_second(&record, server)))
        };
        let received = WEIGHTS.par_iter().map(of).collect::<Result<Vec<_>, _>>()?;
        for (weight, [first, second]) in WEIGHTS.iter().zip(&received) {
            found
                .is(format!("{spec}, weights 1:{weight}: server 2 for each s of server 1's"), second / first);
        }
        for i in 0..2 {
            let points = WEIGHTS.iter().zip(&received).map(|(&weight, both)| (weight as f64, both[i]));
            chart.add(format!("{spec}: server {}", i + 1), points.collect());
        }
    }
    found.plots.push(chart.draw());
    Ok(found)
}

const JOBS: [u32; 6] = [0, 2, 4, 6, 8, 10];
/// CPU time of a frame: 50 a second alone.
const FRAME_S: f64 = 0.02;

/// A decoder of large weight that shows frames as fast as it can, of 20 ms each, and compilers that work for 100 ms and
/// wait for the disk for 5 ms, on the average.
pub fn figure_6b(setting: &Setting) -> Result<Measurements, LabError> {
    let mut found = Measurements::default();
    let mut chart =
        Chart::lines("sfs-6b", "SFS, Figure 6(b)", "compilations at the same time", "frame rate (1/s)");
    for spec in ["sfs", "linux24"] {
        let rate = |jobs: &u32| -> Result<f64, LabError> {
            let gcc = format!(
                "[[task]]\nname = \"gcc\"\ncount = {jobs}\nweight = 1\nprogram = [ {{ loop = \"forever\", do = [ \
                 {{ run = {{ exp = \"100ms\" }} }}, {{ sleep = {{ exp = \"5ms\" }} }} ] }} ]\n"
            );
            let decoder = "[[task]]\nname = \"decoder\"\nweight = 100\nprogram = [ { run = \"forever\" } ]\n";
            let tasks = decoder.to_owned() + if *jobs > 0 { &gcc } else { "" };
            let record = run::run(&workload("sfs-6b", &tasks, QUANTUM_MS)?, spec, setting.seed, 0)?;
            Ok(per_second(&record, "decoder") / FRAME_S)
        };
        let rates = JOBS.par_iter().map(rate).collect::<Result<Vec<_>, _>>()?;
        let last = rates[rates.len() - 1];
        found.is(format!("{spec}: frame rate beside 10 compilations, for each alone"), last / rates[0]);
        let falls = rates.windows(2).filter(|pair| pair[1] < pair[0]).count();
        found.is(format!("{spec}: steps of two compilations at which the frame rate falls"), falls as f64);
        chart.add(spec, JOBS.iter().zip(&rates).map(|(&jobs, &rate)| (f64::from(jobs), rate)).collect());
    }
    found.plots.push(chart.draw());
    Ok(found)
}

/// A program that sleeps for 100 ms and works for 5 ms, on the average, beside simulations that never sleep.
pub fn figure_6c(setting: &Setting) -> Result<Measurements, LabError> {
    let mut found = Measurements::default();
    let mut chart = Chart::lines(
        "sfs-6c",
        "SFS, Figure 6(c)",
        "simulations at the same time",
        "mean response of Interact (ms)",
    );
    let mut last = Vec::new();
    for (spec, quantum_ms) in [("sfs", QUANTUM_MS), ("sfs", 10), ("linux24", QUANTUM_MS)] {
        let name = if quantum_ms == QUANTUM_MS {
            spec.to_owned()
        } else {
            format!("{spec}, quanta of {quantum_ms} ms")
        };
        let response = |jobs: &u32| -> Result<f64, LabError> {
            let disksim = format!(
                "[[task]]\nname = \"disksim\"\ncount = {jobs}\nweight = 1\nprogram = [ {{ run = \"forever\" }} ]\n"
            );
            let interact = "[[task]]\nname = \"Interact\"\nweight = 1\nprogram = [ { loop = \"forever\", do = [ \
                            { sleep = { exp = \"100ms\" } }, { run = { exp = \"5ms\" } } ] } ]\n";
            let tasks = interact.to_owned() + if *jobs > 0 { &disksim } else { "" };
            let record = run::run(&workload("sfs-6c", &tasks, quantum_ms)?, spec, setting.seed, 0)?;
            let row = record.row("Interact").map(|row| &record.run.tasks[row].response_ns);
            Ok(row.and_then(|response| response.mean).unwrap_or(f64::NAN) / (S as f64 / 1000.0))
        };
        let responses = JOBS.par_iter().map(response).collect::<Result<Vec<_>, _>>()?;
        for (jobs, response) in JOBS.iter().zip(&responses) {
            found.is(format!("{name}, {jobs} simulations: mean response of Interact (ms)"), *response);
        }
        last.push(responses[responses.len() - 1]);
        chart.add(name, JOBS.iter().zip(&responses).map(|(&jobs, &ms)| (f64::from(jobs), ms)).collect());
    }
    found.is("10 simulations: response under sfs for each ms under linux24", last[0] / last[2]);
    found.is(
        "10 simulations: response under sfs with quanta of 10 ms for each ms under linux24",
        last[1] / last[2],
    );
    found.plots.push(chart.draw());
    Ok(found)
}
