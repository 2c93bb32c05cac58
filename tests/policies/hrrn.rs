//! hrrn: papers/hrrn.md.

use crate::jobs::{Job, ends, ends_of, simulated};

#[test]
fn hrrn_r1_five_jobs() {
    let jobs = [(0, 3), (2, 6), (4, 4), (6, 5), (8, 2)];
    assert_eq!(ends("hrrn", &jobs), [3.0, 9.0, 13.0, 20.0, 15.0]);
}

/// The order in which jobs end, by floating-point ratios at each choice: another way to the same.
fn reference(jobs: &[Job]) -> Vec<f64> {
    let (mut now, mut ends) = (0, vec![0.0; jobs.len()]);
    for _ in jobs {
        let here = |now: u64| jobs.iter().enumerate().filter(move |(_, job)| job.0 <= now);
        let left = |ends: &[f64], i: usize| ends[i] == 0.0;
        if !here(now).any(|(i, _)| left(&ends, i)) {
            now =
                jobs.iter().enumerate().filter(|(i, _)| left(&ends, *i)).map(|(_, job)| job.0).min().unwrap();
        }
        let ratio = |job: &Job| (now - job.0 + job.1) as f64 / job.1 as f64;
        let next = here(now)
            .filter(|(i, _)| left(&ends, *i))
            .reduce(|a, b| if (ratio(b.1), a.1.0) > (ratio(a.1), b.1.0) { b } else { a })
            .unwrap();
        now += next.1.1;
        ends[next.0] = now as f64;
    }
    ends
}

#[test]
fn hrrn_r1_any_jobs() {
    let mut others = 0;
    for code in 0..3_u64.pow(6) {
        let digit = |place: u32| code / 3_u64.pow(place) % 3;
        let jobs: Vec<Job> = vec![
            (0, 5),
            (1, 2 + 3 * digit(0)),
            (1 + digit(1), 7 - 2 * digit(2)),
            (3 + digit(3), 1 + 4 * digit(4)),
            (4 + digit(5), 3),
        ];
        assert_eq!(ends("hrrn", &jobs), reference(&jobs), "{jobs:?}");
        others += u32::from(ends("sjf", &jobs) != reference(&jobs));
    }
    assert!(others > 50, "these jobs do not tell it from sjf: {others}");
}

/// A job of 2 ms comes every 2 ms, from 0 on; a job of 6 ms comes at 1.
#[test]
fn hrrn_r1_nobody_starves() {
    let short = (0..30).map(|i| (2 * i, 2));
    let jobs: Vec<Job> = std::iter::once((1, 6)).chain(short).collect();
    assert_eq!(ends("sjf", &jobs)[0], 66.0, "after all of them");
    assert!(ends("hrrn", &jobs)[0] <= 20.0, "{:?}", ends("hrrn", &jobs));
}

#[test]
fn hrrn_r2_is_not_preemptive() {
    assert_eq!(ends("hrrn", &[(0, 10), (1, 1)]), [10.0, 11.0]);
}

#[test]
fn hrrn_r3_goes_on() {
    let toml = "cpus = 1\n[[task]]\nname = \"1\"\nprogram = [ { run = \"3ms\" }, { run = \"4ms\" } ]\n\
                [[task]]\nname = \"2\"\nstart = \"2ms\"\nprogram = [ { run = \"1ms\" } ]\n";
    assert_eq!(ends_of(&simulated("hrrn", toml)), [7.0, 8.0]);
}
