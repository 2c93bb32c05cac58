//! The ends of alpha against the policies that they are: fcfs, plcfs and las, which share no rule with pbs.

use super::formula::{INF, ratio};
use divvy_tests::bench::{Bench, MS, Nobody, Program, Segment, State};
use divvy_tests::random::Rng;

/// Random cases for each end
const CASES: u64 = 10_000;

/// A policy and its parameters
type Spec<'a> = (&'a str, &'a [f64]);

fn schedule(spec: Spec, cpus: usize, quantum: u64, programs: &[Program]) -> Vec<Segment> {
    // Those of las and plcfs are not ratios.
    let raw: Vec<i64> = match spec.0 {
        "pbs" | "pbs_o1" => spec.1.iter().map(|x| ratio(*x)).collect(),
        _ => spec.1.iter().map(|x| *x as i64).collect(),
    };
    let mut bench = Bench::new((spec.0, &raw), cpus, quantum, programs, Nobody);
    bench.run(1 << 40);
    assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
    bench.segments
}

/// Programs of whole quanta and of parts, tasks that come or wake together, all of one weight.
fn programs(rng: &mut Rng, quantum: u64) -> Vec<Program> {
    let grid = [1, quantum / 4, quantum][rng.within(0, 2) as usize];
    let longest = [3, 12, 40][rng.within(0, 2) as usize];
    let weight = [1024, 15, 3000][rng.within(0, 2) as usize];
    let mut time = |least| rng.within(least, longest * quantum / grid / 4 + 1) * grid;
    let tasks = 1 + time(0) / grid % 12;
    (0..tasks)
        .map(|_| {
            let bursts = time(0) / grid % 4;
            let steps: Vec<u64> = (0..2 * bursts + 1).map(|_| time(1)).collect();
            Program::new(time(0), weight, &steps)
        })
        .collect()
}

fn the_same(seed: u64, specs: &[Spec]) {
    let mut rng = Rng(seed);
    for case in 0..CASES {
        let cpus = 1 + case as usize % 8;
        let programs = programs(&mut rng, 4000);
        let one = schedule(specs[0], cpus, 4000, &programs);
        for &spec in &specs[1..] {
            let other = schedule(spec, cpus, 4000, &programs);
            let differs = one.iter().zip(&other).position(|(a, b)| a != b);
            assert!(
                differs.is_none() && one.len() == other.len(),
                "case {case}, {cpus} CPUs, {:?} and {spec:?}: {:?}, {:?}",
                specs[0],
                differs.map(|i| one[i]),
                differs.map(|i| other[i])
            );
        }
    }
}

#[test]
fn pbs_r3_alpha_0_is_fcfs_decision_for_decision() {
    the_same(1, &[("fcfs", &[]), ("pbs", &[0.0])]);
}

#[test]
fn pbs_r9_alpha_minus_0_is_plcfs_decision_for_decision() {
    the_same(2, &[("plcfs", &[]), ("pbs", &[-0.0])]);
}

#[test]
fn pbs_r3_r9_infinite_alpha_is_las_decision_for_decision() {
    the_same(3, &[("las", &[1.0]), ("pbs", &[INF]), ("pbs", &[-INF])]);
}

/// One session for life: a job is all that a task does.
#[test]
fn pbs_r5_infinite_alpha_and_beta_are_las_without_sessions() {
    the_same(4, &[("las", &[0.0]), ("pbs", &[INF, INF]), ("pbs", &[-INF, INF])]);
}

fn ends(spec: Spec, cpus: usize, jobs: &[(u64, u64)]) -> Vec<u64> {
    let programs: Vec<Program> =
        jobs.iter().map(|(at, ms)| Program::new(at * MS, 1024, &[ms * MS])).collect();
    let segments = schedule(spec, cpus, 2 * MS, &programs);
    let last = |task| segments.iter().filter(|s| s.task == task).map(|s| s.to).max().unwrap();
    (1..=jobs.len() as u32).map(|task| last(task) / MS).collect()
}

/// A tie of 3 ms goes to the job that arrived first, at both ends.
#[test]
fn pbs_r9_minus_infinity_breaks_ties_as_las() {
    let jobs = [(0, 10), (3, 10), (4, 6)];
    for spec in [("las", &[1.0][..]), ("pbs", &[-INF]), ("pbs", &[INF])] {
        assert_eq!(ends(spec, 1, &jobs), [25, 26, 16], "{spec:?}");
    }
}

/// The newest two run, within a quantum: the fourth interrupts the third, which the second makes way for.
#[test]
fn pbs_r9_minus_0_is_plcfs_on_two_cpus() {
    let jobs = [(0, 30), (1, 30), (2, 30), (3, 30)];
    for spec in [("plcfs", &[][..]), ("pbs", &[-0.0])] {
        assert_eq!(ends(spec, 2, &jobs), [61, 60, 32, 33], "{spec:?}");
    }
}
