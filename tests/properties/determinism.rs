//! Same workload, seed and policy: the same bytes, whatever runs beside it, on however many threads, on any machine.

use divvy_policy::spec::{Spec, parse};
use divvy_results::report::Run;
use divvy_sim::run::{Options, simulate};
use divvy_tests::{record, specs};
use divvy_workload::Workload;

/// Every kind of randomness, and everything that tasks can do to each other.
const BUSY: &str = r#"
cpus = 3
quantum = "1ms"
duration = "2s"
warmup = "100ms"
tick = "333us"
switch_cost = "2us"
migration_cost = "10us"

[[task]]
name = "hog"
weight = 3
count = 2
program = [ { run = "forever" } ]

[[task]]
name = "worker"
process = "P"
nice = -3
count = 3
program = [ { loop = 40, do = [
    { run = { lognormal = { median = "3ms", sigma = 0.7 } } }, { lock = "m" }, { run = { erlang = { k = 3, mean = "1ms" } } },
    { unlock = "m" }, { barrier = "b" }, { sleep = { uniform = { lo = "1us", hi = "5ms" } } } ] } ]

[[task]]
name = "parent"
affinity = [0, 2]
program = [ { loop = 50, do = [ { run = { choice = { values = ["1ms", "2ms", "7ms"] } } }, { fork = "child" }, { yield = true } ] } ]

[[task]]
name = "child"
start = "fork"
process = "P"
program = [ { run = { bounded_pareto = { shape = 1.2, lo = "100us", hi = "50ms" } } } ]

[[task]]
name = "open"
arrivals = { open = { exp = "5ms" } }
program = [ { run = { hyper = { mean = "2ms", scv = 5 } } } ]

[[task]]
name = "users"
count = 4
stop = "1.5s"
arrivals = { closed = { pareto = { shape = 2.5, scale = "5ms" } } }
program = [ { run = { exp = "2ms" } } ]
"#;

fn busy() -> Workload {
    Workload::parse(BUSY, "busy.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn specs() -> Vec<Spec> {
    specs::specs().iter().map(|text| parse(text, divvy_policy::all()).expect("a known spec")).collect()
}

fn json(workload: &Workload, specs: &[Spec], seed: u64, reps: u32) -> String {
    let options = Options { seed, reps, ..Options::default() };
    let report = simulate(workload, specs, &options, &()).unwrap_or_else(|e| panic!("{e}"));
    serde_json::to_string(&report).expect("a report is JSON")
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

#[test]
fn the_same_bytes_on_one_thread_and_on_several() {
    let (workload, specs) = (busy(), specs());
    let one = on_threads(1, || json(&workload, &specs, 7, 2));
    assert_eq!(one, on_threads(1, || json(&workload, &specs, 7, 2)), "again");
    assert_eq!(one, on_threads(2, || json(&workload, &specs, 7, 2)), "on two threads");
    assert_eq!(one, on_threads(5, || json(&workload, &specs, 7, 2)), "on five threads");
}

#[test]
fn another_seed_is_another_run() {
    let specs = &specs()[..1];
    assert_ne!(json(&busy(), specs, 7, 1), json(&busy(), specs, 8, 1));
}

/// A run is the same alone as among others, and the first repetition is the same however many follow.
#[test]
fn runs_do_not_depend_on_each_other() {
    let options = |reps| Options { seed: 3, reps, ..Options::default() };
    let specs = specs();
    let all = simulate(&busy(), &specs, &options(2), &()).expect("it runs");
    let text = |run: Run| serde_json::to_string(&run).expect("JSON");
    for (i, spec) in specs.iter().enumerate() {
        let alone = simulate(&busy(), std::slice::from_ref(spec), &options(1), &()).expect("it runs");
        assert_eq!(text(alone.runs[0].clone()), text(all.runs[2 * i].clone()), "{spec}");
        assert_ne!(
            text(all.runs[2 * i].clone()),
            text(all.runs[2 * i + 1].clone()),
            "{spec}: repetitions differ"
        );
    }
}

/// Random times are each task's own: another task at the end changes none of them.
#[test]
fn another_task_leaves_the_demands_of_the_first_alone() {
    let first = "[[task]]\nname = \"a\"\ncount = 5\nprogram = [ { loop = 9, do = [ { run = { exp = \"3ms\" } }, { sleep = { exp = \"3ms\" } } ] } ]\n";
    let second = "[[task]]\nname = \"b\"\ncount = 3\nprogram = [ { run = { exp = \"20ms\" } } ]\n";
    let service = |toml: &str, spec: &str| -> Vec<u64> {
        let workload = Workload::parse(toml, "w.toml").unwrap_or_else(|e| panic!("{e}"));
        record::run(&workload, spec, 5).run.tasks.iter().take(5).map(|t| t.service_ns).collect()
    };
    let alone = service(first, "rr");
    for spec in specs::specs() {
        assert_eq!(service(&format!("{first}{second}"), &spec), alone, "{spec}");
    }
}

/// Observing a run changes nothing.
#[test]
fn an_observed_run_is_the_same_run() {
    let spec = parse("sfq+procfair", divvy_policy::all()).expect("a spec");
    let report =
        simulate(&busy(), &[spec], &Options { seed: 9, ..Options::default() }, &()).expect("it runs");
    let observed = record::run(&busy(), "sfq+procfair", 9).run;
    assert_eq!(
        serde_json::to_string(&report.runs[0]).expect("JSON"),
        serde_json::to_string(&observed).expect("JSON")
    );
}

/// FNV-1a over every slice: on another machine or with another compiler these must be the same numbers. They change
/// when the model of the machine or a random stream does, on purpose.
#[test]
fn slices_are_pinned() {
    let digest = |spec: &str| {
        let slices = record::run(&busy(), spec, 1).slices;
        let words = slices.iter().flat_map(|s| [s.cpu.get().into(), s.row as u64, s.from_ns, s.to_ns]);
        words.flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
    };
    let pinned = ["fcfs", "rr", "sfq"].map(|spec| format!("{spec} {:016x}", digest(spec)));
    assert_eq!(pinned, ["fcfs 2b559f33e417a0fd", "rr e3dd6b8448a908e1", "sfq 68b172d36dc29411"]);
}
