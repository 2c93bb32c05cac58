//! las: papers/las.md.

use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC, ends_of_four_jobs};

#[test]
fn las_r1_r3_four_jobs() {
    for (got, expected) in ends_of_four_jobs(("las", &[1])).into_iter().zip([12.0, 9.5, 10.5, 8.0]) {
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
