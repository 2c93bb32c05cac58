//! ps: papers/ps.md.

use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC, ends_of_four_jobs};

/// By hand: rates of 1, 1/2, 1/3 and 1/4, and again 1/3, 1/2 and 1
#[test]
fn ps_r1_r2_four_jobs() {
    let expected = [34.0 / 3.0, 25.0 / 3.0, 12.0, 35.0 / 3.0];
    for (got, expected) in ends_of_four_jobs(("ps", &[50_000])).into_iter().zip(expected) {
        assert!((got - expected).abs() <= 0.001, "{got}, not {expected}");
    }
}

/// Weights change nothing.
#[test]
fn ps_r1_two_cpus() {
    let programs = [1, 1024, 88761].map(|weight| Program::new(0, weight, &[SEC]));
    let mut bench = Bench::new(("ps", &[50_000]), 2, 100 * MS, &programs, Nobody);
    bench.run(2 * SEC);
    for end in bench.completions() {
        assert!((end - 1.5).abs() <= 0.001, "{end}");
    }
}
