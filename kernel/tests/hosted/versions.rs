//! Later kernels call the host in another way, and the host schedules as before. How often `dequeue` is called is known from what each
//! kernel does, so a model that ignored the version would fail here.

use std::sync::atomic::{AtomicU32, Ordering};

use divvy_results::report::HostCalls;

use super::*;

const VERSIONS: [&str; 3] = ["linux-6.12", "linux-7.1", "linux-7.3"];

/// More tasks than CPUs, so that a CPU picks tasks from other CPUs; and tasks that sleep.
fn moving() -> String {
    ON_FOUR_CPUS.to_owned()
        + r#"[[task]]
name = "sleeper"
count = 3
program = [{ loop = "forever", do = [{ run = { exp = "200us" } }, { sleep = { exp = "20ms" } }] }]
"#
}
const TASKS: u64 = 11;

/// The run, its calls, and its decision log.
fn run_in(version: &str, text: &str, policy: &str) -> (Run, HostCalls, Vec<u8>) {
    // Tests run side by side.
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let log = std::env::temp_dir().join(format!("divvy-versions-{}-{number}.log", std::process::id()));
    let hosted = HostedOptions { log: Some(log.clone()), ..kernel(version) };
    let run = in_host(text, policy, &Options::default(), &hosted).runs.remove(0);
    let report = verify(&log, &mut |_| Ok(())).unwrap_or_else(|error| panic!("{version}, {policy}: {error}"));
    assert!(matches!(report.verdict, Verdict::Ok), "{version}, {policy}: {report:?}");
    let bytes = std::fs::read(&log).expect("it was written");
    std::fs::remove_file(log).expect("it was written");
    let calls = run.host_calls.expect("a kernel counts them");
    (run, calls, bytes)
}

/// A kernel before 7.1 calls dequeue only if it takes back a task that waits in the host, and no step of a workload makes it do so. Later ones
/// call it once for each task that leaves the host: for all that were enqueued but those that still wait. 7.1 calls it late for a
/// task that goes to another CPU, with a flag as if the task was taken back; 7.3 at once, without.
#[test]
fn each_version_calls_dequeue_as_that_kernel_does() {
    for policy in ["sfq", "gr3", "eevdf", "rr"] {
        let [(_, old, _), (moved, late, _), (_, exact, _)] =
            VERSIONS.map(|version| run_in(version, &moving(), policy));
        assert!(old.enqueue > 1000, "{policy}: {old:?}");
        assert_eq!((old.dequeue, old.taken_back), (0, 0), "{policy}");
        for calls in [late, exact] {
            assert_eq!(calls.enqueue, old.enqueue, "{policy}: {calls:?}");
            assert!((old.enqueue - TASKS..=old.enqueue).contains(&calls.dequeue), "{policy}: {calls:?}");
        }
        // A task's first CPU is no migration for the report, and may be another one than where it came to be.
        let migrations = moved.migrations.expect("counted");
        assert!(migrations > 100, "{policy}");
        assert!(
            (migrations..=migrations + TASKS).contains(&late.taken_back),
            "{policy}: {late:?}, {migrations}"
        );
        assert_eq!(exact.taken_back, 0, "{policy}");
    }
}

/// The host passes over what only later kernels say. So each record of the log is the same, and so is all that tasks get.
#[test]
fn decisions_are_the_same_in_each_version() {
    for policy in ["sfq", "gr3+feasible", "eevdf"] {
        let [old, late, exact] = VERSIONS.map(|version| run_in(version, &moving(), policy));
        for (version, other) in [("7.1", &late), ("7.3", &exact)] {
            assert!(other.2 == old.2, "{policy}: another log in {version}");
            let json = |run: &Run| {
                serde_json::to_string(&Run { host_calls: None, ..run.clone() }).expect("a report is JSON")
            };
            assert_eq!(json(&other.0), json(&old.0), "{policy}: {version}");
        }
    }
}

#[test]
fn shares_are_by_weight_and_a_seed_gives_the_same_bytes_in_later_versions() {
    for version in ["linux-7.1", "linux-7.3:hz=250"] {
        let json = |seed| {
            let options = Options { seed, reps: 2, ..Options::default() };
            let report = in_host(&moving(), "lottery", &options, &kernel(version));
            assert!(
                report.host.as_deref().is_some_and(|host| host.starts_with(version)),
                "{:?}",
                report.host
            );
            serde_json::to_string(&report).expect("a report is JSON")
        };
        let first = json(7);
        assert!(first == json(7) && first != json(8), "{version}");
        for policy in ["sfq", "gr3", "eevdf"] {
            let run = in_host(ON_FOUR_CPUS, policy, &Options::default(), &kernel(version)).runs.remove(0);
            assert_shared_by_weight(&format!("{version}, {policy}"), &run);
        }
    }
}

/// Later kernels tell a limit (`cgroup_set_bandwidth`); in 6.12 the host reads it.
#[test]
fn a_limit_holds_in_each_version() {
    let text = r#"
cpus = 2
duration = "2s"
[[group]]
name = "box"
cpu_max = { quota = "50ms" }
[[task]]
name = "limited"
count = 3
group = "box"
program = [{ run = "forever" }]
"#;
    for version in VERSIONS {
        let run = in_host(text, "sfq", &Options::default(), &kernel(version)).runs.remove(0);
        let got: u64 = service_ns(&run).iter().sum();
        // Half of a CPU, to a tick on each.
        assert!(got.abs_diff(SECOND) <= 2 * MS, "{version}: {got} ns");
    }
}
