//! Machines of hundreds and thousands of CPUs: affinity beyond the kernel host's 256, and shares where some tasks are too heavy.

use divvy_policy::CpuId;
use divvy_results::report::Run;
use divvy_workload::Workload;

use crate::model::check_slices;
use divvy_tests::record::run;

fn parsed(text: &str) -> Workload {
    Workload::parse(text, "large.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// Tasks that are bound to CPUs in every 64, alone and in sets, some of which sleep, beside more hogs than CPUs.
const PINNED: &str = r#"
cpus = 1024
quantum = "1ms"
duration = "60ms"
task = [
  { name = "hog", count = 1500, weight = 2, program = [ { run = "forever" } ] },
  { name = "last", count = 3, affinity = [1023], program = [ { run = "forever" } ] },
  { name = "alone", affinity = [257], weight = 4, program = [ { run = "forever" } ] },
  { name = "spread", count = 5, affinity = [63, 64, 256, 511, 512, 1000], program = [ { run = "forever" } ] },
  { name = "sleeper", count = 20, affinity = [300, 700, 701], program = [ { loop = "forever", do = [ { run = "300us" }, { sleep = "2ms" } ] } ] },
  { name = "comes", count = 40, start = "5ms", affinity = [0, 600], program = [ { run = "500us" } ] },
]"#;

/// Each stays where it may run, and gets something; the engine's own checks hold, no CPU is idle beside a task that waits for it.
#[test]
fn tasks_of_1024_cpus_stay_where_they_may_run() {
    let workload = parsed(PINNED);
    for policy in ["rr", "sfq", "gr3", "cfs", "eevdf", "sfs", "pbs", "lottery", "bvt+feasible", "stride"] {
        let record = run(&workload, policy, 0);
        check_slices(&workload, &record);
        let used = |cpu: u32| record.slices.iter().any(|slice| slice.cpu == CpuId::new(cpu));
        assert!((0..1024).all(used), "{policy}: a CPU did nothing beside more hogs than CPUs");
        let bound = record.run.tasks.iter().filter(|task| !task.name.starts_with("hog"));
        for task in bound {
            assert!(task.service_ns > 0, "{policy}: {} got nothing", task.name);
        }
    }
}

/// The greatest number of CPUs: with fewer tasks than CPUs each has one of its own, those that are bound where they are.
#[test]
fn all_of_4096_cpus_are_used() {
    let text = r#"
cpus = 4096
quantum = "1ms"
duration = "5ms"
task = [
  { name = "hog", count = 4000, program = [ { run = "forever" } ] },
  { name = "last", affinity = [4095], program = [ { run = "forever" } ] },
  { name = "one", affinity = [4032], program = [ { run = "forever" } ] },
]"#;
    let workload = parsed(text);
    for policy in ["rr", "sfq", "gr3", "eevdf", "sfs+feasible"] {
        let record = run(&workload, policy, 0);
        check_slices(&workload, &record);
        for task in &record.run.tasks {
            assert_eq!(task.service_ns, 5_000_000, "{policy}: {}", task.name);
        }
    }
}

const CPUS: f64 = 300.0;
/// How many there are of each weight.
const WEIGHTS: [(u32, u32); 4] = [(50, 1000), (200, 20), (300, 2), (100, 1)];

/// Water-filling: whoever asks for more than a CPU gets one, the heaviest first, and the others share what is left by weight.
/// The part of a CPU of each, by weight.
fn filled() -> Vec<f64> {
    let (mut cpus, mut weight): (f64, f64) =
        (CPUS, WEIGHTS.iter().map(|&(count, each)| f64::from(count * each)).sum());
    let part = |&(count, each): &(u32, u32)| {
        let part = (f64::from(each) * cpus / weight).min(1.0);
        if part == 1.0 {
            cpus -= f64::from(count);
            weight -= f64::from(count * each);
        }
        part
    };
    WEIGHTS.iter().map(part).collect()
}

fn of_weights(run: &Run, value: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    let parts = filled();
    let expected = WEIGHTS.iter().zip(parts).flat_map(|(&(count, _), part)| vec![part; count as usize]);
    assert_eq!(run.tasks.len(), WEIGHTS.iter().map(|&(count, _)| count as usize).sum::<usize>());
    expected.enumerate().map(|(at, expected)| (value(at), expected)).collect()
}

/// On 300 CPUs 250 of 650 tasks are too heavy. The heaviest are by their weight, the next only because of these.
#[test]
fn shares_on_300_cpus_are_those_of_water_filling() {
    assert_eq!(filled()[..2], [1.0, 1.0], "too heavy");
    assert!(filled()[2] < 1.0);
    let tasks = WEIGHTS.map(|(count, weight)| {
        format!("  {{ name = \"w{weight}\", count = {count}, weight = {weight}, program = [ {{ run = \"forever\" }} ] }},\n")
    });
    let text = format!("cpus = 300\nquantum = \"1ms\"\nduration = \"1s\"\ntask = [\n{}]", tasks.concat());
    let workload = parsed(&text);
    for policy in ["sfs", "sfq+feasible", "gr3"] {
        let run = run(&workload, policy, 0).run;
        for (entitled, expected) in of_weights(&run, |at| run.tasks[at].entitled_ns as f64 / 1e9) {
            assert!((entitled - expected).abs() < 1e-6, "{policy}: entitled to {entitled}, not {expected}");
        }
        // 20 quanta: none of the three promises more exactly on so many CPUs.
        for (share, expected) in of_weights(&run, |at| run.tasks[at].service_ns as f64 / 1e9) {
            assert!((share - expected).abs() < 0.02, "{policy}: a share of {share}, not {expected}");
        }
    }
}
