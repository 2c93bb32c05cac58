//! Every policy with every modifier on the tasks of a file: time per decision, beside sfq's in the same process.

use std::path::Path;
use std::time::Instant;

use divvy_policy::Machine;
use divvy_policy::spec::parse;
use divvy_sim::engine::Engine;
use divvy_sim::sharing::Sharing;
use divvy_workload::Workload;

use crate::setup::first_run;

pub const MODIFIERS: [&str; 6] = ["", "+groups", "+procfair", "+tfps", "+feasible", "+flow"];

/// CPU time of this thread so far, in ns; where the kernel does not tell, time.
fn cpu_ns(began: Instant) -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let first = told.as_deref().and_then(|text| text.split(' ').next());
    first.and_then(|number| number.parse().ok()).unwrap_or_else(|| began.elapsed().as_nanos() as u64)
}

/// Milliseconds and decisions of a run; `None` if there is no such policy, or it does not take the workload.
fn run(workload: &Workload, policy: &str) -> Option<(f64, u64)> {
    let spec = parse(policy, divvy_policy::all()).ok()?;
    let machine = Machine::from_spec(&spec, workload.cpus, workload.quantum_ns).ok()?;
    let setup = first_run(workload, Sharing::of(&spec));
    let began = Instant::now();
    let from = cpu_ns(began);
    let result = Engine::new(workload, machine, setup).run(policy, &|_| true).ok()?;
    Some(((cpu_ns(began) - from) as f64 / 1e6, result.decisions.unwrap_or(0)))
}

fn cell(workload: &Workload, policy: &str, unit_ms: f64) -> String {
    let Some((ms, decisions)) = run(workload, policy) else { return format!("{:>22}", "-") };
    format!("{ms:>9.0} {:>6.0} {:>5.2}", ms * 1e6 / decisions as f64, ms / unit_ms)
}

/// `args`: the file, the simulated time in ms, and specs; all policies and modifiers without.
pub fn table(args: &[String]) -> Result<(), String> {
    let [file, ms, specs @ ..] = args else { return Err("usage: matrix FILE MS [SPEC..]".into()) };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let name = Path::new(file).file_name().map_or(file.as_str().into(), |name| name.to_string_lossy());
    let mut workload = Workload::parse(&text, &name).map_err(|error| error.to_string())?;
    workload.duration_ns = Some(ms.parse::<u64>().map_err(|error| format!("{ms}: {error}"))? * 1_000_000);
    let unit = |_| run(&workload, "sfq").map_or(f64::INFINITY, |(ms, _)| ms);
    let unit_ms = (0..5).map(unit).fold(f64::INFINITY, f64::min);
    println!("each: CPU time in ms, ns per decision, times sfq ({unit_ms:.0} ms)");
    if specs.is_empty() {
        println!("{:<12}{}", "", MODIFIERS.map(|modifier| format!("{modifier:>22}")).concat());
        for policy in divvy_policy::all() {
            let cells = MODIFIERS.map(|m| cell(&workload, &format!("{}{m}", policy.name), unit_ms));
            println!("{:<12}{}", policy.name, cells.concat());
        }
    }
    for spec in specs {
        println!("{spec:<24}{}", cell(&workload, spec, unit_ms));
    }
    Ok(())
}
