//! One run of a case: in the simulator, or in the loop by hand.

use std::time::{Duration, Instant};

use divvy_policy::spec::parse;
use divvy_policy::{Machine, Weight};
use divvy_results::report::Run;
use divvy_sim::engine::Engine;
use divvy_sim::sharing::Sharing;
use divvy_workload::Workload;

use crate::case::{BURST_NS, Case, Kind, QUANTUM_NS, weight};
use crate::lines::{Calls, FairQueue, Groups, RoundRobin};
use crate::minimal::{self, Line, Load};
use crate::setup::first_run;

/// Decisions, and the time that they took.
pub type Measured = (u64, Duration);

/// A run in the simulator.
pub fn simulate(case: &Case, workload: &Workload, policy: &str) -> Measured {
    let spec = parse(policy, divvy_policy::all()).expect("a known policy");
    let machine = Machine::from_spec(&spec, case.cpus, QUANTUM_NS).expect("a machine");
    let engine = Engine::new(workload, machine, first_run(workload, Sharing::of(&spec)));
    let start = Instant::now();
    let run = counted_run(engine, policy);
    (run.decisions.unwrap_or(0), start.elapsed())
}

/// Callgrind counts what is done in it.
#[inline(never)]
fn counted_run(engine: Engine, policy: &str) -> Run {
    engine.run(policy, &|_| true).unwrap_or_else(|error| panic!("{policy}: {error}"))
}

/// The loop by hand of a policy, or with `calls` the same loop over divvy's.
pub fn by_hand(case: &Case, policy: &str, calls: bool) -> Measured {
    let load = Load {
        tasks: case.tasks,
        cpus: case.cpus,
        quantum_ns: QUANTUM_NS,
        burst_ns: BURST_NS,
        think_ns: (case.load == Kind::Think).then(|| case.think_ns()),
        until_ns: case.duration_ns(),
    };
    let weights: Vec<Weight> = (0..case.tasks).map(weight).collect();
    let fixed: Vec<u64> = weights.iter().map(|weight| weight.fixed()).collect();
    match policy {
        _ if calls => {
            let spec = parse(policy, divvy_policy::all()).expect("a known policy");
            let machine = Machine::from_spec(&spec, case.cpus, QUANTUM_NS).expect("a machine");
            timed(load, Calls::new(machine, &weights))
        }
        "sfq" => timed(load, FairQueue::new(&fixed, case.cpus)),
        "gr3" => timed(load, Groups::new(&fixed, case.cpus)),
        _ => timed(load, RoundRobin::default()),
    }
}

fn timed(load: Load, mut line: impl Line) -> Measured {
    let start = Instant::now();
    let result = counted_loop(load, &mut line);
    (std::hint::black_box(result).decisions, start.elapsed())
}

/// Callgrind counts what is done in it.
#[inline(never)]
fn counted_loop(load: Load, line: &mut impl Line) -> minimal::Result {
    minimal::run(load, line)
}

/// The mean time of a decision, in nanoseconds.
pub fn nanoseconds((decisions, time): Measured) -> f64 {
    time.as_secs_f64() * 1e9 / decisions as f64
}
