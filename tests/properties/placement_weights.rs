//! Modifiers of weights on several shards (`papers/placement.md`, R7): what tasks receive follows the entitlement of all CPUs, whatever
//! the shards are.

use std::fmt::Write as _;

use divvy_sim::oracle::{gms, whole};
use divvy_tests::cases::for_all;
use divvy_tests::record::run;
use divvy_tests::specs::specs;
use divvy_tests::workloads::{Kinds, MS, workloads};
use divvy_workload::Workload;
use num_traits::ToPrimitive;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::model;

const PLACEMENTS: [&str; 3] = ["@cpu", "@shards:size=2", "@shards:size=3:skew=2"];

/// The greatest skew of these, in quanta.
const SKEW: u64 = 2;

/// Tasks of these weights that always run.
fn hogs(cpus: u32, weights: &[u64], duration_ms: u64) -> Workload {
    let mut text = format!("cpus = {cpus}\nquantum = \"1ms\"\nduration = \"{duration_ms}ms\"\n");
    for (i, weight) in weights.iter().enumerate() {
        let _ = writeln!(
            text,
            "[[task]]\nname = \"hog{i}\"\nweight = {weight}\nprogram = [ {{ run = \"forever\" }} ]"
        );
    }
    Workload::parse(&text, "hogs.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Weights that ask for more than a CPU are served as the definition of GMS has it: each task has its rate times the time, to within the
/// quanta of the skew, the last slice and those of the others that begin at the same time.
#[test]
fn placement_r7_infeasible_weights_get_a_cpu_each() {
    let weight = prop_oneof![2 => 1..=8_u64, 1 => 1..=1000_u64];
    let shape = (2..=12_u32, vec(weight, 2..30), 0..PLACEMENTS.len());
    for_all(60, 32, shape, |(cpus, weights, placement)| {
        let placed = format!("sfq+feasible{}", PLACEMENTS[placement]);
        let workload = hogs(cpus, &weights, 500);
        let record = run(&workload, &placed, 0);
        let units: Vec<_> = weights.iter().map(|w| whole(*w)).collect();
        for (task, rate) in record.run.tasks.iter().zip(gms::rates(&units, cpus)) {
            let entitled = rate.to_f64().expect("a fraction") * 500.0;
            let got = task.service_ns as f64 / MS as f64;
            let within = (4 + SKEW) as f64;
            assert!(
                (got - entitled).abs() <= within,
                "{placed}, {weights:?} on {cpus}: {got} ms, {entitled} ms"
            );
        }
    });
}

/// Locks, forks, arrivals, affinity, ticks and costs at once: nothing is lost, under any selection with any modifiers.
#[test]
fn placement_r7_nothing_is_lost_with_modifiers() {
    let specs = specs();
    let cases = (workloads(Kinds::All, 1..=8, 8), 0..PLACEMENTS.len(), vec(0..specs.len(), 12), any::<u64>());
    for_all(25, 33, cases, |(workload, placement, chosen, seed)| {
        for spec in chosen {
            let record = run(&workload, &format!("{}{}", specs[spec], PLACEMENTS[placement]), seed);
            model::check_slices(&workload, &record);
            model::check_service(&workload, &record);
            model::check_demands(&workload, &record);
        }
    });
}
