//! Whether a topology fits its machine.

use super::{Place, Problem};
use crate::{MAX_CPUS, Topology};
use divvy_policy::units::{MAX_NS, show_duration};

/// Cores, caches and nodes divide the CPUs without a rest.
pub(super) fn check(topology: &Topology, cpus: u32) -> Result<(), Problem> {
    let problem = |key, message: String, help: &str| Err(Problem::new(Place::Topology(key), message, help));
    let Topology { smt, llc, node, costs_ns } = *topology;
    for (key, value) in [("smt", smt), ("llc", llc), ("node", node.unwrap_or(1))] {
        if !(1..=MAX_CPUS).contains(&value) {
            return problem(key, format!("`{key}` is {value}"), "it must be 1 to 4096");
        }
    }
    if !llc.is_multiple_of(smt) {
        let message = format!("the CPUs of a cache ({llc}) are not a multiple of `smt` ({smt})");
        return problem("smt", message, "a last-level cache has whole cores: make `llc` a multiple of `smt`");
    }
    if !cpus.is_multiple_of(llc) {
        let message = format!("the number of CPUs ({cpus}) is not a multiple of `llc` ({llc})");
        return problem("llc", message, "a machine has whole caches: change `cpus` or `llc`");
    }
    let caches = cpus / llc;
    if let Some(node) = node.filter(|node| !caches.is_multiple_of(*node)) {
        let message = format!("the number of caches ({caches}) is not a multiple of `node` ({node})");
        return problem(
            "node",
            message,
            "a machine has whole nodes: make `cpus` a multiple of `llc` times `node`",
        );
    }
    match Topology::COSTS.into_iter().zip(costs_ns).find(|(_, ns)| *ns > MAX_NS) {
        Some((key, ns)) => {
            let message = format!("`{key}` is too long ({})", show_duration(ns));
            problem(key, message, "the most is 2^60 ns (36 years)")
        }
        None => Ok(()),
    }
}
