//! The process-fair scheduler in a kernel: figures 3, 5, 6, 8 and 9, and figure 10 of its successor TFPS: programs of several threads
//! on four CPUs. The paper measures when programs end. That follows from the shares of CPU time that they have while all run,
//! which an emulated machine changes least. So in most figures here the programs run for longer than they are watched. In figures 6 and 9 they end, and
//! the end of one is compared with that of the other in the same run.

use divvy_results::report::Run;
use divvy_workload::Workload;

use crate::error::LabError;
use crate::figures::procfair::TFPS_10;
use crate::kernel::case::{Case, LINUX, Values, service_s, share_percent, window};
use crate::run::{self, MS};

pub const CPUS: u64 = 4;
/// When all threads have started, and the end.
const WATCHED_NS: (u64, u64) = (500 * MS, 3500 * MS);
const QUANTUM_NS: u64 = 4 * MS;

/// Policies that are fair to threads: the last has a queue for each CPU, as the kernel of the paper.
const FAIR_TO_THREADS: [&str; 3] = ["sfq", "cfs", "cfs:percpu=on"];
/// These, and this kernel's own.
const WITH_LINUX: [&str; 4] = ["sfq", "cfs", "cfs:percpu=on", LINUX];

/// The policies that are fair to threads, with a modifier that makes them fair to programs.
const FAIR_TO_PROGRAMS: [&str; 3] = ["sfq+procfair", "cfs+procfair", "cfs:percpu=on+procfair"];

/// Numbers of threads: of the small version, and of the full one.
type Threads = (&'static [u64], &'static [u64]);

/// Programs with numbers of threads.
fn programs(all: &[(&str, u64)]) -> Result<Workload, LabError> {
    let task = |(name, threads): &(&str, u64)| {
        format!(
            "[[task]]\nname = \"{name}\"\nprocess = \"{name}\"\ncount = {threads}\nprogram = [ {{ run = \"forever\" }} ]\n"
        )
    };
    let tasks: String = all.iter().map(task).collect();
    Ok(watched(&run::workload("programs", &format!("cpus = {CPUS}\n{tasks}"))?))
}

pub fn watched(workload: &Workload) -> Workload {
    Workload { quantum_ns: QUANTUM_NS, ..window(workload, WATCHED_NS.0, WATCHED_NS.1) }
}

/// Each policy with each number of threads.
fn cases(
    specs: &[&'static str],
    threads: Threads,
    small: bool,
    workload: impl Fn(u64) -> Result<Workload, LabError>,
) -> Result<Vec<Case>, LabError> {
    let (specs, threads) = if small { (&specs[..1], threads.0) } else { (specs, threads.1) };
    let mut cases = Vec::new();
    for &spec in specs {
        for &point in threads {
            cases.push(Case::new(spec, point, workload(point)?));
        }
    }
    Ok(cases)
}

pub fn cases_3(small: bool) -> Result<Vec<Case>, LabError> {
    let threads: Threads = (&[2, 8], &[1, 2, 3, 4, 8]);
    cases(&WITH_LINUX, threads, small, |n| programs(&[("pi", n)]))
}

pub fn values_3(cases: &[Case], runs: &[Run]) -> Values {
    let watched_s = (WATCHED_NS.1 - WATCHED_NS.0) as f64 / 1e9;
    let value = |(case, run): (&Case, &Run)| {
        (format!("{}, {} threads: CPUs that pi has", case.spec, case.point), service_s(run, "pi") / watched_s)
    };
    cases.iter().zip(runs).map(value).collect()
}

fn a_and_b(n: u64) -> Result<Workload, LabError> {
    programs(&[("A", 4), ("B", n)])
}

const GREEDY: Threads = (&[16], &[4, 8, 16, 32]);

pub fn cases_5(small: bool) -> Result<Vec<Case>, LabError> {
    cases(&WITH_LINUX, GREEDY, small, a_and_b)
}

pub fn cases_8(small: bool) -> Result<Vec<Case>, LabError> {
    cases(&FAIR_TO_PROGRAMS, GREEDY, small, a_and_b)
}

/// The share of B, which runs beside A.
pub fn values_of_b(cases: &[Case], runs: &[Run]) -> Values {
    let value = |(case, run): (&Case, &Run)| {
        (
            format!("{}, {} threads: B's share (%)", case.spec, case.point),
            share_percent(run, "B", &["A", "B"]),
        )
    };
    cases.iter().zip(runs).map(value).collect()
}

/// CPU time of each thread: a quarter of an output, as four threads make one.
const WORK_MS: u64 = 600;

/// Program 1 makes an output with 4 threads, and program 2 n/4 outputs with n.
fn outputs(n: u64) -> Result<Workload, LabError> {
    let program = |name: &str, threads: u64| {
        format!(
            "[[task]]\nname = \"{name}\"\nprocess = \"{name}\"\ncount = {threads}\nprogram = [ {{ run = \"{WORK_MS}ms\" }} ]\n"
        )
    };
    let tasks = program("program 1", 4) + &program("program 2", n);
    let workload = run::workload("outputs", &format!("cpus = {CPUS}\n{tasks}"))?;
    Ok(Workload { quantum_ns: QUANTUM_NS, ..workload })
}

const OUTPUTS: Threads = (&[8], &[8, 16, 32]);

pub fn cases_6(small: bool) -> Result<Vec<Case>, LabError> {
    cases(&FAIR_TO_THREADS, OUTPUTS, small, outputs)
}

pub fn cases_9(small: bool) -> Result<Vec<Case>, LabError> {
    cases(&FAIR_TO_PROGRAMS, OUTPUTS, small, outputs)
}

/// Times until all threads of a program have ended, of program 2 for each second of program 1's.
pub fn values_of_outputs(cases: &[Case], runs: &[Run]) -> Values {
    let value = |(case, run): (&Case, &Run)| {
        let ends = ["program 1", "program 2"].map(|program| {
            let own = run.tasks.iter().filter(|task| task.name.starts_with(program));
            own.map(|task| task.finished_ns).collect::<Option<Vec<u64>>>()
        });
        let name =
            format!("{}, {} threads: program 2 ends, for each s until program 1 does", case.spec, case.point);
        let [first, second] = ends.map(|ends| ends.and_then(|ends| ends.into_iter().max()));
        let ratio = second.zip(first).map_or(f64::NAN, |(second, first)| second as f64 / first as f64);
        (name, ratio)
    };
    cases.iter().zip(runs).map(value).collect()
}

pub fn tfps_cases_10(small: bool) -> Result<Vec<Case>, LabError> {
    let threads: Threads = (&[16], &[16]);
    cases(&["sfq+tfps", "cfs+tfps"], threads, small, |_| {
        Ok(watched(&run::workload("tfps-10.toml", TFPS_10)?))
    })
}

pub fn tfps_values_10(cases: &[Case], runs: &[Run]) -> Values {
    let value = |(case, run): (&Case, &Run)| {
        ["A", "B", "C"].map(|program| {
            let name = format!("{}: {program}'s share (%)", case.spec);
            (name, share_percent(run, program, &["A", "B", "C"]))
        })
    };
    cases.iter().zip(runs).flat_map(value).collect()
}
