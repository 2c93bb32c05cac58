//! mlfq: papers/mlfq.md.

use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC};

const LEVELS_3: [i64; 3] = [3, 0, 0];

/// (task, from, to) in ms, of turns that follow each other as one
fn turns(bench: &Bench<Nobody>) -> Vec<(u32, u64, u64)> {
    let mut turns: Vec<(u32, u64, u64)> = Vec::new();
    for segment in bench.segments.iter().filter(|s| s.to > s.from) {
        match turns.last_mut() {
            Some((task, _, to)) if segment.task == *task && *to == segment.from / MS => *to = segment.to / MS,
            _ => turns.push((segment.task.get(), segment.from / MS, segment.to / MS)),
        }
    }
    turns
}

/// Allotments of 10, 20 and 40 ms. 1 is at the last level when 2 comes, which needs 15 ms.
#[test]
fn mlfq_r1_r2_r3_r4_sinks() {
    let programs = [Program::new(0, 1024, &[500 * MS]), Program::new(100 * MS, 1024, &[15 * MS])];
    let mut bench = Bench::new(("mlfq", &LEVELS_3), 1, 10 * MS, &programs, Nobody);
    bench.run(SEC);
    assert_eq!(bench.completions(), [0.515, 0.115]);

    let hogs = vec![Program::new(0, 1024, &[SEC]); 2];
    let mut bench = Bench::new(("mlfq", &LEVELS_3), 1, 10 * MS, &hogs, Nobody);
    bench.run(200 * MS);
    let expected =
        [(1, 0, 10), (2, 10, 20), (1, 20, 40), (2, 40, 60), (1, 60, 100), (2, 100, 140), (1, 140, 180)];
    assert_eq!(turns(&bench)[..7], expected);
}

/// 2 always blocks a millisecond before the end of what would be its turn at the highest level. It sinks, and 1 has its part.
#[test]
fn mlfq_r4_cannot_be_gamed() {
    let gamer: Vec<u64> = [9 * MS, MS].repeat(150);
    let programs = [Program::new(0, 1024, &[2 * SEC]), Program::new(0, 1024, &gamer)];
    let mut bench = Bench::new(("mlfq", &LEVELS_3), 1, 10 * MS, &programs, Nobody);
    bench.run(SEC);
    assert!(bench.tasks[1].service > 300 * MS, "{}", bench.tasks[1].service);
}

/// Jobs of 9 ms come every 9 ms, and 1 has more than its first allotment to do.
#[test]
fn mlfq_r5_nobody_starves() {
    for (boost, least, most) in [(0, 0, 20), (100 * MS as i64, 60, 140)] {
        let mut programs = vec![Program::new(0, 1024, &[SEC])];
        programs.extend((0..112).map(|i| Program::new(i * 9 * MS, 1024, &[9 * MS])));
        let mut bench = Bench::new(("mlfq", &[8, 0, boost]), 1, 10 * MS, &programs, Nobody);
        bench.run(SEC);
        let got = bench.tasks[1].service / MS;
        assert!((least..=most).contains(&got), "boost {boost}: {got} ms");
    }
}
