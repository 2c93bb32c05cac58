//! Small runs whose report can be worked out by hand.

use super::*;
use divvy_sim::sharing::Division;

const MS: u64 = 1_000_000;

fn workload(text: &str) -> Workload {
    Workload::parse(text, "measured.toml").expect("valid")
}

fn run_of(threads: Vec<MeasuredThread>) -> MeasuredRun {
    MeasuredRun { policy: "kernel:test".into(), rep: 0, sharing: Sharing::default(), threads }
}

/// A hog that gets CPU time at the times of its stamps.
fn hog(class: usize, until_ns: u64, stamps: &[(u64, u64)]) -> MeasuredThread {
    let mut observations = vec![Observation::WorkArrives { at_ns: 0, work_ns: u64::MAX }];
    observations.extend(stamps.iter().map(|&(at_ns, received_ns)| Observation::Stamp { at_ns, received_ns }));
    let received_ns = stamps.last().map_or(0, |stamp| stamp.1);
    MeasuredThread { class, ended_ns: until_ns, received_ns, observations, ..MeasuredThread::default() }
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
    let run = report(&workload, &run_of(vec![b, a]));
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

/// A job that began before the end of the warm-up does not count. Service after it does, interpolated between stamps.
#[test]
fn statistics_begin_after_the_warm_up() {
    let workload = workload(
        "cpus = 1\nduration = \"100ms\"\nwarmup = \"50ms\"\n\
         task = [ { name = \"A\", program = [ { run = \"forever\" } ] } ]",
    );
    let mut thread = hog(0, 100 * MS, &[(40 * MS, 40 * MS), (60 * MS, 50 * MS), (100 * MS, 90 * MS)]);
    let job =
        |began_ns| Observation::JobDone { began_ns, ended_ns: 100 * MS, service_ns: MS, wait_ns: 3 * MS };
    thread.observations.extend([job(49 * MS), job(50 * MS)]);
    let run = report(&workload, &run_of(vec![thread]));
    // 45 ms of the 90 until the warm-up.
    assert_eq!((run.tasks[0].service_ns, run.tasks[0].entitled_ns), (45 * MS, 50 * MS));
    assert_eq!((run.tasks[0].jobs, run.response_ns.mean, run.wait_ns.mean), (1, Some(50e6), Some(3e6)));
    assert_eq!(run.tasks[0].finished_ns, Some(100 * MS));
}

/// Threads of a process divide its weight if the policy promises that.
#[test]
fn entitled_by_process_if_asked() {
    let workload = workload(
        "cpus = 1\nduration = \"90ms\"\ntask = [\n\
         { name = \"A\", process = \"P\", count = 2, program = [ { run = \"forever\" } ] },\n\
         { name = \"B\", program = [ { run = \"forever\" } ] } ]",
    );
    let mut second = hog(0, 90 * MS, &[]);
    second.number = 1;
    let mut measured_run = run_of(vec![hog(0, 90 * MS, &[]), second, hog(1, 90 * MS, &[])]);
    let entitled = |run: Run| run.tasks.iter().map(|task| task.entitled_ns / MS).collect::<Vec<_>>();
    assert_eq!(entitled(report(&workload, &measured_run)), [30, 30, 30]);
    measured_run.sharing.division = Division::Evenly;
    let by_process = report(&workload, &measured_run);
    assert_eq!(by_process.tasks[2].entitled_ns, 45 * MS);
    assert!(entitled(by_process)[..2].iter().all(|ms| (22..=23).contains(ms)));
}

/// An observation that comes late is put at the time of the one before it, not earlier.
#[test]
fn events_of_a_thread_stay_in_order() {
    let workload = workload("cpus = 1\ntask = [ { name = \"A\", program = [ { run = \"2ms\" } ] } ]");
    let observations = vec![
        Observation::WorkArrives { at_ns: 0, work_ns: 2 * MS },
        Observation::Ran { woken_ns: 0, delay_ns: MS },
        Observation::Stamp { at_ns: MS, received_ns: 0 },
        Observation::Stamp { at_ns: 3 * MS, received_ns: 2 * MS },
        Observation::JobDone { began_ns: 0, ended_ns: 3 * MS, service_ns: 2 * MS, wait_ns: MS },
    ];
    let thread = MeasuredThread {
        ended_ns: 3 * MS,
        received_ns: 2 * MS,
        migrations: Some(2),
        switches: 5,
        observations,
        ..MeasuredThread::default()
    };
    let run = report(&workload, &run_of(vec![thread]));
    assert_eq!((run.duration_ns, run.switches, run.migrations), (3 * MS, 5, Some(2)));
    assert_eq!((run.wake_delay_ns.mean, run.slowdown.mean), (Some(1e6), Some(1.5)));
    assert_eq!((run.tasks[0].entitled_ns, run.tasks[0].error_min_ns), (2 * MS, -1_000_000));
}
