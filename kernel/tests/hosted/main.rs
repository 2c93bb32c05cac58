//! Workloads in the BPF host in a model of Linux, beside the same workloads under the policy's machine alone. The tests compile the host, so
//! they need a C compiler.

mod limits;
mod versions;

use std::path::PathBuf;

use divvy_kernel::hosted::{self, HostedError, HostedOptions};
use divvy_log::{Verdict, verify};
use divvy_policy::spec::{self, Spec};
use divvy_policy::{Failure as _, FailureKind};
use divvy_results::report::{Report, Run};
use divvy_results::schedule::Window;
use divvy_sim::run::{Options, simulate};
use divvy_workload::Workload;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn workload(text: &str) -> Workload {
    Workload::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn specs(policy: &str) -> Vec<Spec> {
    vec![spec::parse(policy, divvy_policy::all()).expect("a spec")]
}

fn kernel(name: &str) -> HostedOptions {
    HostedOptions { kernel: name.parse().expect("a kernel"), log: None }
}

fn in_host(text: &str, policy: &str, options: &Options, hosted: &HostedOptions) -> Report {
    hosted::simulate(&workload(text), &specs(policy), options, hosted, &|_| {}, &())
        .unwrap_or_else(|error| panic!("{policy}: {error}\n{text}"))
}

fn hosted(text: &str, policy: &str) -> Run {
    in_host(text, policy, &Options::default(), &kernel("linux-6.12")).runs.remove(0)
}

fn bare(text: &str, policy: &str) -> Run {
    let report = simulate(&workload(text), &specs(policy), &Options::default(), &());
    report.unwrap_or_else(|error| panic!("{policy}: {error}")).runs.remove(0)
}

fn service_ns(run: &Run) -> Vec<u64> {
    run.tasks.iter().map(|task| task.service_ns).collect()
}

/// A log of the run, which must verify: the native machine decides as the one in the host did.
fn verified(text: &str, policy: &str, name: &str) -> Run {
    verified_with(text, policy, name, &Options::default())
}

fn verified_with(text: &str, policy: &str, name: &str, options: &Options) -> Run {
    let log = std::env::temp_dir().join(format!("divvy-hosted-{}-{name}.log", std::process::id()));
    let hosted = HostedOptions { log: Some(log.clone()), ..kernel("linux-6.12") };
    let run = in_host(text, policy, options, &hosted).runs.remove(0);
    let report = verify(&log, &mut |_| Ok(())).unwrap_or_else(|error| panic!("{policy}: {error}"));
    assert!(matches!(report.verdict, Verdict::Ok), "{policy}: {report:?}");
    assert!(report.decisions > 10, "{policy}: {report:?}");
    std::fs::remove_file(log).expect("it was written");
    run
}

// ---- one CPU: the host's schedule is the machine's ----

const HOGS: &str = r#"
cpus = 1
duration = "2s"
quantum = "4ms"
[[task]]
name = "a"
program = [{ run = "forever" }]
[[task]]
name = "b"
nice = -3
program = [{ run = "forever" }]
[[task]]
name = "c"
weight = 700
program = [{ run = "forever" }]
"#;

/// Slices of whole ticks end where they would without ticks, so what each task gets differs by a tick at most.
#[test]
fn with_quanta_of_whole_ticks_tasks_get_what_the_machine_gives_them() {
    for policy in ["rr", "sfq", "stride", "gr3", "lottery", "gr3+feasible"] {
        let (host, machine) = (hosted(HOGS, policy), bare(HOGS, policy));
        for (host, machine) in service_ns(&host).into_iter().zip(service_ns(&machine)) {
            assert!(host.abs_diff(machine) <= MS, "{policy}: {host} ns in the host, {machine} ns without");
        }
        assert_eq!(service_ns(&host).iter().sum::<u64>(), 2 * SECOND, "{policy}");
    }
}

/// A file named as on the command line: its sources are in the program, and its log verifies once it is loaded.
#[test]
fn a_policy_file_decides_in_the_host_as_the_built_in_one() {
    let rr = divvy_policy::compile::POLICY_SOURCES.iter().find(|source| source.0 == "policy/select/rr.h");
    let text = rr.expect("rr is built in").1.replace("rr_", "turns_").replace("struct rr", "struct turns");
    let folder = std::env::temp_dir().join(format!("divvy-hosted-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a directory");
    std::fs::write(folder.join("turns.h"), text).expect("writable");
    let path = folder.join("turns.h").display().to_string();
    divvy_policy::file::load(&path).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(service_ns(&verified(HOGS, &path, "file")), service_ns(&hosted(HOGS, "rr")));
    std::fs::remove_dir_all(folder).expect("removed");
}

/// A task alone runs when it wakes, in both.
#[test]
fn a_task_alone_blocks_and_wakes_as_without_a_host() {
    let text = "cpus = 1\nduration = \"1s\"\n[[task]]\nname = \"t\"\nprogram = [{ loop = \"forever\", do = [{ run = \"3ms\" }, { sleep = \"7ms\" }] }]\n";
    let (host, machine) = (hosted(text, "sfq"), bare(text, "sfq"));
    assert_eq!(service_ns(&host), service_ns(&machine));
    assert_eq!(host.response_ns.mean, Some(3.0 * MS as f64));
    assert_eq!(host.response_ns.count, machine.response_ns.count);
}

/// Blocking tasks beside a hog: the sleeper gets what it asks for, and its jobs are as many.
#[test]
fn blocking_beside_a_hog() {
    let text = r#"
cpus = 1
duration = "4s"
[[task]]
name = "hog"
program = [{ run = "forever" }]
[[task]]
name = "sleeper"
program = [{ loop = "forever", do = [{ run = "1ms" }, { sleep = "9ms" }] }]
"#;
    for policy in ["sfq", "eevdf", "gr3", "rr"] {
        let (host, machine) = (hosted(text, policy), bare(text, policy));
        let (host, machine) = (service_ns(&host), service_ns(&machine));
        assert_eq!(host.iter().sum::<u64>(), 4 * SECOND, "{policy}");
        // Each of some 300 jobs waits for the end of a tick, so a few jobs fit less or more.
        assert!(host[1].abs_diff(machine[1]) < machine[1] / 10, "{policy}: {host:?}, {machine:?}");
    }
}

// ---- what tasks do to each other ----

/// A lock handed over, a barrier and tokens: nobody misses a wake-up that comes at the moment of its sleep.
#[test]
fn no_wake_up_is_lost() {
    let text = r#"
cpus = 2
duration = "1s"
[barrier.b]
parties = 3
[[task]]
name = "worker"
count = 3
program = [{ loop = "forever", do = [{ lock = "l" }, { run = "300us" }, { unlock = "l" }, { run = "100us" }, { barrier = "b" }] }]
[[task]]
name = "client"
program = [{ loop = "forever", do = [{ run = "50us" }, { wake = "server" }, { wait = true }] }]
[[task]]
name = "server"
program = [{ loop = "forever", do = [{ wait = true }, { run = "50us" }, { wake = "client" }] }]
"#;
    for policy in ["sfq", "rr", "gr3"] {
        let (host, machine) = (hosted(text, policy), bare(text, policy));
        let (host, machine) = (service_ns(&host), service_ns(&machine));
        for (host, machine) in host.iter().zip(&machine) {
            assert!(host.abs_diff(*machine) < machine / 4, "{policy}: {host:?}, {machine:?}");
        }
    }
}

/// Parents fork, children exit before and after them, threads of a process outlive its first one, tasks come from outside, and are ended
/// from outside while they run, wait and sleep. The log of all that verifies: no birth from outside is a fork.
#[test]
fn births_and_ends_are_what_the_machine_may_be_told() {
    let text = r#"
cpus = 2
duration = "1s"
[[task]]
name = "shell"
nice = 5
program = [{ loop = "forever", do = [{ run = "2ms" }, { fork = "job" }, { sleep = "4ms" }] }]
[[task]]
name = "job"
start = "fork"
weight = 500
program = [{ run = "3ms" }]
[[task]]
name = "arrival"
arrivals = { open = "10ms" }
program = [{ run = "1ms" }]
[[task]]
name = "leader"
process = "p"
program = [{ run = "100ms" }]
[[task]]
name = "thread"
count = 2
process = "p"
program = [{ loop = "forever", do = [{ run = "2ms" }, { sleep = "1ms" }] }]
stop = "700ms"
[[task]]
name = "late"
process = "p"
start = "800ms"
program = [{ run = "50ms" }]
[[task]]
name = "stopped"
count = 4
stop = "333300us"
program = [{ run = "forever" }]
[[task]]
name = "asleep"
stop = "250ms"
program = [{ run = "1ms" }, { sleep = "10s" }]
"#;
    for policy in ["sfq+procfair", "gr3", "eevdf"] {
        let run = verified(text, policy, &policy.replace('+', "-"));
        let jobs = run.tasks.iter().find(|task| task.name == "arrival").expect("it is there");
        assert!(jobs.service_ns > 90 * MS, "{policy}: {}", jobs.service_ns);
    }
}

#[test]
fn yields_and_weights_of_groups() {
    let text = r#"
cpus = 1
duration = "1s"
[[group]]
name = "heavy"
weight = 3072
[[group]]
name = "light"
[[task]]
name = "one"
group = "light"
program = [{ loop = "forever", do = [{ run = "1ms" }, { yield = true }] }]
[[task]]
name = "many"
count = 3
group = "heavy"
program = [{ run = "forever" }]
"#;
    let run = verified(text, "sfq+groups", "groups");
    let service = service_ns(&run);
    let heavy: u64 = service[1..].iter().sum();
    assert!(heavy.abs_diff(3 * SECOND / 4) < 12 * MS, "{service:?}");
}

// ---- several CPUs ----

#[test]
fn pinned_tasks_run_where_they_may_and_nowhere_else() {
    let text = r#"
cpus = 3
duration = "1s"
[[task]]
name = "pinned"
count = 2
affinity = [1]
program = [{ loop = "forever", do = [{ run = "5ms" }, { sleep = "1ms" }] }]
[[task]]
name = "free"
count = 4
program = [{ run = "forever" }]
"#;
    let options = Options { schedule: Some(Window::WHOLE), ..Options::default() };
    for policy in ["sfq", "gr3", "rr"] {
        let run = in_host(text, policy, &options, &kernel("linux-6.12")).runs.remove(0);
        let schedule = run.schedule.expect("it was asked for");
        let is_pinned = |task: u32| run.tasks[schedule.tasks[task as usize].row].name.starts_with("pinned");
        let pinned = |cpu: usize| schedule.cpus[cpu].iter().filter(|slice| is_pinned(slice.task)).count();
        assert_eq!((pinned(0), pinned(2)), (0, 0), "{policy}");
        assert!(pinned(1) > 10, "{policy}: {}", pinned(1));
    }
}

/// More tasks than CPUs, of which two weigh twice as much
const ON_FOUR_CPUS: &str = r#"
cpus = 4
duration = "3s"
[[task]]
name = "one"
count = 6
program = [{ run = "forever" }]
[[task]]
name = "two"
count = 2
weight = 2048
program = [{ run = "forever" }]
"#;

/// A run of [`ON_FOUR_CPUS`] has ten weights that share four CPUs. A task is off its part by few quanta of 4 ms, and an interrupt takes a few us.
fn assert_shared_by_weight(what: &str, run: &Run) {
    for (index, service) in service_ns(run).into_iter().enumerate() {
        let due = 3 * SECOND * 4 / 10 * if index < 6 { 1 } else { 2 };
        assert!(service.abs_diff(due) < 30 * MS, "{what}: {service} ns, not {due}");
    }
}

#[test]
fn several_cpus_are_busy_and_shared_by_weight() {
    for policy in ["sfq", "gr3", "eevdf"] {
        let run = hosted(ON_FOUR_CPUS, policy);
        assert_shared_by_weight(policy, &run);
        assert!(run.utilization > 0.999, "{policy}: {}", run.utilization);
        assert!(run.migrations.is_some_and(|migrations| migrations > 0), "{policy}");
    }
}

// ---- ticks ----

/// A quantum of 1 ms lasts a tick: 1, 4 or 10 ms.
#[test]
fn slices_end_at_ticks() {
    let text = "cpus = 1\nduration = \"3s\"\nquantum = \"1ms\"\n[[task]]\nname = \"hog\"\ncount = 2\nprogram = [{ run = \"forever\" }]\n";
    for (hz, switches) in [(1000, 3000), (300, 900), (250, 750), (100, 300)] {
        let run =
            in_host(text, "rr", &Options::default(), &kernel(&format!("linux-6.12:hz={hz}"))).runs.remove(0);
        assert!(run.switches.abs_diff(switches) <= 2, "{hz} Hz: {} switches", run.switches);
        let service = service_ns(&run);
        assert!(service[0].abs_diff(service[1]) <= SECOND / hz, "{hz} Hz: {service:?}");
    }
}

// ---- the run as a whole ----

#[test]
fn a_seed_gives_the_same_bytes() {
    let text = r#"
cpus = 2
duration = "500ms"
[[task]]
name = "t"
count = 5
program = [{ loop = "forever", do = [{ run = { exp = "2ms" } }, { sleep = { exp = "3ms" } }] }]
"#;
    let json = |seed| {
        let options = Options { seed, reps: 2, ..Options::default() };
        let report = in_host(text, "lottery", &options, &kernel("linux-6.12"));
        assert_eq!(report.host.as_deref(), Some("linux-6.12:hz=1000"));
        serde_json::to_string(&report).expect("a report is JSON")
    };
    let first = json(7);
    assert!(first == json(7));
    assert!(first != json(8));
}

#[test]
fn what_the_host_does_not_do_is_refused() {
    let refused = |text: &str, policy: &str| {
        let hosted = kernel("linux-6.12");
        let text = workload(text);
        let error = hosted::simulate(&text, &specs(policy), &Options::default(), &hosted, &|_| {}, &());
        let error = error.expect_err("it is refused");
        (error.kind(), error.to_string())
    };
    let with = |cpus: u32, more: &str| {
        format!(
            "cpus = {cpus}\nduration = \"1s\"\n{more}\n[[task]]\nname = \"t\"\ngroup = \"g\"\nprogram = [{{ run = \"forever\" }}]\n"
        )
    };
    let cases = [
        (with(1, ""), "srpt", FailureKind::Usage, "does not run in a kernel's host"),
        (with(1, ""), "sfq+flow", FailureKind::Usage, "the model has no files"),
        (with(65, ""), "sfq", FailureKind::BadInput, "at most 64 CPUs, not 65"),
        (
            with(1, "[[group]]\nname = \"g\"\nweight = 3\n"),
            "sfq+groups",
            FailureKind::BadInput,
            "the cpu.weight of a cgroup is a whole number",
        ),
    ];
    for (text, policy, kind, part) in cases {
        let (is, said) = refused(&text, policy);
        assert!(is == kind && said.contains(part), "{policy}: {said}");
    }
    let log = HostedOptions { log: Some(PathBuf::from("x.log")), ..kernel("linux-6.12") };
    let two = Options { reps: 2, ..Options::default() };
    let error =
        hosted::simulate(&workload(HOGS), &specs("rr"), &two, &log, &|_| {}, &()).expect_err("two runs");
    assert!(matches!(error, HostedError::SeveralLogs), "{error}");
}
