//! A workload under a scheduler, to be simulated and to be played.

use divvy_policy::spec;
use divvy_results::report::Run;
use divvy_sim::run::{Options, simulate};
use divvy_workload::{Arrivals, Dist, Step, Workload};

use crate::error::LabError;
use crate::measured::Measured;
use crate::run::MS;

/// The kernel's own scheduler, as a spec.
pub const LINUX: &str = "linux";

/// Names, with their units, and values: those of a run of each case.
pub type Values = Vec<(String, f64)>;

/// The same with the intervals of the means.
pub type Means = Vec<(String, Measured)>;

/// Names, simulated values, and those of the kernel.
pub type Beside = Vec<(String, f64, Measured)>;

/// A quantity, simulated and in the kernel.
#[derive(Debug)]
pub struct Also {
    /// With its unit.
    pub name: String,
    /// In the simulation, where that has it.
    pub simulated: Option<f64>,
    /// In the kernel.
    pub measured: Measured,
}

/// The mean of each value over the repetitions, or the windows.
pub fn means(all: &[Values]) -> Means {
    let mean = |i: usize| Measured::mean(&all.iter().map(|values| values[i].1).collect::<Vec<f64>>());
    let names = all.first().into_iter().flatten().map(|(name, _)| name.clone());
    names.enumerate().map(|(i, name)| (name, mean(i))).collect()
}

/// Without their intervals.
pub fn numbers(means: Means) -> Values {
    means.into_iter().map(|(name, mean)| (name, mean.number())).collect()
}

/// A run that is the same each time needs no intervals.
pub fn exact(values: Values) -> Means {
    values.into_iter().map(|(name, value)| (name, value.into())).collect()
}

/// Both have the same names.
pub fn beside(simulated: Values, measured: Means) -> Beside {
    let both = simulated.into_iter().zip(measured);
    both.map(|((name, simulated), (_, measured))| (name, simulated, measured)).collect()
}

/// One of the runs of a figure.
pub struct Case {
    /// The policy, or [`LINUX`].
    pub spec: &'static str,
    /// A number of threads, or the second in which a window begins: cases of the same spec differ in it.
    pub point: u64,
    pub workload: Workload,
    /// A turn in the simulation, if it is not the workload's.
    pub simulated_quantum_ns: Option<u64>,
    /// The policy is loaded with the parameters of its kind, and has those of the spec from `divvy set`.
    pub is_set_while_loaded: bool,
}

impl Case {
    /// A policy that is loaded with its parameters.
    pub fn new(spec: &'static str, point: u64, workload: Workload) -> Case {
        Case { spec, point, workload, simulated_quantum_ns: None, is_set_while_loaded: false }
    }

    /// The policy to simulate: EEVDF is what Linux has had since 6.6. The simulator has one queue for all CPUs, Linux one for each.
    pub fn simulated(&self) -> &'static str {
        if self.spec == LINUX { "eevdf" } else { self.spec }
    }
}

/// Simulates a case so many times.
pub fn simulated(case: &Case, seed: u64, reps: u32) -> Result<Vec<Run>, LabError> {
    let broken = |what: String| LabError::Run(format!("{} under {}: {what}", case.workload.name, case.spec));
    let spec =
        spec::parse(case.simulated(), divvy_policy::all()).map_err(|error| broken(error.to_string()))?;
    let options = Options { seed, reps, ..Options::default() };
    let quantum_ns = case.simulated_quantum_ns.unwrap_or(case.workload.quantum_ns);
    let workload = Workload { quantum_ns, ..case.workload.clone() };
    let report = simulate(&workload, &[spec], &options, &()).map_err(|error| broken(error.to_string()))?;
    Ok(report.runs)
}

/// A tick of the virtual machine's kernel.
pub const TICK_NS: u64 = MS;

/// A turn that ends in the simulation, at the first tick at or after its end, where it ends in the kernel: at the nearest tick.
pub const fn to_nearest_tick(quantum_ns: u64) -> u64 {
    quantum_ns - TICK_NS / 2
}

/// From one moment of a run to another; what came before counts no more.
pub fn window(workload: &Workload, from_ns: u64, to_ns: u64) -> Workload {
    Workload { warmup_ns: from_ns, duration_ns: Some(to_ns), ..workload.clone() }
}

