//! sjf: papers/sjf.md.

use crate::jobs::{ends, ends_of, simulated};

#[test]
fn sjf_r1_four_jobs() {
    assert_eq!(ends("sjf", &[(0, 6), (0, 8), (0, 7), (0, 3)]), [9.0, 24.0, 16.0, 3.0]);
    // Equal ones as they came: 2 before 3.
    assert_eq!(ends("sjf", &[(0, 5), (1, 2), (2, 2)]), [5.0, 7.0, 9.0]);
}

/// 2 comes while 1 has 9 ms left, and waits for them; then it goes before 3, which came first.
#[test]
fn sjf_r2_is_not_preemptive() {
    let jobs = [(0, 10), (1, 1), (0, 5)];
    assert_eq!(ends("sjf", &[(0, 4), (1, 1), (0, 5)]), [4.0, 5.0, 10.0]);
    assert_eq!(ends("srpt", &jobs), [16.0, 2.0, 6.0]);
}

/// 1 has 3 ms to do and then without a pause 4 more. 2, of 1 ms, waits for all of them; 3 yields on its way, and 4 is shorter than the rest of it.
#[test]
fn sjf_r3_goes_on() {
    let toml = "cpus = 1\n[[task]]\nname = \"1\"\nprogram = [ { run = \"3ms\" }, { run = \"4ms\" } ]\n\
                [[task]]\nname = \"2\"\nstart = \"2ms\"\nprogram = [ { run = \"1ms\" } ]\n";
    assert_eq!(ends_of(&simulated("sjf", toml)), [7.0, 8.0]);
}

/// Work that nobody will do is forgotten: 3 has the number of 1, which was stopped, and goes before 2.
#[test]
fn sjf_r3_who_is_stopped() {
    let toml = "cpus = 1\nduration = \"200ms\"\n\
                [[task]]\nname = \"1\"\nstop = \"10ms\"\nprogram = [ { run = \"1s\" } ]\n\
                [[task]]\nname = \"2\"\nstart = \"5ms\"\nprogram = [ { run = \"60ms\" } ]\n\
                [[task]]\nname = \"3\"\nstart = \"20ms\"\nprogram = [ { run = \"50ms\" } ]\n\
                [[task]]\nname = \"4\"\nstart = \"20ms\"\nprogram = [ { run = \"55ms\" } ]\n";
    let run = simulated("sjf", toml);
    let ends: Vec<_> = run.tasks[1..].iter().map(|task| task.finished_ns).collect();
    assert_eq!(ends, [Some(70_000_000), Some(120_000_000), Some(175_000_000)]);
}
