//! Tasks on several shards (`papers/placement.md`): nothing is lost between them, no CPU idles beside a task that it may take, the
//! order of tags holds across shards, and equal tasks stay within the stated bound of the fluid model.

use divvy_policy::spec::parse;
use divvy_results::observation::Service;
use divvy_sim::oracle::gms;
use divvy_sim::run::{Options, simulate};
use divvy_tests::cases::for_all;
use divvy_tests::record::run;
use divvy_tests::specs::{selections, specs};
use divvy_tests::workloads::{Kinds, MS, workloads};
use divvy_workload::Workload;
use num_rational::BigRational;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::model;

/// `@...` with one to 64 CPUs in a shard.
fn placements() -> impl Strategy<Value = String> {
    let size = prop_oneof![3 => 1..=4_u32, 1 => 1..=64_u32];
    let steal = prop_oneof![3 => Just(""), 1 => Just(":steal=off")];
    (size, 0..=3_u32, steal).prop_map(|(size, skew, steal)| format!("@shards:size={size}:skew={skew}{steal}"))
}

fn stealing_placements() -> impl Strategy<Value = String> {
    placements().prop_map(|placement| placement.replace(":steal=off", ""))
}

/// A shard that has all CPUs decides as the machine alone: every number of the report is the same, with any modifiers.
#[test]
fn one_shard_gives_the_same_bytes() {
    let json = |workload: &Workload, text: &str| {
        let spec = parse(text, divvy_policy::all()).unwrap_or_else(|e| panic!("{e}"));
        let options = Options { seed: 5, ..Options::default() };
        let mut report = simulate(workload, &[spec], &options, &()).unwrap_or_else(|e| panic!("{e}"));
        report.runs[0].policy.clear();
        serde_json::to_string(&report).expect("a report is JSON")
    };
    for_all(12, 21, workloads(Kinds::All, 1..=8, 10), |workload| {
        for spec in specs() {
            let (alone, placed) = (json(&workload, &spec), json(&workload, &format!("{spec}@shards:size=8")));
            assert_eq!(alone, placed, "{spec}");
        }
    });
}

/// Locks, forks, arrivals, affinity, ticks and costs at once, on shards: service is what programs ask for, and the engine's own checks
/// hold, among them that no CPU is idle beside a task that it may take.
#[test]
fn placement_r5_r6_nothing_is_lost_between_shards() {
    let cases = (workloads(Kinds::All, 1..=8, 10), placements(), any::<u64>());
    for_all(40, 22, cases, |(workload, placement, seed)| {
        for selection in selections() {
            let record = run(&workload, &format!("{selection}{placement}"), seed);
            model::check_slices(&workload, &record);
            model::check_service(&workload, &record);
            model::check_demands(&workload, &record);
        }
    });
}

/// A task that calls an idle CPU may lose it to one that may run on fewer CPUs. It then calls another one.
#[test]
fn placement_r5_a_task_that_loses_its_cpu_calls_another() {
    let text = "cpus = 6\nquantum = \"100us\"\n[[task]]\nname = \"first\"\nprogram = [ { run = \"13ns\" } ]\n\
        [[task]]\nname = \"bound\"\ncount = 2\naffinity = [0, 1]\nprogram = [ { run = \"2ms\" } ]\n\
        [[task]]\nname = \"other\"\ncount = 4\naffinity = [1, 2, 5]\nprogram = [ { run = \"2ms\" }, { sleep = \"1ms\" }, { run = \"2ms\" } ]\n";
    let workload = Workload::parse(text, "bound.toml").unwrap_or_else(|e| panic!("{e}"));
    for selection in selections() {
        for placement in ["@cpu", "@shards:size=2:skew=0", "@shards:size=3"] {
            // The engine ends a run in which a CPU is idle beside a task that may run there.
            let record = run(&workload, &format!("{selection}{placement}"), 0);
            model::check_service(&workload, &record);
        }
    }
}

