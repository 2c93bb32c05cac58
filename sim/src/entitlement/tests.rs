//! Small cases by hand.

use super::*;
use divvy_policy::CpuId;

mod random;

const FOREVER: u64 = u64::MAX;

/// Counted from 0.
fn task(number: u32) -> TaskId {
    TaskId::new(number + 1)
}

fn weight(fixed: u64) -> Weight {
    Weight::from_fixed(fixed)
}

fn hogs(cpus: u32, weights: &[u64]) -> Entitled {
    let mut e = Entitled::new(cpus, Sharing::default(), &[]);
    for (i, &w) in (0..).zip(weights) {
        e.add(task(i), weight(w), None, None, 0);
        e.bring(task(i), FOREVER, 0);
    }
    e
}

fn services(e: &mut Entitled, n: u32, at_ns: u64) -> Vec<f64> {
    (0..n).map(|t| e.service_ns(task(t), at_ns)).collect()
}

#[test]
fn one_cpu_is_divided_by_weight() {
    assert_eq!(services(&mut hogs(1, &[5, 2, 1]), 3, 800), [500.0, 200.0, 100.0]);
}

/// The papers' example: 10:1:1 on two CPUs is 2:1:1.
#[test]
fn nobody_gets_more_than_a_cpu() {
    assert_eq!(services(&mut hogs(2, &[10, 1, 1]), 3, 100), [100.0, 50.0, 50.0]);
    assert_eq!(services(&mut hogs(4, &[100, 50, 1, 1, 1, 1, 1, 1]), 3, 300), [300.0, 300.0, 100.0]);
    assert_eq!(services(&mut hogs(4, &[7, 3]), 2, 9), [9.0, 9.0]);
}

/// Two tasks bound to CPU 0, one that comes later to CPU 1, and one that may use both.
#[test]
fn affinity_binds() {
    let mut e = Entitled::new(2, Sharing::default(), &[]);
    for (t, fixed, cpus) in [(0, 3, &[0][..]), (1, 1, &[0]), (2, 1, &[0, 1])] {
        e.add(task(t), weight(fixed), None, None, 0);
        e.restrict(task(t), &cpus.iter().map(|&cpu| CpuId::new(cpu)).collect());
        e.bring(task(t), FOREVER, 0);
    }
    assert_near(services(&mut e, 3, 400), [300.0, 100.0, 400.0]);
    e.add(task(3), weight(1), None, None, 400);
    e.restrict(task(3), &CpuMask::from_iter([CpuId::new(1)]));
    e.bring(task(3), 100, 400); // until 600: then the third has a CPU again
    assert_near(services(&mut e, 4, 800), [600.0, 200.0, 700.0, 100.0]);
}

fn assert_near<const N: usize>(is: Vec<f64>, expected: [f64; N]) {
    assert!(is.iter().zip(expected).all(|(is, expected)| (is - expected).abs() < 1e-6), "{is:?}");
}

#[test]
fn rates_follow_arrivals_and_departures() {
    let mut e = hogs(2, &[10, 1, 1]);
    e.withdraw(task(1), 100); // 10:1 on two CPUs: both have their own
    e.add(task(3), weight(1), None, None, 200);
    e.bring(task(3), FOREVER, 200); // 10:1:1 again
    assert_eq!(services(&mut e, 4, 300), [300.0, 50.0, 50.0 + 100.0 + 50.0, 50.0]);
}

/// Weights 1 and 1 on one CPU: 30 ns of work against a hog takes 60 ns, and 10 more that come meanwhile 20.
#[test]
fn a_burst_ends_when_the_fluid_has_served_it() {
    let mut e = hogs(1, &[1]);
    e.add(task(1), weight(1), None, None, 100);
    e.bring(task(1), 30, 100);
    e.bring(task(1), 10, 120);
    assert_eq!(services(&mut e, 2, 180), [100.0 + 40.0, 40.0]);
    assert_eq!(services(&mut e, 2, 200), [160.0, 40.0]);
    e.bring(task(1), 10, 200);
    assert_eq!(services(&mut e, 2, 1000), [1000.0 - 50.0, 50.0]);
}

/// Two CPUs, weights 10, 1, 1: the heavy one is capped and done after 10 ns; then the others have a CPU each.
#[test]
fn a_capped_burst_ends_too() {
    let mut e = Entitled::new(2, Sharing::default(), &[]);
    for (t, fixed, work) in [(0, 10, 10), (1, 1, FOREVER), (2, 1, FOREVER)] {
        e.add(task(t), weight(fixed), None, None, 0);
        e.bring(task(t), work, 0);
    }
    assert_eq!(services(&mut e, 3, 30), [10.0, 25.0, 25.0]);
}

/// One CPU, a program of two threads and one of a single thread, all of weight 4: 2:2:4, then 4:4 when one ends.
#[test]
fn threads_of_a_process_divide_its_weight() {
    let sharing = Sharing { division: Division::Evenly, ..Sharing::default() };
    let mut e = Entitled::new(1, sharing, &[]);
    for (t, process, work) in [(0, 0, FOREVER), (1, 0, 10), (2, 1, FOREVER)] {
        e.add(task(t), weight(4), Some(process), None, 0);
        e.bring(task(t), work, 0);
    }
    assert_eq!(services(&mut e, 3, 40), [10.0, 10.0, 20.0]);
    assert_eq!(services(&mut e, 3, 60), [20.0, 10.0, 30.0]);
}

/// The same where all threads count: the one that has ended its burst keeps its part until it is gone.
#[test]
fn all_threads_of_a_process_divide_its_weight() {
    let sharing = Sharing { division: Division::Evenly, all: true, ..Sharing::default() };
    let mut e = Entitled::new(1, sharing, &[]);
    for (t, process, work) in [(0, 0, FOREVER), (1, 0, 10), (2, 1, FOREVER)] {
        e.add(task(t), weight(4), Some(process), None, 0);
        e.bring(task(t), work, 0);
    }
    assert_eq!(services(&mut e, 3, 40), [10.0, 10.0, 20.0]);
    assert_eq!(services(&mut e, 3, 70), [20.0, 10.0, 40.0]);
    e.withdraw(task(1), 70);
    assert_eq!(services(&mut e, 3, 90), [30.0, 10.0, 50.0]);
    e.add(task(1), weight(4), Some(0), None, 90);
    assert_eq!(services(&mut e, 3, 120), [40.0, 0.0, 70.0]);
}