/// The same workload, so many times as fast: every time that it has is divided. An error is a time that cannot be.
pub fn faster(workload: &Workload, times: u64) -> Result<Workload, LabError> {
    let own = |what: &str| LabError::Own {
        file: format!("workloads/{}", workload.name),
        what: format!("{what} cannot be made faster"),
    };
    if workload.tick_ns.is_some() || workload.switch_cost_ns + workload.migration_cost_ns > 0 {
        return Err(own("a machine with ticks and costs"));
    }
    if workload.topology.is_some() || workload.groups.iter().any(|group| group.cpu_max.is_some()) {
        return Err(own("a topology, or a limit of CPU time,"));
    }
    let mut fast = workload.clone();
    fast.quantum_ns /= times;
    fast.warmup_ns /= times;
    fast.duration_ns = fast.duration_ns.map(|ns| ns / times);
    for task in &mut fast.tasks {
        task.start_ns /= times;
        task.stop_ns = task.stop_ns.map(|ns| ns / times);
        match &mut task.arrivals {
            Arrivals::Once | Arrivals::Forked { .. } => {}
            Arrivals::Closed { think: Dist::Constant(ns) | Dist::Exp(ns) } => *ns /= times,
            _ => return Err(own("arrivals")),
        }
        faster_steps(&mut task.program, times).map_err(|step| own(&step))?;
    }
    Ok(fast)
}

/// The error is a step whose times are not constant.
fn faster_steps(steps: &mut [Step], times: u64) -> Result<(), String> {
    for step in steps {
        match step {
            Step::Run(Dist::Constant(ns)) | Step::Sleep(Dist::Constant(ns)) | Step::Until(ns) => *ns /= times,
            Step::Loop { body, .. } => faster_steps(body, times)?,
            Step::RunForever | Step::Fork(_) | Step::Wake(_) | Step::Wait => {}
            other => return Err(format!("{other:?}")),
        }
    }
    Ok(())
}

/// CPU time of the tasks whose names begin so, in s.
pub fn service_s(run: &Run, prefix: &str) -> f64 {
    let own = run.tasks.iter().filter(|task| task.name.starts_with(prefix));
    own.map(|task| task.service_ns).sum::<u64>() as f64 / 1e9
}

/// The part of the CPU time of several sets of tasks that one of them has, in %. What others took does not count.
pub fn share_percent(run: &Run, of: &str, among: &[&str]) -> f64 {
    let all: f64 = among.iter().map(|prefix| service_s(run, prefix)).sum();
    100.0 * service_s(run, of) / all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_of_a_workload_is_divided() {
        let text = |quantum: u32, duration: u32, start: u32, run: u32| {
            format!(
                "quantum = \"{quantum}ms\"\nduration = \"{duration}ms\"\nwarmup = \"{start}ms\"\ntask = [\n\
                 {{ name = \"a\", start = \"{start}ms\", stop = \"{duration}ms\", program = [ {{ loop = 3, do = [ \
                 {{ run = \"{run}ms\" }}, {{ sleep = \"{run}ms\" }} ] }}, {{ until = \"{duration}ms\" }} ] }},\n]\n"
            )
        };
        let parse = |text: String| Workload::parse(&text, "w").expect("a workload");
        let fast = faster(&parse(text(200, 4000, 1000, 300)), 10).expect("constant times");
        assert_eq!(fast, parse(text(20, 400, 100, 30)));
        let random =
            parse("task = [ { name = \"a\", program = [ { run = { exp = \"5ms\" } } ] } ]".to_owned());
        assert!(faster(&random, 10).is_err());
        let thinks = |think: u32, run: u32| {
            parse(format!(
                "quantum = \"{run}ms\"\n[[task]]\nname = \"a\"\narrivals = {{ closed = {{ exp = \"{think}ms\" }} }}\nprogram = [ {{ run = \"{run}ms\" }} ]"
            ))
        };
        assert_eq!(faster(&thinks(500, 30), 10).expect("a mean"), thinks(50, 3));
        let costs =
            "cpus = 2\nswitch_cost = \"1us\"\n[[task]]\nname = \"a\"\nprogram = [ { run = \"1ms\" } ]";
        assert!(faster(&parse(costs.to_owned()), 10).is_err(), "a cost would be ten times as much");
    }
}