/// As many CPUs are busy as there are runnable tasks, by a reconstruction from programs and slices alone.
#[test]
fn placement_r5_shards_that_steal_leave_no_cpu_idle() {
    for_all(40, 23, (workloads(Kinds::Plain, 1..=16, 10), stealing_placements()), |(workload, placement)| {
        for selection in selections() {
            let record = run(&workload, &format!("{selection}{placement}"), 0);
            let runnable = model::runnable(&workload, &record);
            model::check_work_conserving(&workload, &record, &runnable);
        }
    });
}

/// Tasks that always run, of these weights, on so many CPUs; with tasks beside them that sleep.
fn hogs(cpus: u32, weights: &[u64], sleepers: u32, duration_ms: u64) -> Workload {
    let mut text = format!("cpus = {cpus}\nquantum = \"1ms\"\nduration = \"{duration_ms}ms\"\n");
    for (i, weight) in weights.iter().enumerate() {
        text += &format!(
            "[[task]]\nname = \"hog{i}\"\nweight = {weight}\nprogram = [ {{ run = \"forever\" }} ]\n"
        );
    }
    if sleepers > 0 {
        text += &format!(
            "[[task]]\nname = \"sleeper\"\ncount = {sleepers}\nweight = 3\nprogram = [ {{ loop = \"forever\", do = [ \
             {{ run = {{ exp = \"700us\" }} }}, {{ sleep = {{ exp = \"2ms\" }} }} ] }} ]\n"
        );
    }
    Workload::parse(&text, "hogs.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

const NICE_0: u128 = 1024;
const QUANTUM_NS: u128 = MS as u128;

/// Tags are whole ns, and each of two that are compared is rounded.
const ROUNDING_NS: u128 = 2;

/// When a task begins a slice on a CPU after another task's, each task that waits has a tag that is not less by more than the skew.
/// Tags of tasks that never sleep are their service over their weight.
fn check_order(weights: &[u64], slices: &[Service], skew: u128, what: &str) {
    let hogs = weights.len();
    let mut served = vec![0_u128; hogs];
    let mut stretches: Vec<Vec<&Service>> = vec![Vec::new(); hogs];
    slices.iter().filter(|s| s.row < hogs).for_each(|s| stretches[s.row].push(s));
    let tag = |task: usize, served: u128| served * NICE_0 / u128::from(weights[task]);
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (task, of_task) in stretches.iter().enumerate() {
        for (at, s) in of_task.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| of_task[at]);
            if before.is_none_or(|before| before.to_ns < s.from_ns || before.cpu != s.cpu) {
                events.push((s.from_ns, true, task));
            }
            events.push((s.to_ns, false, task));
        }
    }
    events.sort_unstable();
    let mut next: Vec<usize> = vec![0; hogs];
    for (now, begins, task) in events {
        if !begins {
            let s = stretches[task][next[task]];
            served[task] += u128::from(s.to_ns - s.from_ns);
            next[task] += 1;
            continue;
        }
        for other in 0..hogs {
            let before = next[other].checked_sub(1).map(|at| stretches[other][at].to_ns);
            let after = stretches[other].get(next[other]).map(|s| s.from_ns);
            let waits = before.is_none_or(|to| to < now) && after.is_none_or(|from| from > now) && now > 0;
            let (own, least) = (tag(task, served[task]), tag(other, served[other]) + skew + ROUNDING_NS);
            assert!(
                !waits || own <= least,
                "{what}: at {now} task {task} has tag {own} and {other} waits below {least}"
            );
        }
    }
}

