//! linux24: papers/linux24.md.

use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC};
use divvy_tests::nice::{NICE_0, NICE_5, NICE_19, NICE_MINUS_5, NICE_MINUS_20, hogs, turns};

const LINUX24: (&str, &[i64]) = ("linux24", &[10 * MS as i64]);

#[test]
fn linux24_r1_r3_r4_shares_are_ticks() {
    let mut bench = Bench::new(LINUX24, 1, MS, &hogs(&[NICE_MINUS_20, NICE_0, NICE_19]), Nobody);
    bench.run(18 * SEC);
    for (task, seconds) in bench.tasks[1..].iter().zip([11, 6, 1]) {
        assert!(task.service.abs_diff(seconds * SEC) <= 180 * MS, "{}", task.service);
    }
}

/// Goodness is 6 + 20, 7 + 25 and 4 + 15.
#[test]
fn linux24_r2_goodness() {
    let mut bench = Bench::new(LINUX24, 1, MS, &hogs(&[NICE_0, NICE_MINUS_5, NICE_5]), Nobody);
    bench.run(400 * MS);
    assert_eq!(turns(&bench)[..6], [(2, 70), (1, 60), (3, 40), (2, 70), (1, 60), (3, 40)]);
}

/// After 2 s of sleep, many epochs, 3 has 12 ticks, which is better than what a hog can have.
#[test]
fn linux24_r3_r5_sleepers() {
    let mut programs = hogs(&[NICE_0, NICE_0]);
    programs.push(Program::new(0, NICE_0, &[10 * MS, 2 * SEC, SEC]));
    let mut bench = Bench::new(LINUX24, 1, MS, &programs, Nobody);
    bench.run(3 * SEC);
    let of_3: Vec<_> = bench.segments.iter().filter(|s| s.task == 3).collect();
    let slept = of_3.iter().position(|s| s.from >= 2 * SEC).unwrap();
    assert_eq!(of_3[slept].from, of_3[slept - 1].to + 2 * SEC);
    let length = of_3[slept].to - of_3[slept].from;
    assert!(length.abs_diff(120 * MS) <= MS, "{length}");
}

/// 1 yields after 9 ms: then 2 has its 6 ticks, and 1 the 51 ms that it had left. As it ran last, it also has the first ticks
/// of the next epoch.
#[test]
fn linux24_r6_yields() {
    let mut bench = Bench::new(LINUX24, 1, MS, &hogs(&[NICE_0, NICE_0]), Nobody);
    bench.run(9 * MS);
    let first = bench.segments.last().map_or(1, |s| s.task.get());
    bench.yield_on(0);
    bench.run(200 * MS);
    let other = 3 - first;
    assert_eq!(turns(&bench)[..3], [(first, 9), (other, 60), (first, 111)]);
}
