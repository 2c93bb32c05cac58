//! From the options of a load to the spec and the constants of the BPF programs.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use divvy_policy::spec::Spec;
use rustix::time::ClockId;

use super::cpus::Cpus;
use super::doctor;
use super::error::LoadError;
use super::grouping::{Grouping, by_group};
use super::host::Config;
use super::options::Options;

/// One dispatch in so many measures its wait for the lock.
const LOCK_SAMPLE: u32 = 64;

/// The constants for this spec, which may have other parameters than the options' since `divvy set`.
pub fn config<'a>(options: &Options, spec: &'a Spec, cpus: &'a Cpus, rules: bool) -> Config<'a> {
    Config {
        spec,
        cpus,
        quantum_ns: options.quantum.as_nanos() as u64,
        pool: options.max_tasks.map_or(options.pool, |most| most.min(options.pool)),
        fail_every: options.fail_every,
        log: options.log.is_some(),
        grouping: options.grouping,
        limits: options.keeps_limits(),
        rules,
        starvation_limit_ms: options.starvation_limit.as_millis() as u32,
        sample: LOCK_SAMPLE,
        tick_ns: tick_ns(),
    }
}

/// The kernel's tick, at which it checks slices: the resolution of its coarse clock.
fn tick_ns() -> u32 {
    let tick = rustix::time::clock_getres(ClockId::MonotonicCoarse);
    u32::try_from(tick.tv_nsec).unwrap_or(0)
}

/// The spec to load; with groups, one that honours their weights. Its random numbers differ each time. The seed is in the
/// spec, so that the log of decisions has it.
pub fn spec(options: &Options) -> Result<Spec, LoadError> {
    Ok(grouped(options)?.seeded(RandomState::new().build_hasher().finish()))
}

fn grouped(options: &Options) -> Result<Spec, LoadError> {
    match options.grouping {
        None => return Ok(options.spec.clone()),
        Some(Grouping::Cgroups) => doctor::cgroups().map(drop)?,
        Some(Grouping::Users) => {}
    }
    by_group(&options.spec)
}