#[test]
fn placement_r1_r2_r3_r4_tasks_start_in_the_order_of_tags_to_within_the_skew() {
    let weight = prop_oneof![3 => 1..=8_u64, 1 => 1..=1000_u64];
    let cpus = prop_oneof![4 => 1..=12_u32, 1 => 1..=256_u32];
    let shape = (cpus, vec(weight, 1..=60), 0..=6_u32, stealing_placements());
    for_all(150, 24, shape, |(cpus, weights, sleepers, placement)| {
        let workload = hogs(cpus, &weights, sleepers, 150);
        let record = run(&workload, &format!("sfq{placement}"), 0);
        let skew_quanta: u128 =
            placement.split("skew=").nth(1).and_then(|q| q.parse().ok()).expect("it has one");
        // The weight of all runnable tasks is at least that of those that never sleep.
        let total: u64 = weights.iter().sum();
        let skew = skew_quanta * QUANTUM_NS * u128::from(cpus) * NICE_0 / u128::from(total);
        check_order(&weights, &record.slices, skew, &placement);
    });
}

/// A shard is ahead of the others by what it served while they had nothing to do, and takes no more than its part because of that: five tasks on two CPUs
/// have the same to within 10 % each, as where `kernel/model/scripts/by-service-*` compare. If it took for as long, they would have 25 % more and 17 % less.
#[test]
fn placement_r2_a_shard_that_was_alone_is_not_ahead_for_as_long() {
    let text = r#"
cpus = 2
quantum = "4ms"
duration = "80s"
task = [
  { name = "alone", affinity = [1], stop = "59s", program = [ { run = "forever" } ] },
  { name = "equal", count = 5, start = "60s", program = [ { run = "forever" } ] },
]
"#;
    let workload = Workload::parse(text, "alone").expect("a workload");
    for selection in ["rr", "stride", "cfs", "wfq", "gr3"] {
        let record = run(&workload, &format!("{selection}@cpu"), 0);
        let served = |row: usize| -> u64 {
            record
                .slices
                .iter()
                .filter(|slice| slice.row == row)
                .map(|slice| slice.to_ns - slice.from_ns)
                .sum()
        };
        for row in 1..=5 {
            let part = served(row) as f64 / 8e9;
            assert!((part - 1.0).abs() <= 0.1, "{selection}@cpu: task {row} has {part} of its part");
        }
    }
}

/// The greatest distance of any task's service from the fluid model's at any end of a stretch, ns.
fn greatest_error_ns(cpus: u32, tasks: usize, slices: &[Service]) -> u64 {
    let one = BigRational::from_integer(1.into());
    let rate = gms::rates(&vec![one; tasks], cpus)[0].clone();
    let (over, under) = (rate.numer().clone(), rate.denom().clone());
    let (over, under) = (u128::try_from(over).expect("small"), u128::try_from(under).expect("small"));
    let entitled = |at_ns: u64| (u128::from(at_ns) * over / under) as u64;
    let mut served = vec![0_u64; tasks];
    let mut greatest = 0;
    for s in slices {
        greatest = greatest.max(served[s.row].abs_diff(entitled(s.from_ns)));
        served[s.row] += s.to_ns - s.from_ns;
        greatest = greatest.max(served[s.row].abs_diff(entitled(s.to_ns)));
    }
    greatest
}

/// Two quanta and the part of the skew that a task is entitled to, however many tasks and CPUs there are.
#[test]
fn placement_r3_equal_tasks_are_within_the_bound() {
    let shape = (1..=256_u32, 1..=600_usize, placements());
    for_all(60, 25, shape, |(cpus, tasks, placement)| {
        let placement = placement.replace(":steal=off", "");
        let cpus = cpus.min(tasks as u32);
        let workload = hogs(cpus, &vec![1; tasks], 0, 60);
        let record = run(&workload, &format!("sfq{placement}"), 0);
        let skew_quanta: u64 =
            placement.split("skew=").nth(1).and_then(|q| q.parse().ok()).expect("it has one");
        let skew_ns = (skew_quanta * MS * u64::from(cpus)).div_ceil(tasks as u64);
        let error_ns = greatest_error_ns(cpus, tasks, &record.slices);
        let bound_ns = 2 * MS + skew_ns + ROUNDING_NS as u64;
        assert!(
            error_ns <= bound_ns,
            "{placement}: {tasks} tasks on {cpus} CPUs: {error_ns} ns, bound {bound_ns} ns"
        );
    });
}
