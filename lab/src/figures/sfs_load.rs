//! Surplus fair scheduling, figure 6: web servers, a video decoder and an interactive program beside background work.
//! Programs are as the text of section 4.4 has them; times that it does not give are stated here.

use divvy_results::report::Run;
use divvy_workload::Workload;
use rayon::prelude::*;

use crate::error::LabError;
use crate::measured::Measured;
use crate::measurements::Measurements;
use crate::run::{self, Record, S, missing};
use crate::setting::Setting;
use divvy_pages::plot::{Chart, Point};

/// The paper's quantum.
const QUANTUM_MS: u32 = 200;

/// On the paper's machine.
fn workload(name: &str, tasks: &str, quantum_ms: u32) -> Result<Workload, LabError> {
    run::workload(name, &format!("cpus = 2\nquantum = \"{quantum_ms}ms\"\nduration = \"300s\"\n{tasks}"))
}

fn per_second(record: &Record, task: &str) -> f64 {
    record.service_ns(task, 0, record.run.duration_ns) as f64 / record.run.duration_ns as f64
}

/// Repetitions, for the intervals.
const REPS: u32 = 6;
const SMALL_REPS: u32 = 3;

/// Measures each case in all repetitions, on all cores.
fn repeated<C: Sync, T: Send>(
    cases: &[C],
    setting: &Setting,
    measure: impl Fn(&C, u32) -> Result<T, LabError> + Sync,
) -> Result<Vec<Vec<T>>, LabError> {
    let reps = if setting.small { SMALL_REPS } else { REPS };
    let each = |case| (0..reps).map(|rep| measure(case, rep)).collect::<Result<Vec<T>, LabError>>();
    cases.par_iter().map(each).collect()
}

/// The mean of repetitions, with its interval.
fn mean(reps: impl Iterator<Item = f64>) -> Measured {
    Measured::mean(&reps.collect::<Vec<_>>())
}

/// Weights of server 2; that of server 1 is 1.
pub const WEIGHTS: [u64; 4] = [1, 2, 4, 7];

/// Two servers that always have requests, each of 5 ms on the average, and 20 background processes of weight 1.
pub fn servers(weight: u64, quantum_ms: u32) -> Result<Workload, LabError> {
    let server = |i: u32, weight: u64| {
        format!(
            "[[task]]\nname = \"server {i}\"\nweight = {weight}\n\
             program = [ {{ loop = \"forever\", do = [ {{ run = {{ exp = \"5ms\" }} }} ] }} ]\n"
        )
    };
    let background =
        "[[task]]\nname = \"dhrystone\"\ncount = 20\nweight = 1\nprogram = [ { run = \"forever\" } ]\n";
    workload("sfs-6a", &(server(1, 1) + &server(2, weight) + background), quantum_ms)
}

pub fn figure_6a(setting: &Setting) -> Result<Measurements, LabError> {
    let mut found = Measurements::default();
    let mut chart = Chart::lines("sfs-6a", "SFS, Figure 6(a)", "weight of server 2", "CPUs received");
    for spec in ["sfs", "linux24"] {
        if let Some(policy) = missing(spec) {
            return Err(LabError::Run(format!("no policy {policy}")));
        }
        let of = |weight: &u64, rep: u32| -> Result<[f64; 2], LabError> {
            let record = run::run(&servers(*weight, QUANTUM_MS)?, spec, setting.seed, rep)?;
            Ok(["server 1", "server 2"].map(|server| per_second(&record, server)))
        };
        let received = repeated(&WEIGHTS, setting, of)?;
        for (weight, reps) in WEIGHTS.iter().zip(&received) {
            let name = format!("{spec}, weights 1:{weight}: server 2 for each s of server 1's");
            found.is(name, mean(reps.iter().map(|[first, second]| second / first)));
        }
        for i in 0..2 {
            let of_reps = |reps: &Vec<[f64; 2]>| mean(reps.iter().map(|both| both[i]));
            let points = WEIGHTS.iter().zip(&received).map(|(&weight, reps)| of_reps(reps).at(weight as f64));
            chart.add_measured(format!("{spec}: server {}", i + 1), &points.collect::<Vec<Point>>());
        }
    }
    found.plots.push(chart.draw());
    Ok(found)
}

/// Numbers of background jobs
pub const JOBS: [u32; 6] = [0, 2, 4, 6, 8, 10];

/// The repetitions of each number of jobs, as points of a curve.
fn over_jobs(reps: &[Vec<f64>]) -> Vec<Point> {
    JOBS.iter().zip(reps).map(|(&jobs, reps)| mean(reps.iter().copied()).at(f64::from(jobs))).collect()
}

/// CPU time of a frame: 50 a second alone.
const FRAME_S: f64 = 0.02;

/// A decoder of large weight that shows frames as fast as it can, of 20 ms each, and compilers that work for 100 ms and
/// wait for the disk for 5 ms, on the average.
pub fn decoder(jobs: u32, quantum_ms: u32) -> Result<Workload, LabError> {
    let gcc = format!(
        "[[task]]\nname = \"gcc\"\ncount = {jobs}\nprogram = [ {{ loop = \"forever\", do = [ \
         {{ run = {{ exp = \"100ms\" }} }}, {{ sleep = {{ exp = \"5ms\" }} }} ] }} ]\n"
    );
    let decoder = "[[task]]\nname = \"decoder\"\nnice = -20\nprogram = [ { run = \"forever\" } ]\n";
    workload("sfs-6b", &(decoder.to_owned() + if jobs > 0 { &gcc } else { "" }), quantum_ms)
}

