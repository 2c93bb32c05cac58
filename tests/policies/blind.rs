//! Policies that know no weights: papers/ps.md, papers/las.md, papers/plcfs.md, papers/mlfq.md.

use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC};
use divvy_tests::lockstep::Lockstep;

/// The example of the PBS paper's Figure 2: arrivals and demands
fn four_jobs() -> Vec<Program> {
    let jobs = [(0, 4500), (1, 2500), (3, 3000), (5, 2000)];
    jobs.map(|(at, ms)| Program::new(at * SEC, 1024, &[ms * MS])).to_vec()
}

fn completions(spec: (&str, &[i64])) -> Vec<f64> {
    let mut bench = Bench::new(spec, 1, MS, &four_jobs(), Nobody);
    bench.run(12 * SEC);
    bench.completions()
}

/// By hand: rates of 1, 1/2, 1/3 and 1/4, and again 1/3, 1/2 and 1
#[test]
fn ps_r1_r2_four_jobs() {
    let expected = [34.0 / 3.0, 25.0 / 3.0, 12.0, 35.0 / 3.0];
    for (got, expected) in completions(("ps", &[50_000])).into_iter().zip(expected) {
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

#[test]
fn las_r1_r3_four_jobs() {
    for (got, expected) in completions(("las", &[1])).into_iter().zip([12.0, 9.5, 10.5, 8.0]) {
        assert!((got - expected).abs() <= 0.004, "{got}, not {expected}");
    }
}

/// 2 has had 2 ms when it sleeps, and 1 then 12 ms. As a new job it runs for those alone, else for 10 ms.
#[test]
fn las_r2_sessions() {
    for (session, alone_ms) in [(1, 12), (0, 10)] {
        let programs = [Program::new(0, 1024, &[SEC]), Program::new(0, 1024, &[2 * MS, 10 * MS, SEC])];
        let mut bench = Bench::new(("las", &[session]), 1, MS, &programs, Nobody);
        bench.run(60 * MS);
        let woke = bench.segments.iter().position(|s| s.task == 2 && s.from >= 10 * MS).unwrap();
        let alone =
            bench.segments[woke..].iter().take_while(|s| s.task == 2).map(|s| s.to - s.from).sum::<u64>();
        assert!(alone.abs_diff(alone_ms * MS) <= MS, "session {session}: {alone}");
    }
}

#[test]
fn plcfs_r1_r2_four_jobs() {
    assert_eq!(completions(("plcfs", &[])), [12.0, 8.5, 8.0, 7.0]);
}

#[test]
fn plcfs_r3_to_the_bottom() {
    let mut one = Lockstep::with("plcfs", 1, &[1, 1, 1]);
    assert_eq!(one.first_cpu(2), [3, 3]);
    one.machine.yielding(0);
    assert_eq!(one.first_cpu(2), [2, 2]);
    one.leave(2, false);
    assert_eq!(one.first_cpu(1), [1]);
    one.leave(1, false);
    assert_eq!(one.first_cpu(1), [3]);
    one.wake(2);
    assert_eq!(one.first_cpu(1), [2]);
}

const LEVELS_3: [i64; 3] = [3, 0, 0];

/// (task, from, to) in ms, of turns that follow each other as one
fn turns(bench: &Bench<Nobody>) -> Vec<(u32, u64, u64)> {
    let mut turns: Vec<(u32, u64, u64)> = Vec::new();
    for segment in bench.segments.iter().filter(|s| s.task != 0 && s.to > s.from) {
        match turns.last_mut() {
            Some((task, _, to)) if *task == segment.task && *to == segment.from / MS => *to = segment.to / MS,
            _ => turns.push((segment.task, segment.from / MS, segment.to / MS)),
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
