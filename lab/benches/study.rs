//! A selection of the GR3 paper's study beside the bare loop: the same algorithm with arrays for lists, nobody coming or
//! going, one CPU, nothing kept but what the next choice needs. Both give the same order, which is checked first, and run
//! in turns in one process.
//!
//!     cargo bench -p divvy-lab

use divvy_policy::spec::parse;
use divvy_policy::{TaskId, Turns, Weight};
use std::time::Instant;

const QUANTUM_NS: u64 = 1_000_000;
const ROUNDS: usize = 15;
/// Numbers of clients, each with its sum of weights.
const CELLS: [(u32, u64); 3] = [(32, 16_384), (1024, 65_536), (8192, 262_144)];

/// An algorithm and its bare loop, which fills in who runs.
type Case = (&'static str, fn(&[u64], &mut [Option<TaskId>]));
const CASES: [Case; 2] = [("wrr:unit=1", bare_wrr), ("gr3", bare_gr3)];

/// One client has a tenth, the others have uniform parts of the rest.
fn weights(n: u32, total: u64) -> Vec<u64> {
    let big = total / 10;
    let mean = (total - big) / u64::from(n - 1);
    let mut state = 1_u64;
    let others = (1..n).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % (2 * mean - 1)
    });
    std::iter::once(big).chain(others).collect()
}

/// Each client its weight in quanta, one after another.
fn bare_wrr(weights: &[u64], ran: &mut [Option<TaskId>]) {
    let mut order =
        TaskId::all().zip(weights).flat_map(|(id, &w)| std::iter::repeat_n(id, w as usize)).cycle();
    ran.iter_mut().for_each(|ran| *ran = order.next());
}

#[derive(Default)]
struct Group {
    phi: u64,
    phi_min: u64,
    /// Work and 1.
    w1: u64,
    /// Client, its weight and its deficit in 1/phi_min quanta.
    clients: Vec<(TaskId, u64, u64)>,
    k: usize,
}

fn groups(weights: &[u64]) -> Vec<Group> {
    let mut groups: Vec<Group> =
        (0..64).map(|order| Group { phi_min: 1 << order, w1: 1, ..Group::default() }).collect();
    for (id, &weight) in TaskId::all().zip(weights) {
        let group = &mut groups[weight.ilog2() as usize];
        group.phi += weight;
        group.clients.push((id, weight, 0));
    }
    groups.retain(|group| group.phi > 0);
    groups.sort_by_key(|group| (std::cmp::Reverse(group.phi), group.phi_min));
    groups.iter_mut().for_each(|group| group.clients[0].2 = group.clients[0].1);
    groups
}

/// Sections 2.1 and 2.2.
fn bare_gr3(weights: &[u64], ran: &mut [Option<TaskId>]) {
    let mut groups = groups(weights);
    let mut i = 0;
    for ran in ran {
        let group = &mut groups[i];
        if group.clients[group.k].2 < group.phi_min {
            group.k = if group.k + 1 == group.clients.len() { 0 } else { group.k + 1 };
            let client = &mut group.clients[group.k];
            client.2 += client.1;
        }
        let client = &mut group.clients[group.k];
        client.2 -= group.phi_min;
        *ran = Some(client.0);
        group.w1 += 1;
        let (w1, phi) = (u128::from(group.w1), u128::from(group.phi));
        i = match groups.get(i + 1) {
            Some(next) if w1 * u128::from(next.phi) > u128::from(next.w1) * phi => i + 1,
            _ => 0,
        };
    }
}

fn with_clients(spec: &str, weights: &[u64]) -> Turns {
    let spec = parse(spec, divvy_policy::all()).expect("a known spec");
    let clients = TaskId::all().zip(weights.iter().map(|&weight| weight * Weight::ONE));
    Turns::new(&spec, 1, QUANTUM_NS, clients).expect("a machine")
}

/// ns for each selection: the least of some rounds, of both in turns.
fn measure(spec: &str, bare: fn(&[u64], &mut [Option<TaskId>]), weights: &[u64]) -> (f64, f64) {
    let total: u64 = weights.iter().sum();
    let (mut ran, mut expected) = (vec![None; total as usize], vec![None; total as usize]);
    let mut least = (f64::INFINITY, f64::INFINITY);
    for round in 0..ROUNDS {
        let mut turns = with_clients(spec, weights);
        let began = Instant::now();
        turns.next(&mut ran);
        least.0 = least.0.min(began.elapsed().as_nanos() as f64 / total as f64);
        let began = Instant::now();
        bare(weights, &mut expected);
        least.1 = least.1.min(began.elapsed().as_nanos() as f64 / total as f64);
        assert!(round > 0 || ran == expected, "{spec}: not the order of the bare loop");
    }
    least
}

fn main() {
    println!(
        "{:<12}{:>8}{:>9}{:>12}{:>12}{:>8}",
        "policy", "clients", "weights", "divvy (ns)", "bare (ns)", "ratio"
    );
    for (spec, bare) in CASES {
        for (n, total) in CELLS {
            let (divvy, bare) = measure(spec, bare, &weights(n, total));
            println!("{spec:<12}{n:>8}{total:>9}{divvy:>12.1}{bare:>12.1}{:>8.1}", divvy / bare);
        }
    }
}
