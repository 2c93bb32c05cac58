//! The process-fair scheduler, figures 3, 5, 6, 8 and 9, and figure 10 of its successor TFPS: programs of several
//! threads on four CPUs. T is what a program needs alone on all of them.

use rayon::prelude::*;

use crate::error::LabError;
use crate::measured::Value;
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

/// When each program ends, in T; each change of task costs so much CPU time.
fn ends(programs: &[Program], spec: &str, switch_us: u64, setting: &Setting) -> Result<Vec<f64>, LabError> {
    let task = |program: &Program| {
        let each_us = CPUS * T_MS * 1000 * program.outputs / program.threads;
        format!(
            "[[task]]\nname = \"{0}\"\nprocess = \"{0}\"\ncount = {1}\nprogram = [ {{ run = \"{each_us}us\" }} ]\n",
            program.name, program.threads
        )
    };
    let tasks: String = programs.iter().map(task).collect();
    let machine = format!("cpus = {CPUS}\nquantum = \"1ms\"\nswitch_cost = \"{switch_us}us\"\n");
    let workload = run::workload("programs", &(machine + &tasks))?;
    let record = run::run(&workload, spec, setting.seed, 0)?;
    Ok(programs.iter().map(|program| record.end_of_s(program.name) * 1000.0 / T_MS as f64).collect())
}

/// Fair selections: with whole quanta; as the paper's Linux 2.6.24 with one queue; and with a queue a CPU, as it has.
const SPECS: [&str; 3] = ["sfq", "cfs", "cfs:percpu=on"];

/// Programs for a number of threads of the second, and what of the ends is claimed.
struct Series<'a> {
    figure: &'a str,
    /// A modifier of the selections, with its sign.
    modifier: &'a str,
    x: &'a str,
    threads: &'a [u64],
    programs: fn(u64) -> Vec<Program>,
    switch_us: u64,
}

/// The ends of all programs, for each number of threads.
type Ends = Vec<Vec<f64>>;

impl Series<'_> {
    /// Under each selection; the ends under those that are there.
    fn run(&self, setting: &Setting) -> Result<(Measurements, Vec<(String, Ends)>), LabError> {
        let mut found = Measurements::default();
        let mut all = Vec::new();
        for selection in SPECS {
            let spec = format!("{selection}{}", self.modifier);
            if let Some(ends) = self.under(&mut found, &spec, setting)? {
                all.push((spec, ends));
            }
        }
        Ok((found, all))
    }

    fn under(
        &self,
        found: &mut Measurements,
        spec: &str,
        setting: &Setting,
    ) -> Result<Option<Ends>, LabError> {
        let names: Vec<&str> = (self.programs)(4).iter().map(|program| program.name).collect();
        let label = |n: &u64, name: &str| format!("{spec}, {n} threads: {name} ends (T)");
        if let Some(policy) = missing(spec) {
            for n in self.threads {
                names.iter().for_each(|name| found.is(label(n, name), Value::Missing(policy.clone())));
            }
            return Ok(None);
        }
        let all = self.threads.par_iter().map(|&n| ends(&(self.programs)(n), spec, self.switch_us, setting));
        let all = all.collect::<Result<Ends, _>>()?;
        let title = format!("Process-fair scheduler, Figure {}: {spec}", &self.figure[9..]);
        let name = format!("{}-{}", self.figure, spec.replace([':', '=', '+'], "-"));
        let mut chart = Chart::lines(&name, &title, self.x, "time to complete (T)");
        for (i, name) in names.iter().enumerate() {
            chart.add(*name, self.threads.iter().zip(&all).map(|(&n, ends)| (n as f64, ends[i])).collect());
        }
        for (n, ends) in self.threads.iter().zip(&all) {
            names.iter().zip(ends).for_each(|(name, end)| found.is(label(n, name), *end));
        }
        found.plots.push(chart.draw());
        Ok(Some(all))
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

/// The paper explains what more threads cost by context switches, and does not say what one costs: any time will do.
const SWITCH_US: u64 = 2;

pub fn figure_3(setting: &Setting) -> Result<Measurements, LabError> {
    let programs = |n| vec![Program { name: "pi", threads: n, outputs: 1 }];
    let threads = &[1, 2, 3, 4, 5, 6, 7, 8];
    let x = "threads of the program";
    let series = Series { figure: "procfair-3", modifier: "", x, threads, programs, switch_us: SWITCH_US };
    let (mut found, all) = series.run(setting)?;
    for (spec, ends) in all {
        found.is(format!("{spec}: number of threads that end first"), best(threads, &ends));
    }
    Ok(found)
}

/// The number of threads with which the program ends first; of several, the most, so that a tie is no success.
fn best(threads: &[u64], ends: &Ends) -> f64 {
    let first = ends.iter().map(|ends| ends[0]).fold(f64::INFINITY, f64::min);
    let best = threads.iter().zip(ends).rev().find(|(_, ends)| ends[0] <= first);
    best.map_or(f64::NAN, |(&n, _)| n as f64)
}

fn two_programs(
    figure: &str,
    modifier: &str,
    x: &str,
    threads: &[u64],
    programs: fn(u64) -> Vec<Program>,
    setting: &Setting,
) -> Result<Measurements, LabError> {
    Ok(Series { figure, modifier, x, threads, programs, switch_us: 0 }.run(setting)?.0)
}

pub fn figure_5(setting: &Setting) -> Result<Measurements, LabError> {
    two_programs("procfair-5", "", "threads of B; A has 4", &GREEDY, a_and_b, setting)
}

pub fn figure_6(setting: &Setting) -> Result<Measurements, LabError> {
    let x = "threads of program 2; it makes n/4 outputs";
    two_programs("procfair-6", "", x, &[8, 16, 32], outputs, setting)
}

pub fn figure_8(setting: &Setting) -> Result<Measurements, LabError> {
    two_programs("procfair-8", "+procfair", "threads of B; A has 4", &GREEDY, a_and_b, setting)
}

pub fn figure_9(setting: &Setting) -> Result<Measurements, LabError> {
    let x = "threads of program 2; it makes n/4 outputs";
    two_programs("procfair-9", "+procfair", x, &[8, 16, 32], outputs, setting)
}

pub const TFPS_10: &str = include_str!("../../workloads/tfps-10.toml");

/// A has one thread, B as many as CPUs, C more.
pub fn tfps_figure_10(setting: &Setting) -> Result<Measurements, LabError> {
    let workload = run::workload("tfps-10.toml", TFPS_10)?;
    let mut found = Measurements::default();
    for selection in SPECS {
        let spec = format!("{selection}+tfps");
        let names = ["B", "C"].map(|program| format!("{spec}: {program}'s CPU time for each s of A's"));
        found.under(&spec, &names, |_| {
            let record = run::run(&workload, &spec, setting.seed, 0)?;
            let of = |program: &str| record.service_of_all_ns(program) as f64;
            Ok(vec![of("B") / of("A"), of("C") / of("A")])
        })?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a cost of switches all numbers from 4 on are equal, and nothing is best.
    #[test]
    fn four_is_best_only_if_it_is_faster() {
        let of = |ends: [f64; 3]| best(&[2, 4, 8], &ends.map(|end| vec![end]).to_vec());
        assert_eq!((of([2.0, 1.0, 1.001]), of([2.0, 1.0, 1.0]), of([2.0, 1.1, 1.0])), (4.0, 8.0, 8.0));
    }
}
