//! Offered load, and the workload that offers another.
//!
//! The load is the CPU time that open arrivals need, on average, per unit of time, as a part of all CPUs: the sum
//! over tasks of the mean demand of a program over the mean time between arrivals, over the number of CPUs.
//! It is varied by making all times between arrivals longer or shorter by the same factor, whatever their distribution,
//! so that jobs and their order stay the same. What switches cost is not counted.

use divvy_workload::{Arrivals, Dist, Step, Task, Workload};

/// The workload with this load.
///
/// # Errors
/// A sentence on why it has no load, or cannot have this one.
pub fn with_load(workload: &Workload, load: f64) -> Result<Workload, String> {
    if !(load > 0.0 && load.is_finite()) {
        return Err(format!("a load of {load}: it must be more than 0"));
    }
    let factor = offered(workload)? / load;
    let mut workload = workload.clone();
    for task in &mut workload.tasks {
        if let Arrivals::Open { interarrival, .. } = &mut task.arrivals {
            *interarrival = scaled(interarrival, factor);
        }
    }
    workload.check().map_err(|problem| format!("a load of {load}: {problem}"))?;
    Ok(workload)
}

/// The load that a workload offers.
///
/// # Errors
/// A sentence on why it has none.
pub fn offered(workload: &Workload) -> Result<f64, String> {
    let sum: f64 = workload.tasks.iter().map(rate).sum::<Result<f64, String>>()?;
    Ok(sum / f64::from(workload.cpus))
}

/// The load of open arrivals on so many CPUs, if it is at least 1: jobs then wait ever longer. Tasks of another kind, and those
/// whose load has no mean, are left out.
#[must_use]
pub fn overload(workload: &Workload, cpus: u32) -> Option<f64> {
    let sum: f64 = workload.tasks.iter().filter_map(|task| rate(task).ok()).sum();
    Some(sum / f64::from(cpus)).filter(|load| *load >= 1.0 - 1e-9)
}

/// Says that means depend on the run's length, at an [`overload`].
#[must_use]
pub fn overload_note(load: f64) -> String {
    let load = divvy_results::text::plain(load);
    format!("at a load of {load} the queue grows during the whole run: means depend on its length")
}

/// CPUs that a task's arrivals ask for.
fn rate(task: &Task) -> Result<f64, String> {
    let none = |why: &str| Err(format!("the workload has no `load`: task {} {why}", task.name));
    let Arrivals::Open { interarrival, .. } = &task.arrivals else {
        return none("has no open arrivals; load is what open arrivals ask for");
    };
    let (between_ns, demand_ns) = (interarrival.mean_ns(), demand(&task.program));
    if !(between_ns > 0.0 && between_ns.is_finite()) {
        return none("has times between arrivals without a finite mean, or of 0");
    }
    match demand_ns {
        Some(ns) if ns.is_infinite() => none("has demands without a finite mean"),
        Some(ns) if ns > 0.0 => Ok(ns / between_ns),
        Some(_) => none("uses no CPU time"),
        None => none("runs for ever, or forks"),
    }
}

/// Mean CPU time of a program; `None` if it has no end, or starts others.
fn demand(program: &[Step]) -> Option<f64> {
    program.iter().map(step_demand).sum()
}

fn step_demand(step: &Step) -> Option<f64> {
    match step {
        Step::Run(dist) => Some(dist.mean_ns()),
        Step::RunForever | Step::Fork(_) | Step::Loop { times: None, .. } => None,
        Step::Loop { times: Some(times), body } => Some(*times as f64 * demand(body)?),
        _ => Some(0.0),
    }
}

