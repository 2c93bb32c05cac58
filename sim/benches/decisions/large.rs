//! A large machine: 100,000 tasks on 1,024 CPUs, hogs and tasks that think, of a few weights. Each policy runs in a process of
//! its own, so that its memory can be told: beside a process with few tasks, the difference is what tasks need.

use std::process::Command;
use std::time::Instant;

use divvy_policy::spec::parse;
use divvy_policy::{Machine, Weight};
use divvy_sim::engine::Engine;
use divvy_sim::sharing::Sharing;
use divvy_workload::{Arrivals, Dist, Step, Task, WeightSetting, Workload};

use crate::setup::first_run;

const MS: u64 = 1_000_000;
const TASKS: u32 = 100_000;
const FEW: u32 = 2_000;
const CPUS: u32 = 1024;
const ROUNDS: usize = 3;
const POLICIES: [&str; 7] = ["rr", "sfq", "gr3", "cfs", "eevdf", "sfs", "pbs"];
/// Classes of hogs, and as many of tasks that think, which want a fifth of the CPUs.
const CLASSES: u32 = 4;
const BURST_NS: u64 = 5 * MS;
const THINK_NS: u64 = 1_200 * MS;

fn workload(tasks: u32) -> Workload {
    let class = |class: u32| {
        let hogs = class < CLASSES;
        Task {
            name: format!("{}{class}", if hogs { "hog" } else { "web" }),
            weight: WeightSetting::Units(u64::from(class % CLASSES * 2 + 1) * Weight::ONE),
            process: None,
            group: None,
            count: tasks / (2 * CLASSES),
            start_ns: 0,
            stop_ns: None,
            executable: None,
            affinity: None,
            arrivals: if hogs { Arrivals::Once } else { Arrivals::Closed { think: Dist::Exp(THINK_NS) } },
            program: if hogs { vec![Step::RunForever] } else { vec![Step::Run(Dist::Exp(BURST_NS))] },
        }
    };
    Workload {
        name: "large".to_owned(),
        cpus: CPUS,
        quantum_ns: MS,
        duration_ns: Some(4_000 * MS),
        warmup_ns: 0,
        semaphores: Vec::new(),
        tick_ns: None,
        switch_cost_ns: 0,
        migration_cost_ns: 0,
        topology: None,
        groups: Vec::new(),
        tasks: (0..2 * CLASSES).map(class).collect(),
        locks: Vec::new(),
        barriers: Vec::new(),
    }
}

/// `args`: a policy and a number of tasks. Prints decisions, ns, and the most memory that the process had, in KiB.
pub fn once(args: &[String]) -> Result<(), String> {
    let [policy, tasks] = args else { return Err("usage: large POLICY TASKS".into()) };
    let workload = workload(tasks.parse().map_err(|error| format!("{tasks}: {error}"))?);
    let spec = parse(policy, divvy_policy::all()).map_err(|error| error.to_string())?;
    let machine = Machine::from_spec(&spec, CPUS, MS).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let engine = Engine::new(&workload, machine, first_run(&workload, Sharing::of(&spec)));
    let run = engine.run(policy, &|_| true).map_err(|error| error.to_string())?;
    println!("{} {} {}", run.decisions.unwrap_or(0), start.elapsed().as_nanos(), peak_kib());
    Ok(())
}

pub fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

fn measured(policy: &str, tasks: u32) -> Option<[f64; 3]> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args(["large", policy, &tasks.to_string()]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

pub fn table() {
    println!("\n{TASKS} tasks on {CPUS} CPUs, the report included; memory of the process, and of each task");
    println!("{:<8} {:>11} {:>8} {:>9} {:>12}", "policy", "decisions/s", "ns each", "MiB", "bytes a task");
    for policy in POLICIES {
        let Some([_, _, few_kib]) = measured(policy, FEW) else { continue };
        let runs = (0..ROUNDS).filter_map(|_| measured(policy, TASKS));
        let Some([decisions, ns, kib]) = runs.min_by(|a, b| a[1].total_cmp(&b[1])) else { continue };
        println!(
            "{policy:<8} {:>9.2} M {:>8.0} {:>9.0} {:>12.0}",
            decisions * 1e3 / ns,
            ns / decisions,
            kib / 1024.0,
            (kib - few_kib) * 1024.0 / f64::from(TASKS - FEW)
        );
    }
}
