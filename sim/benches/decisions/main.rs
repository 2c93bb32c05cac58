//! Decisions per second of the simulator with full statistics, beside a loop written by hand for the same policy that keeps
//! the least that deserves the name of statistics. Both run in turns in one process, so that their ratio means
//! something on a busy machine too.
//!
//!     cargo bench -p divvy-sim                        the table; the best of several rounds counts
//!     cargo bench -p divvy-sim -- once sfq 100x4 hogs   one run without timing, for callgrind or perf
//!     cargo bench -p divvy-sim -- large sfq 100000      one run of the large machine

mod large;
mod lines;
mod matrix;
mod minimal;
mod setup;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use divvy_policy::spec::parse;
use divvy_policy::{Machine, Weight};
use divvy_sim::engine::Engine;
use divvy_sim::sharing::Sharing;
use lines::{Calls, FairQueue, Groups, RoundRobin};
use minimal::{Line, Load};
use setup::first_run;

use divvy_workload::{Arrivals, Dist, Step, Task, WeightSetting, Workload};

const MS: u64 = 1_000_000;
const QUANTUM_NS: u64 = MS;
const BURST_NS: u64 = 5 * MS;
const ROUNDS: usize = 5;
const POLICIES: [&str; 3] = ["rr", "sfq", "gr3"];

/// The tasks of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They always run.
    Hogs,
    /// They think and run by turns, for exponential times, and want a little more than there is.
    Think,
}

/// A machine and what it is given to do.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    tasks: u32,
    cpus: u32,
    load: Kind,
    /// Simulated time: about as many quanta as there are decisions.
    decisions: u64,
}

const CASES: [Case; 4] = [
    Case { tasks: 100, cpus: 4, load: Kind::Hogs, decisions: 4_000_000 },
    Case { tasks: 100, cpus: 4, load: Kind::Think, decisions: 4_000_000 },
    Case { tasks: 10_000, cpus: 64, load: Kind::Hogs, decisions: 4_000_000 },
    Case { tasks: 10_000, cpus: 64, load: Kind::Think, decisions: 4_000_000 },
];

impl Case {
    fn name(&self) -> String {
        format!("{}x{} {}", self.tasks, self.cpus, if self.load == Kind::Hogs { "hogs" } else { "think" })
    }

    fn duration_ns(&self) -> u64 {
        self.decisions / u64::from(self.cpus) * QUANTUM_NS
    }

    /// So that tasks want 1.1 times the CPUs.
    fn think_ns(&self) -> u64 {
        let busy = u64::from(self.tasks) * BURST_NS * 10 / (u64::from(self.cpus) * 11);
        busy - BURST_NS
    }

    fn workload(&self) -> Workload {
        let task = |i: u32| Task {
            name: format!("T{i}"),
            weight: WeightSetting::Units(weight(i)),
            process: None,
            group: None,
            count: 1,
            start_ns: 0,
            stop_ns: None,
            executable: None,
            affinity: None,
            arrivals: match self.load {
                Kind::Hogs => Arrivals::Once,
                Kind::Think => Arrivals::Closed { think: Dist::Exp(self.think_ns()) },
            },
            program: match self.load {
                Kind::Hogs => vec![Step::RunForever],
                Kind::Think => vec![Step::Run(Dist::Exp(BURST_NS))],
            },
        };
        Workload {
            name: self.name(),
            cpus: self.cpus,
            quantum_ns: QUANTUM_NS,
            duration_ns: Some(self.duration_ns()),
            warmup_ns: 0,
            tick_ns: None,
            switch_cost_ns: 0,
            migration_cost_ns: 0,
            groups: Vec::new(),
            tasks: (0..self.tasks).map(task).collect(),
            locks: Vec::new(),
            semaphores: Vec::new(),
            barriers: Vec::new(),
        }
    }
}

/// From 1 to 7, which round-robin does not look at.
fn weight(task: u32) -> Weight {
    u64::from(task % 7 + 1) * Weight::ONE
}

/// Decisions, and the time that they took.
type Measured = (u64, Duration);

fn simulate(case: &Case, workload: &Workload, policy: &str) -> Measured {
    let spec = parse(policy, divvy_policy::all()).expect("a known policy");
    let machine = Machine::from_spec(&spec, case.cpus, QUANTUM_NS).expect("a machine");
    let engine = Engine::new(workload, machine, first_run(workload, Sharing::of(&spec)));
    let start = Instant::now();
    let run = engine.run(policy, &|_| true).unwrap_or_else(|e| panic!("{policy}: {e}"));
    (run.decisions.unwrap_or(0), start.elapsed())
}

/// The loop by hand of a policy, or with `calls` the same loop over divvy's.
fn by_hand(case: &Case, policy: &str, calls: bool) -> Measured {
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
    let result = minimal::run(load, &mut line);
    (std::hint::black_box(result).decisions, start.elapsed())
}

fn nanoseconds((decisions, time): Measured) -> f64 {
    time.as_secs_f64() * 1e9 / decisions as f64
}

/// Beside each policy its own loop by hand, that of round-robin, and the floor: the loop over the policy's calls.
fn table() {
    println!(
        "{:<16} {:<6} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "tasks x CPUs", "policy", "decisions/s", "ns each", "by hand", "ratio", "to rr's", "floor", "ratio"
    );
    for case in CASES {
        let workload = case.workload();
        let mut best = [[f64::INFINITY; 3]; POLICIES.len()];
        for _ in 0..ROUNDS {
            for (best, policy) in best.iter_mut().zip(POLICIES) {
                let measured = [
                    simulate(&case, &workload, policy),
                    by_hand(&case, policy, false),
                    by_hand(&case, policy, true),
                ];
                for (best, measured) in best.iter_mut().zip(measured) {
                    *best = best.min(nanoseconds(measured));
                }
            }
        }
        let round_robin = best[0][1];
        for ([ns, hand, floor], policy) in best.into_iter().zip(POLICIES) {
            println!(
                "{:<16} {policy:<6} {:>9.2} M {ns:>8.1} {hand:>8.1} {:>8.2} {:>8.2} {floor:>8.1} {:>8.2}",
                case.name(),
                1e3 / ns,
                ns / hand,
                ns / round_robin,
                ns / floor
            );
        }
    }
}

fn once(args: &[String]) -> Result<(), String> {
    let [policy, size, load] = args else {
        return Err("usage: once POLICY TASKSxCPUS hogs|think".into());
    };
    let name = format!("{size} {load}");
    let case = CASES.iter().find(|c| c.name() == name);
    let case = case.ok_or_else(|| format!("no case {name:?}: {:?}", CASES.map(|c| c.name())))?;
    let (decisions, _) = match policy.as_str() {
        "hand" => by_hand(case, "rr", false),
        policy => simulate(case, &case.workload(), policy),
    };
    println!("{decisions} decisions");
    Ok(())
}

fn of_kind(kind: &str, args: &[String]) -> Result<(), String> {
    match kind {
        "matrix" => matrix::table(args),
        "large" => large::once(args),
        _ => once(args),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match args.split_first() {
        Some((first, rest)) if ["once", "matrix", "large"].contains(&first.as_str()) => {
            match of_kind(first, rest) {
                Ok(()) => ExitCode::SUCCESS,
                Err(problem) => {
                    eprintln!("{problem}");
                    ExitCode::from(2)
                }
            }
        }
        _ => {
            table();
            large::table();
            ExitCode::SUCCESS
        }
    }
}
