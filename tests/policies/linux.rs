//! Earlier schedulers of Linux: papers/linux24.md, papers/o1.md.

use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC};

/// Weights of these nice values in the kernel's table
const NICE_MINUS_20: u64 = 88_761;
const NICE_MINUS_5: u64 = 3121;
const NICE_0: u64 = 1024;
const NICE_5: u64 = 335;
const NICE_19: u64 = 15;

const LINUX24: (&str, &[i64]) = ("linux24", &[10 * MS as i64]);
const O1: (&str, &[i64]) = ("o1", &[]);

fn hogs(weights: &[u64]) -> Vec<Program> {
    weights.iter().map(|&w| Program::new(0, w, &[1000 * SEC])).collect()
}

/// (task, ms) of each turn; those of a task that follow each other are one.
fn turns(bench: &Bench<Nobody>) -> Vec<(u32, u64)> {
    let mut turns: Vec<(u32, u64)> = Vec::new();
    for segment in &bench.segments {
        let ms = (segment.to - segment.from) / MS;
        match turns.last_mut() {
            Some((task, so_far)) if *task == segment.task => *so_far += ms,
            _ => turns.push((segment.task, ms)),
        }
    }
    turns
}

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

/// 1 yields after 9 ms: then 2 has its 6 ticks, and 1 the 51 ms that it had left; and as it ran last those of the next epoch.
#[test]
fn linux24_r6_yields() {
    let mut bench = Bench::new(LINUX24, 1, MS, &hogs(&[NICE_0, NICE_0]), Nobody);
    bench.run(9 * MS);
    let first = bench.segments.last().map_or(1, |s| s.task);
    bench.yield_on(0);
    bench.run(200 * MS);
    let other = 3 - first;
    assert_eq!(turns(&bench)[..3], [(first, 9), (other, 60), (first, 111)]);
}

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

/// Six that ask for 20 % each, and would stay interactive, beside a hog: who is expired has its turn after at most a
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

/// Who yields is expired: it goes on with the rest of its time slice after all others have had theirs.
#[test]
fn o1_r6_yields() {
    let mut bench = Bench::new(O1, 1, MS, &hogs(&[NICE_0; 3]), Nobody);
    bench.run(10 * MS);
    bench.yield_on(0);
    bench.run(400 * MS);
    assert_eq!(turns(&bench)[..4], [(1, 10), (2, 100), (3, 100), (1, 90)]);
}
