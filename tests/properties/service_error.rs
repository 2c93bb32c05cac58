//! Service error within each policy's stated bound: weights that stay as they are, tasks that always run, unit
//! quanta.

use divvy_policy::Weight;
use divvy_workload::{Arrivals, Step, Task, WeightSetting, Workload};
use proptest::collection::vec;
use proptest::prelude::*;

use divvy_tests::cases::for_all;
use divvy_tests::record::run;
use divvy_tests::specs::selections;
use divvy_tests::workloads::MS;

/// Slack for tags in fixed point, and for the rounding of errors to whole nanoseconds, in quanta.
const SLACK: f64 = 1e-3;

struct Case<'a> {
    weights: &'a [u64],
    cpus: u32,
}

impl Case<'_> {
    fn part(&self, task: usize) -> f64 {
        self.weights[task] as f64 / self.weights.iter().sum::<u64>() as f64
    }

    /// Number of groups of GR3: orders of magnitude that occur.
    fn groups(&self) -> f64 {
        let orders: std::collections::BTreeSet<u32> = self.weights.iter().map(|w| w.ilog2()).collect();
        orders.len() as f64
    }

    fn others(&self) -> f64 {
        self.weights.len() as f64 - 1.0
    }

    fn is_equal(&self) -> bool {
        self.weights.iter().all(|&w| w == self.weights[0])
    }
}

/// Least and greatest service error of a task in quanta, where the policy promises any.
fn bound(policy: &str, case: &Case, task: usize) -> Option<(f64, f64)> {
    let (part, g) = (case.part(task), case.groups());
    let pairs = (g - 1.0) * (g - 2.0) / 2.0;
    let p = f64::from(case.cpus);
    match policy {
        // Theorems 1 and 2 of the GR3 paper.
        "gr3" if case.cpus == 1 => Some((-pairs * part - 4.0, g + 3.0)),
        "gr3" => Some((-pairs * part - 4.0, 2.0 * g + 10.0 + pairs / p)),
        // Least start tag first: whoever runs is not ahead, and each other is ahead of it by a quantum at most.
        // SFS on one CPU always finds a task of no surplus, which is one of least start tag.
        "sfq" | "sfs" if case.cpus == 1 => Some((-case.others() * part, 1.0)),
        // Least finish tag first: the mirror image.
        "stride" if case.cpus == 1 => Some((-1.0, case.others() * part)),
        // Lag with requests of one quantum.
        "eevdf" if case.cpus == 1 => Some((-1.0, 1.0)),
        "rr" if case.cpus == 1 && case.is_equal() => Some((-1.0, 1.0)),
        _ => None,
    }
}

fn static_workload(weights: &[u64], cpus: u32, quanta: u64) -> Workload {
    let task = |(i, &weight): (usize, &u64)| Task {
        name: format!("T{i}"),
        weight: WeightSetting::Units(weight * Weight::ONE),
        process: None,
        group: None,
        count: 1,
        start_ns: 0,
        stop_ns: None,
        executable: None,
        affinity: None,
        arrivals: Arrivals::Once,
        program: vec![Step::RunForever],
    };
    Workload {
        name: "static".into(),
        cpus,
        quantum_ns: MS,
        duration_ns: Some(quanta * MS),
        warmup_ns: 0,
        tick_ns: None,
        switch_cost_ns: 0,
        migration_cost_ns: 0,
        topology: None,
        groups: Vec::new(),
        tasks: weights.iter().enumerate().map(task).collect(),
        locks: Vec::new(),
        semaphores: Vec::new(),
        barriers: Vec::new(),
    }
}

fn check(weights: &[u64], cpus: u32) {
    let total: u64 = weights.iter().sum();
    let case = Case { weights, cpus };
    let workload = static_workload(weights, cpus, (2 * total / u64::from(cpus)).clamp(200, 3000));
    workload.check().expect("sensible");
    for policy in selections().filter(|p| bound(p, &case, 0).is_some()) {
        let spec = if policy == "eevdf" { "eevdf:slice=1ms" } else { policy };
        let record = run(&workload, spec, 0);
        for (i, task) in record.run.tasks.iter().enumerate() {
            let (least, greatest) = bound(policy, &case, i).expect("a bound");
            let (min, max) = (task.error_min_ns as f64 / MS as f64, task.error_max_ns as f64 / MS as f64);
            let within = least - SLACK <= min && max <= greatest + SLACK;
            assert!(
                within,
                "{policy}, {cpus} CPUs, weights {weights:?}: T{i} {min}..{max}, {least}..{greatest}"
            );
        }
    }
}

fn weights() -> impl Strategy<Value = Vec<u64>> {
    let one = || (0..10_u32, 0.0..1.0_f64).prop_map(|(bits, x)| ((1_u64 << bits) as f64 * (1.0 + x)) as u64);
    prop_oneof![3 => vec(one(), 2..20), 1 => (1..9_u64, 2..20_usize).prop_map(|(w, n)| vec![w; n])]
}

#[test]
fn errors_stay_within_the_stated_bounds_on_one_cpu() {
    for_all(150, 21, weights(), |weights| check(&weights, 1));
}

/// Where no weight asks for more than a CPU.
#[test]
fn errors_stay_within_the_stated_bounds_on_several_cpus() {
    for_all(100, 22, (weights(), 2..=8_u32), |(weights, cpus)| {
        let total: u64 = weights.iter().sum();
        let heaviest = weights.iter().max().expect("at least two");
        if weights.len() > cpus as usize && heaviest * u64::from(cpus) <= total {
            check(&weights, cpus);
        }
    });
}

/// The bounds are not so loose that any order would do: round-robin breaks those of the weighted policies.
#[test]
fn round_robin_breaks_the_bounds_of_the_fair() {
    let weights = [100, 1, 1, 1];
    let case = Case { weights: &weights, cpus: 1 };
    let record = run(&static_workload(&weights, 1, 400), "rr", 0);
    let min = record.run.tasks[0].error_min_ns as f64 / MS as f64;
    let (least, _) = bound("gr3", &case, 0).expect("a bound");
    assert!(min < 10.0 * least, "{min} {least}");
}
