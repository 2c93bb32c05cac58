//! srpt: papers/srpt.md.

use crate::jobs::{Job, ends, simulated};

#[test]
fn srpt_r1_four_jobs() {
    let jobs = [(0, 4500), (1000, 2500), (3000, 3000), (5000, 2000)];
    assert_eq!(ends("srpt", &jobs), [12000.0, 3500.0, 6500.0, 8500.0]);
}

/// The least sum of response times from `now` on, ms, of every way to give each millisecond to somebody.
fn least_sum(jobs: &[Job], left: &mut Vec<u64>, now: u64) -> u64 {
    if left.iter().all(|&ms| ms == 0) {
        return 0;
    }
    let here: Vec<usize> = (0..jobs.len()).filter(|&i| jobs[i].0 <= now && left[i] > 0).collect();
    let mut least = if here.is_empty() { least_sum(jobs, left, now + 1) } else { u64::MAX };
    for &i in &here {
        left[i] -= 1;
        least = least.min(least_sum(jobs, left, now + 1));
        left[i] += 1;
    }
    // Each job that has come waits, or is served, for this millisecond.
    least + here.len() as u64
}

/// All sets of four jobs of 1 to 3 ms that come at 0, 0 to 2 and so on: nothing is left to chance.
#[test]
fn srpt_r1_is_optimal() {
    let mut worse = 0;
    for code in 0..3_u64.pow(6) {
        let digit = |place: u32| code / 3_u64.pow(place) % 3;
        let jobs = [(0, 3), (digit(0), 1 + digit(1)), (digit(2), 1 + digit(3)), (digit(4), 1 + digit(5))];
        let sum = |spec: &str| {
            let ends = ends(spec, &jobs);
            ends.iter().zip(&jobs).map(|(end, job)| end - job.0 as f64).sum::<f64>()
        };
        let least = least_sum(&jobs, &mut jobs.iter().map(|job| job.1).collect(), 0);
        assert_eq!(sum("srpt"), least as f64, "{jobs:?}");
        worse += u32::from(sum("fcfs") > least as f64);
    }
    assert!(worse > 300, "the search finds nothing that first come, first served does not: {worse}");
}

/// 1 has 3 ms to do, and then without a pause 4 more, which the policy did not know. 2, of 6 ms, comes when 1 has 1 ms
/// left, and waits for all of them. When 3 comes with 2 ms at 4, 1 has 3 left.
#[test]
fn srpt_r2_goes_on() {
    let toml = "cpus = 1\n[[task]]\nname = \"1\"\nprogram = [ { run = \"3ms\" }, { run = \"4ms\" } ]\n\
                [[task]]\nname = \"2\"\nstart = \"2ms\"\nprogram = [ { run = \"6ms\" } ]\n\
                [[task]]\nname = \"3\"\nstart = \"4ms\"\nprogram = [ { run = \"2ms\" } ]\n";
    let run = simulated("srpt", toml);
    let ends: Vec<u64> = run.tasks.iter().map(|task| task.finished_ns.unwrap() / 1_000_000).collect();
    assert_eq!(ends, [9, 15, 6]);
}

/// Work that nobody will do is forgotten: 3 has the number of 1, which was stopped, and goes before 2.
#[test]
fn srpt_r2_who_is_stopped() {
    let toml = "cpus = 1\nduration = \"100ms\"\n\
                [[task]]\nname = \"1\"\nstop = \"10ms\"\nprogram = [ { run = \"1s\" } ]\n\
                [[task]]\nname = \"2\"\nprogram = [ { run = \"60ms\" } ]\n\
                [[task]]\nname = \"3\"\nstart = \"20ms\"\nprogram = [ { run = \"5ms\" } ]\n";
    let run = simulated("srpt", toml);
    assert_eq!(run.tasks[2].finished_ns, Some(25_000_000));
}
