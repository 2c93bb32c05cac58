//! Jobs as textbooks have them: each comes once, and ends.

use divvy_policy::spec::parse;
use divvy_results::report::Run;
use divvy_sim::run::{Options, simulate};
use divvy_workload::Workload;

/// (arrival, demand), ms
pub type Job = (u64, u64);

/// The run of a workload in TOML.
pub fn simulated(spec: &str, toml: &str) -> Run {
    let workload = Workload::parse(toml, "jobs.toml").unwrap_or_else(|e| panic!("{e}"));
    let spec = parse(spec, divvy_policy::all()).expect("a known spec");
    simulate(&workload, &[spec], &Options::default(), &()).unwrap_or_else(|e| panic!("{e}")).runs.remove(0)
}

/// When each task ended, ms.
pub fn ends_of(run: &Run) -> Vec<f64> {
    run.tasks.iter().map(|task| task.finished_ns.expect("it ended") as f64 / 1e6).collect()
}

/// When each job ended, ms, on one CPU with a quantum of 1 ms; their tasks have these nice values.
pub fn ends_nice(spec: &str, jobs: &[(Job, i32)]) -> Vec<f64> {
    let task = |(i, ((at, ms), nice)): (usize, &(Job, i32))| {
        format!(
            "[[task]]\nname = \"{}\"\nnice = {nice}\nstart = \"{at}ms\"\nprogram = [ {{ run = \"{ms}ms\" }} ]\n",
            i + 1
        )
    };
    let toml =
        "cpus = 1\nquantum = \"1ms\"\n".to_owned() + &jobs.iter().enumerate().map(task).collect::<String>();
    ends_of(&simulated(spec, &toml))
}

/// The same, of one nice value.
pub fn ends(spec: &str, jobs: &[Job]) -> Vec<f64> {
    ends_nice(spec, &jobs.iter().map(|&job| (job, 0)).collect::<Vec<_>>())
}
