//! Every policy does this on every workload, with any modifiers: nothing is lost, no CPU idles beside a waiting task, no
//! task runs twice at once, the numbers of the report are those of the slices.

use divvy_results::report::{Quantiles, TaskResult};
use divvy_sim::oracle::queueing::paths;
use divvy_tests::cases::for_all;
use divvy_tests::record::{Record, run};
use divvy_tests::specs::specs;
use divvy_tests::workloads::{Kinds, workloads};
use proptest::prelude::*;

use crate::model::{self, Runnable};

/// Locks, barriers, forks, tokens, open and closed arrivals, affinity, ticks, costs: all at once.
#[test]
fn nothing_is_lost_and_nobody_runs_twice() {
    for_all(40, 1, (workloads(Kinds::All, 1..=8, 10), any::<u64>()), |(workload, seed)| {
        let mut first: Option<Vec<u64>> = None;
        for spec in specs() {
            let record = run(&workload, &spec, seed);
            model::check_slices(&workload, &record);
            model::check_service(&workload, &record);
            model::check_demands(&workload, &record);
            let service = model::finite_service(&workload, &record);
            let expected = first.get_or_insert_with(|| service.clone());
            assert_eq!(*expected, service, "{spec}: not the demands that the first policy saw");
        }
    });
}

/// As many CPUs are busy as there are runnable tasks, by a reconstruction from programs and slices alone; and
/// the integral of the number of tasks present is the sum of the reported responses (Little), to the nanosecond.
#[test]
fn no_cpu_idles_beside_a_waiting_task() {
    for_all(40, 2, workloads(Kinds::Plain, 1..=8, 10), |workload| {
        for spec in specs() {
            let record = run(&workload, &spec, 0);
            let runnable = model::runnable(&workload, &record);
            model::check_work_conserving(&workload, &record, &runnable);
            let arrivals: Vec<u64> = runnable.iter().map(|r| r.from_ns).collect();
            let ends: Vec<u64> = runnable.iter().map(|r| r.to_ns).collect();
            let told: u128 = record.run.tasks.iter().map(|t| sum(&t.response_ns)).sum();
            assert_eq!(told, paths::jobs_present(&arrivals, &ends), "{spec}: Little");
            for (row, task) in record.run.tasks.iter().enumerate() {
                check_delays(&record, row, task, &runnable);
            }
        }
    });
}

/// The jobs of this task are its runnable intervals: a response time is the length of one, the waiting time is the part of
/// it that is not service, and the wake-up latency lasts until the first slice.
fn check_delays(record: &Record, row: usize, task: &TaskResult, runnable: &[Runnable]) {
    let of_row = || runnable.iter().filter(|r| r.row == row);
    assert_eq!(task.jobs, of_row().count() as u64, "jobs of {}", task.name);
    let response: u128 = of_row().map(|r| u128::from(r.to_ns - r.from_ns)).sum();
    assert_eq!(sum(&task.response_ns), response, "responses of {}", task.name);
    assert_eq!(sum(&task.wait_ns), response - u128::from(task.service_ns), "waits of {}", task.name);
    let overlap = of_row().zip(of_row().skip(1)).any(|(a, b)| b.from_ns < a.to_ns);
    if !overlap {
        let first = |r: &Runnable| {
            let slice = record.slices.iter().find(|s| s.row == row && s.from_ns >= r.from_ns);
            u128::from(slice.expect("it ran").from_ns - r.from_ns)
        };
        assert_eq!(sum(&task.wake_delay_ns), of_row().map(first).sum(), "wake-up delays of {}", task.name);
    }
}

/// Mean times count: exact, as the sums are far below 2^51 ns.
fn sum(q: &Quantiles) -> u128 {
    (q.mean.unwrap_or(0.0) * q.count as f64).round() as u128
}

/// On one CPU with arrivals that do not depend on the policy, the busy periods (and with them the last
/// completion) are those of the arrivals, whoever is chosen.
#[test]
fn busy_periods_are_the_same_under_every_policy() {
    for_all(60, 3, workloads(Kinds::OpenLoop, 1..=1, 10), |workload| {
        let first = run(&workload, "fcfs", 0);
        let runnable: Vec<Runnable> = model::runnable(&workload, &first);
        let mut received = std::collections::BTreeMap::new();
        for slice in &first.slices {
            *received.entry(slice.row).or_insert(0) += slice.to_ns - slice.from_ns;
        }
        // Jobs of a row are alike.
        let size = |row: usize| received[&row] / runnable.iter().filter(|r| r.row == row).count() as u64;
        let jobs: Vec<paths::Job> = runnable.iter().map(|r| (r.from_ns, size(r.row))).collect();
        let expected = paths::busy_periods(&jobs);
        for spec in specs() {
            assert_eq!(model::busy_periods(&run(&workload, &spec, 0)), expected, "{spec}");
        }
    });
}

/// Each parameter at the ends of its range.
#[test]
fn parameters_at_their_limits_break_nothing() {
    let mut variants = Vec::new();
    for policy in divvy_policy::all() {
        for param in &policy.params {
            for raw in [param.min, param.max] {
                let value = divvy_policy::quantity::format(param.kind, raw);
                let part = format!("{}:{}={value}", policy.name, param.name);
                let spec = match policy.kind {
                    divvy_policy::Kind::Selection => part,
                    divvy_policy::Kind::Modifier => format!("sfq+{part}"),
                };
                variants.push(spec);
            }
        }
    }
    for_all(12, 4, (workloads(Kinds::All, 1..=4, 6), any::<u64>()), |(workload, seed)| {
        for spec in &variants {
            let record = run(&workload, spec, seed);
            model::check_slices(&workload, &record);
            model::check_demands(&workload, &record);
        }
    });
}

/// A task wakes another and blocks at the same instant: the other is there when its CPU decides, so a policy that
/// prefers it to the hog need not take the CPU from the hog first.
#[test]
fn whom_a_task_wakes_can_be_chosen_for_its_cpu() {
    let toml = r#"
        duration = "20ms"
        quantum = "5ms"
        task = [
            { name = "hog", program = [ { run = "forever" } ] },
            { name = "waker", program = [ { sleep = "5ms" }, { run = "1ms" }, { wake = "woken" }, { sleep = "1s" } ] },
            { name = "woken", program = [ { wait = true }, { run = "1ms" } ] },
        ]
    "#;
    let workload = divvy_workload::Workload::parse(toml, "wakes.toml").unwrap_or_else(|e| panic!("{e}"));
    let record = run(&workload, "pbs:alpha=inf", 0);
    let order: Vec<(usize, u64, u64)> = record.slices.iter().map(|s| (s.row, s.from_ns, s.to_ns)).collect();
    let ms = 1_000_000;
    assert_eq!(order[..3], [(0, 0, 5 * ms), (1, 5 * ms, 6 * ms), (2, 6 * ms, 7 * ms)]);
}