/// Each sample times `factor`, to the nearest nanosecond.
fn scaled(dist: &Dist, factor: f64) -> Dist {
    let times = |ns: &u64| (*ns as f64 * factor).round() as u64;
    match dist {
        Dist::Constant(ns) => Dist::Constant(times(ns)),
        Dist::Exp(mean) => Dist::Exp(times(mean)),
        Dist::Uniform { lo, hi } => Dist::Uniform { lo: times(lo), hi: times(hi) },
        Dist::Pareto { shape, scale } => Dist::Pareto { shape: *shape, scale: times(scale) },
        Dist::BoundedPareto { shape, lo, hi } => {
            Dist::BoundedPareto { shape: *shape, lo: times(lo), hi: times(hi) }
        }
        Dist::Hyper { upto, means } => {
            Dist::Hyper { upto: upto.clone(), means: means.iter().map(times).collect() }
        }
        Dist::Erlang { k, mean } => Dist::Erlang { k: *k, mean: times(mean) },
        Dist::LogNormal { median, sigma } => Dist::LogNormal { median: times(median), sigma: *sigma },
        Dist::Choice { values, upto } => {
            Dist::Choice { values: values.iter().map(times).collect(), upto: upto.clone() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(tasks: &str) -> Workload {
        Workload::parse(&format!("cpus = 2\nduration = \"1s\"\ntask = [ {tasks} ]"), "x").unwrap()
    }

    const OPEN: &str = "{ name = \"a\", arrivals = { open = { exp = \"10ms\" } }, \
        program = [ { loop = 2, do = [ { run = { uniform = { lo = \"1ms\", hi = \"3ms\" } } }, { sleep = \"5ms\" } ] } ] },";

    #[test]
    fn a_load_by_hand() {
        // Each 10 ms, 2 times 2 ms, on 2 CPUs.
        assert!((offered(&workload(OPEN)).unwrap() - 0.2).abs() < 1e-12);
        let other = "{ name = \"b\", arrivals = { open = \"20ms\" }, program = [ { run = \"4ms\" } ] }";
        let both = workload(&format!("{OPEN}{other}"));
        assert!((offered(&both).unwrap() - 0.3).abs() < 1e-12);
        for load in [0.1, 0.9, 1.5] {
            assert!((offered(&with_load(&both, load).unwrap()).unwrap() - load).abs() < 1e-6);
        }
    }

    #[test]
    fn every_distribution_scales() {
        let dists = [
            Dist::Constant(1_000_000),
            Dist::Exp(1_000_000),
            Dist::Uniform { lo: 1_000_000, hi: 3_000_000 },
            Dist::Pareto { shape: 1.5, scale: 1_000_000 },
            Dist::BoundedPareto { shape: 1.5, lo: 1_000_000, hi: 9_000_000 },
            Dist::hyper2(1_000_000, 4.0).unwrap(),
            Dist::Erlang { k: 3, mean: 1_000_000 },
            Dist::LogNormal { median: 1_000_000, sigma: 0.5 },
            Dist::choice(vec![1_000_000, 5_000_000], &[1.0, 2.0]).unwrap(),
        ];
        for dist in dists {
            let ratio = scaled(&dist, 2.5).mean_ns() / dist.mean_ns();
            assert!((ratio - 2.5).abs() < 1e-5, "{dist:?}: {ratio}");
        }
    }

    #[test]
    fn where_it_means_nothing_it_is_refused() {
        for (tasks, part) in [
            ("{ name = \"a\", program = [ { run = \"1ms\" } ] }", "has no open arrivals"),
            (
                "{ name = \"a\", arrivals = { open = \"1ms\", limit = 5 }, program = [ { run = \"forever\" } ] }",
                "for ever",
            ),
            (
                "{ name = \"a\", arrivals = { open = \"1ms\" }, program = [ { sleep = \"1ms\" } ] }",
                "no CPU time",
            ),
            (
                "{ name = \"a\", arrivals = { open = \"1ms\" }, \
                 program = [ { run = { pareto = { shape = 0.9, scale = \"1ms\" } } } ] }",
                "without a finite mean",
            ),
        ] {
            let message = offered(&workload(tasks)).expect_err(part);
            assert!(message.contains(part), "{message}");
        }
        assert!(with_load(&workload(OPEN), 0.0).is_err());
    }
}
