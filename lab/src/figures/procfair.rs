//! The process-fair scheduler, figures 3, 5, 6, 8 and 9, and figure 10 of its successor TFPS: programs of several
//! threads on four CPUs. T is what a program needs alone on all of them.

use rayon::prelude::*;

use crate::claim::Value;
use crate::error::LabError;
use crate::measurements::Measurements;
use crate::run::{self, missing};
use crate::setting::Setting;
use divvy_pages::plot::Chart;

const CPUS: u64 = 4;
/// Divides by 4 to 32 threads.
const T_MS: u64 = 3360;

/// A program's threads share `outputs` times the work that four CPUs do in T.
struct Program {
    name: &'static str,
    threads: u64,
    outputs: u64,
}

/// When each program ends, in T.
fn ends(programs: &[Program], spec: &str, setting: &Setting) -> Result<Vec<f64>, LabError> {
    let task = |program: &Program| {
        let each_us = CPUS * T_MS * 1000 * program.outputs / program.threads;
        format!(
            "[[task]]\nname = \"{0}\"\nprocess = \"{0}\"\ncount = {1}\nprogram = [ {{ run = \"{each_us}us\" }} ]\n",
            program.name, program.threads
        )
    };
    let tasks: String = programs.iter().map(task).collect();
    let workload = run::workload("programs", &format!("cpus = {CPUS}\nquantum = \"1ms\"\n{tasks}"))?;
    let record = run::run(&workload, spec, setting.seed, 0)?;
    Ok(programs.iter().map(|program| record.end_of(program.name) * 1000.0 / T_MS as f64).collect())
}

/// Programs for a number of threads of the second, the policy, and what of the ends is claimed.
struct Series<'a> {
    figure: &'a str,
    spec: &'a str,
    x: &'a str,
    threads: &'a [u64],
    programs: fn(u64) -> Vec<Program>,
}

impl Series<'_> {
    fn run(&self, setting: &Setting) -> Result<Measurements, LabError> {
        let names: Vec<&str> = (self.programs)(4).iter().map(|program| program.name).collect();
        let mut found = Measurements::default();
        let label = |n: &u64, name: &str| format!("{n} threads: {name} ends (T)");
        if let Some(policy) = missing(self.spec) {
            for n in self.threads {
                names.iter().for_each(|name| found.is(label(n, name), Value::Missing(policy.clone())));
            }
            return Ok(found);
        }
        let all = self.threads.par_iter().map(|&n| ends(&(self.programs)(n), self.spec, setting));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let title = format!("Process-fair scheduler, Figure {}: {}", &self.figure[9..], self.spec);
        let mut chart = Chart::lines(self.figure, &title, self.x, "time to complete (T)");
        for (i, name) in names.iter().enumerate() {
            chart.add(*name, self.threads.iter().zip(&all).map(|(&n, ends)| (n as f64, ends[i])).collect());
        }
        for (n, ends) in self.threads.iter().zip(&all) {
            names.iter().zip(ends).for_each(|(name, end)| found.is(label(n, name), *end));
        }
        found.plots.push(chart.draw());
        Ok(found)
    }
}

const GREEDY: [u64; 7] = [4, 6, 8, 12, 16, 24, 32];

fn a_and_b(n: u64) -> Vec<Program> {
    vec![Program { name: "A", threads: 4, outputs: 1 }, Program { name: "B", threads: n, outputs: 1 }]
}

fn outputs(n: u64) -> Vec<Program> {
    vec![
        Program { name: "program 1", threads: 4, outputs: 1 },
        Program { name: "program 2", threads: n, outputs: n / 4 },
    ]
}

pub fn figure_3(setting: &Setting) -> Result<Measurements, LabError> {
    let programs = |n| vec![Program { name: "pi", threads: n, outputs: 1 }];
    let x = "threads of the program";
    let threads = &[1, 2, 3, 4, 5, 6, 7, 8];
    Series { figure: "procfair-3", spec: "sfq", x, threads, programs }.run(setting)
}

pub fn figure_5(setting: &Setting) -> Result<Measurements, LabError> {
    let x = "threads of B; A has 4";
    Series { figure: "procfair-5", spec: "sfq", x, threads: &GREEDY, programs: a_and_b }.run(setting)
}

pub fn figure_6(setting: &Setting) -> Result<Measurements, LabError> {
    let x = "threads of program 2; it makes n/4 outputs";
    Series { figure: "procfair-6", spec: "sfq", x, threads: &[8, 16, 32], programs: outputs }.run(setting)
}

pub fn figure_8(setting: &Setting) -> Result<Measurements, LabError> {
    let x = "threads of B; A has 4";
    Series { figure: "procfair-8", spec: "sfq+procfair", x, threads: &GREEDY, programs: a_and_b }.run(setting)
}

pub fn figure_9(setting: &Setting) -> Result<Measurements, LabError> {
    let x = "threads of program 2; it makes n/4 outputs";
    let threads = &[8, 16, 32];
    Series { figure: "procfair-9", spec: "sfq+procfair", x, threads, programs: outputs }.run(setting)
}

const TFPS_10: &str = include_str!("../../workloads/tfps-10.toml");

/// A has one thread, B as many as CPUs, C more.
pub fn tfps_figure_10(setting: &Setting) -> Result<Measurements, LabError> {
    let workload = run::workload("tfps-10.toml", TFPS_10)?;
    let mut found = Measurements::default();
    let names = ["B", "C"].map(|program| format!("{program}'s CPU time for each s of A's"));
    found.under("sfq+tfps", &names, |_| {
        let record = run::run(&workload, "sfq+tfps", setting.seed, 0)?;
        let of = |program: &str| record.service_of_all(program) as f64;
        Ok(vec![of("B") / of("A"), of("C") / of("A")])
    })?;
    Ok(found)
}