pub fn figure_6b(setting: &Setting) -> Result<Measurements, LabError> {
    let mut found = Measurements::default();
    let mut chart =
        Chart::lines("sfs-6b", "SFS, Figure 6(b)", "compilations at the same time", "frame rate (1/s)");
    let mut beside_10 = Vec::new();
    for spec in ["sfs", "linux24"] {
        let rate = |jobs: &u32, rep: u32| -> Result<f64, LabError> {
            let record = run::run(&decoder(*jobs, QUANTUM_MS)?, spec, setting.seed, rep)?;
            Ok(per_second(&record, "decoder") / FRAME_S)
        };
        let rates = repeated(&JOBS, setting, rate)?;
        let (alone, last) = (&rates[0], &rates[rates.len() - 1]);
        let name = format!("{spec}: frame rate beside 10 compilations, for each alone");
        found.is(name, mean(last.iter().zip(alone).map(|(last, alone)| last / alone)));
        let falls = |rep| rates.windows(2).filter(|pair| pair[1][rep] < pair[0][rep]).count() as f64;
        let name = format!("{spec}: steps of two compilations at which the frame rate falls");
        found.is(name, mean((0..last.len()).map(falls)));
        beside_10.push(last.clone());
        chart.add_measured(spec, &over_jobs(&rates));
    }
    let [sfs, linux] = [&beside_10[0], &beside_10[1]];
    found.is(
        "frame rate beside 10 compilations under sfs, for each under linux24",
        mean(sfs.iter().zip(linux).map(|(sfs, linux)| sfs / linux)),
    );
    found.plots.push(chart.draw());
    Ok(found)
}

/// A program that sleeps for 100 ms and works for 5 ms, on the average, beside simulations that never sleep.
pub fn interact(jobs: u32, quantum_ms: u32) -> Result<Workload, LabError> {
    let disksim = format!(
        "[[task]]\nname = \"disksim\"\ncount = {jobs}\nweight = 1\nprogram = [ {{ run = \"forever\" }} ]\n"
    );
    let interact = "[[task]]\nname = \"Interact\"\nweight = 1\nprogram = [ { loop = \"forever\", do = [ \
                    { sleep = { exp = \"100ms\" } }, { run = { exp = \"5ms\" } } ] } ]\n";
    workload("sfs-6c", &(interact.to_owned() + if jobs > 0 { &disksim } else { "" }), quantum_ms)
}

/// Mean of Interact, in ms
pub fn response_ms(run: &Run) -> f64 {
    let row = run.tasks.iter().find(|task| task.name == "Interact");
    row.and_then(|task| task.response_ns.mean).unwrap_or(f64::NAN) / (S as f64 / 1000.0)
}

/// As printed, and with a credit of a quantum at wake-ups.
pub fn figure_6c(setting: &Setting) -> Result<Measurements, LabError> {
    let mut found = Measurements::default();
    let mut chart = Chart::lines(
        "sfs-6c",
        "SFS, Figure 6(c)",
        "simulations at the same time",
        "mean response of Interact (ms), logarithmic",
    );
    // From 5 to 900: on a linear axis all but one curve lie at the bottom.
    chart.log_y = true;
    let mut last = Vec::new();
    let cases = [("sfs", QUANTUM_MS), ("sfs", 10), ("linux24", QUANTUM_MS), ("sfs:credit=200ms", QUANTUM_MS)];
    for (spec, quantum_ms) in cases {
        let name = if quantum_ms == QUANTUM_MS {
            spec.to_owned()
        } else {
            format!("{spec}, quanta of {quantum_ms} ms")
        };
        let response = |jobs: &u32, rep: u32| -> Result<f64, LabError> {
            let record = run::run(&interact(*jobs, quantum_ms)?, spec, setting.seed, rep)?;
            Ok(response_ms(&record.run))
        };
        let responses = repeated(&JOBS, setting, response)?;
        for (jobs, reps) in JOBS.iter().zip(&responses) {
            let name = format!("{name}, {jobs} simulations: mean response of Interact (ms)");
            found.is(name, mean(reps.iter().copied()));
        }
        last.push(responses[responses.len() - 1].clone());
        chart.add_measured(name, &over_jobs(&responses));
    }
    let than_linux = |own: &[f64]| mean(own.iter().zip(&last[2]).map(|(own, linux)| own / linux));
    found.is("10 simulations: response under sfs for each ms under linux24", than_linux(&last[0]));
    found.is(
        "10 simulations: response under sfs with quanta of 10 ms for each ms under linux24",
        than_linux(&last[1]),
    );
    found.is(
        "10 simulations: response under sfs:credit=200ms for each ms under linux24",
        than_linux(&last[3]),
    );
    found.plots.push(chart.draw());
    Ok(found)
}
