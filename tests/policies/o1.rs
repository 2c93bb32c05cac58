//! o1: papers/o1.md.

use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC};
use divvy_tests::nice::{NICE_0, NICE_19, NICE_MINUS_20, hogs, turns};

const O1: (&str, &[i64]) = ("o1", &[]);

#[test]
fn o1_r2_r4_r7_shares_are_time_slices() {
    let mut bench = Bench::new(O1, 1, MS, &hogs(&[NICE_MINUS_20, NICE_0, NICE_19]), Nobody);
    bench.run(905 * 40 * MS);
    for (task, ms) in bench.tasks[1..].iter().zip([800, 100, 5]) {
        assert!(task.service.abs_diff(40 * ms * MS) <= ms * MS, "{}", task.service);
    }
    assert_eq!(turns(&bench)[..4], [(1, 800), (2, 100), (3, 5), (1, 800)]);
}

/// 5 ms of work, 50 of sleep: after some time it is interactive, and takes the CPU from hogs whenever it wakes.
#[test]
fn o1_r1_r3_r8_sleepers_preempt() {
    let mut programs = hogs(&[NICE_0; 3]);
    programs.push(Program::new(0, NICE_0, &[5 * MS, 50 * MS].repeat(300)));
    let mut bench = Bench::new(O1, 1, MS, &programs, Nobody);
    bench.run(10 * SEC);
    let of_4: Vec<_> = bench.segments.iter().filter(|s| s.task == 4 && s.from > 3 * SEC).collect();
    assert!(of_4.len() > 100, "{}", of_4.len());
    for pair in of_4.windows(2) {
        assert_eq!(pair[1].from, pair[0].to + 50 * MS);
    }
}

/// Six tasks that ask for 20 % each, and would stay interactive, beside a hog: an expired task runs after at most a
/// second a task.
#[test]
fn o1_r5_r6_nobody_starves() {
    let mut programs = hogs(&[NICE_0]);
    programs.extend(vec![Program::new(0, NICE_0, &[7 * MS, 28 * MS].repeat(2000)); 6]);
    let mut bench = Bench::new(O1, 1, MS, &programs, Nobody);
    bench.run(60 * SEC);
    let of_1: Vec<_> = bench.segments.iter().filter(|s| s.task == 1).collect();
    let longest = of_1.windows(2).map(|pair| pair[1].from - pair[0].to).max().unwrap();
    assert!(longest < 9 * SEC, "{longest}");
    assert!(of_1.last().unwrap().to > 50 * SEC);
}

/// A task that yields is expired: it goes on with the rest of its time slice after all others have had theirs.
#[test]
fn o1_r6_yields() {
    let mut bench = Bench::new(O1, 1, MS, &hogs(&[NICE_0; 3]), Nobody);
    bench.run(10 * MS);
    bench.yield_on(0);
    bench.run(400 * MS);
    assert_eq!(turns(&bench)[..4], [(1, 10), (2, 100), (3, 100), (1, 90)]);
}
