//! Small runs whose report can be worked out by hand.

use super::*;
use divvy_sim::sharing::Division;

const MS: u64 = 1_000_000;

fn workload(text: &str) -> Workload {
    Workload::parse(text, "observed.toml").expect("valid")
}

fn seen(policy_lives: Vec<Life>) -> Observation {
    Observation { policy: "kernel:test".into(), rep: 0, sharing: Sharing::default(), lives: policy_lives }
}

/// A hog that gets CPU time at the times of its stamps.
fn hog(class: usize, until_ns: u64, stamps: &[(u64, u64)]) -> Life {
    let mut sights = vec![Sight::Brings { at_ns: 0, work_ns: u64::MAX }];
    sights.extend(stamps.iter().map(|&(at_ns, received_ns)| Sight::Stamp { at_ns, received_ns }));
    let received_ns = stamps.last().map_or(0, |stamp| stamp.1);
    Life { class, ended_ns: until_ns, received_ns, sights, ..Life::default() }
}

/// Weights 3 and 1 on one CPU. A runs for 80 ms first, then B for 20 ms: as A stops it is 20 ms ahead of its 60 ms.
#[test]
fn errors_are_the_extremes_at_stamps() {
    let workload = workload(
        "cpus = 1\nduration = \"100ms\"\ntask = [\n\
         { name = \"A\", weight = 3, program = [ { run = \"forever\" } ] },\n\
         { name = \"B\", weight = 1, program = [ { run = \"forever\" } ] } ]",
    );
    let a = hog(0, 101 * MS, &[(80 * MS, 80 * MS)]);
    let b = hog(1, 100 * MS, &[(80 * MS, 0), (100 * MS, 20 * MS)]);
    let run = report(&workload, &seen(vec![b, a]));
    let [a, b] = &run.tasks[..] else { panic!("two tasks") };
    assert_eq!(
        (a.service_ns, a.entitled_ns, a.error_min_ns, a.error_max_ns),
        (80 * MS, 75 * MS, 0, 20_000_000)
    );
    assert_eq!(
        (b.service_ns, b.entitled_ns, b.error_min_ns, b.error_max_ns),
        (20 * MS, 25 * MS, -20_000_000, 0)
    );
    assert_eq!((run.duration_ns, run.utilization, run.decisions), (100 * MS, 1.0, None));
    assert_eq!((a.share, b.share), (0.8, 0.2));
}

/// What began before the warm-up does not count, service after it does; between stamps it is interpolated.
#[test]
fn statistics_begin_after_the_warm_up() {
    let workload = workload(
        "cpus = 1\nduration = \"100ms\"\nwarmup = \"50ms\"\n\
         task = [ { name = \"A\", program = [ { run = \"forever\" } ] } ]",
    );
    let mut life = hog(0, 100 * MS, &[(40 * MS, 40 * MS), (60 * MS, 50 * MS), (100 * MS, 90 * MS)]);
    let job = |began_ns| Sight::JobDone { began_ns, ended_ns: 100 * MS, service_ns: MS, wait_ns: 3 * MS };
    life.sights.extend([job(49 * MS), job(50 * MS)]);
    let run = report(&workload, &seen(vec![life]));
    // 45 ms of the 90 until the warm-up.
    assert_eq!((run.tasks[0].service_ns, run.tasks[0].entitled_ns), (45 * MS, 50 * MS));
    assert_eq!((run.tasks[0].jobs, run.response_ns.mean, run.wait_ns.mean), (1, Some(50e6), Some(3e6)));
    assert_eq!(run.tasks[0].finished_ns, Some(100 * MS));
}

/// Threads of a process divide their weight where that is what the policy promises.
#[test]
fn entitled_by_process_if_asked() {
    let workload = workload(
        "cpus = 1\nduration = \"90ms\"\ntask = [\n\
         { name = \"A\", process = \"P\", count = 2, program = [ { run = \"forever\" } ] },\n\
         { name = \"B\", program = [ { run = \"forever\" } ] } ]",
    );
    let mut second = hog(0, 90 * MS, &[]);
    second.number = 1;
    let mut observation = seen(vec![hog(0, 90 * MS, &[]), second, hog(1, 90 * MS, &[])]);
    let entitled = |run: Run| run.tasks.iter().map(|task| task.entitled_ns / MS).collect::<Vec<_>>();
    assert_eq!(entitled(report(&workload, &observation)), [30, 30, 30]);
    observation.sharing.division = Division::Evenly;
    let by_process = report(&workload, &observation);
    assert_eq!(by_process.tasks[2].entitled_ns, 45 * MS);
    assert!(entitled(by_process)[..2].iter().all(|ms| (22..=23).contains(ms)));
}

/// A sight that is told late is put where the thread was last seen, not before it.
#[test]
fn a_life_is_in_order() {
    let workload = workload("cpus = 1\ntask = [ { name = \"A\", program = [ { run = \"2ms\" } ] } ]");
    let sights = vec![
        Sight::Brings { at_ns: 0, work_ns: 2 * MS },
        Sight::Ran { woken_ns: 0, delay_ns: MS },
        Sight::Stamp { at_ns: MS, received_ns: 0 },
        Sight::Stamp { at_ns: 3 * MS, received_ns: 2 * MS },
        Sight::JobDone { began_ns: 0, ended_ns: 3 * MS, service_ns: 2 * MS, wait_ns: MS },
    ];
    let life = Life {
        ended_ns: 3 * MS,
        received_ns: 2 * MS,
        migrations: Some(2),
        switches: 5,
        sights,
        ..Life::default()
    };
    let run = report(&workload, &seen(vec![life]));
    assert_eq!((run.duration_ns, run.switches, run.migrations), (3 * MS, 5, Some(2)));
    assert_eq!((run.wake_delay_ns.mean, run.slowdown.mean), (Some(1e6), Some(1.5)));
    assert_eq!((run.tasks[0].entitled_ns, run.tasks[0].error_min_ns), (2 * MS, -1_000_000));
}
