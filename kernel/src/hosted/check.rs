//! Refuses what the host, or the model around it, does not do, before anything runs.

use divvy_policy::Weight;
use divvy_policy::spec::Spec;
use divvy_workload::{Group, Workload};

use super::error::HostedError;
use crate::load::grouping::looks_at_groups;

/// CPUs of the model: the bits of a word.
const MOST_CPUS: u32 = 64;
/// `cpu.weight` of a cgroup: 100 is the weight of nice 0.
const CPU_WEIGHTS: std::ops::RangeInclusive<u64> = 1..=10_000;

/// Refuses what does not run in the host.
pub(super) fn check(workload: &Workload, specs: &[Spec]) -> Result<(), HostedError> {
    specs.iter().try_for_each(check_spec)?;
    let wrong = |what: String| HostedError::Workload { workload: workload.name.clone(), what };
    if workload.cpus > MOST_CPUS {
        return Err(wrong(format!(
            "the modelled kernel has at most {MOST_CPUS} CPUs, not {}: give --cpus {MOST_CPUS}, or leave out --host",
            workload.cpus
        )));
    }
    if specs.iter().any(looks_at_groups) {
        check_groups(&workload.groups).map_err(wrong)?;
    }
    Ok(())
}

fn check_spec(spec: &Spec) -> Result<(), HostedError> {
    let refuse = |why: &str| Err(HostedError::Policy { policy: spec.to_string(), why: why.to_owned() });
    let policy = divvy_policy::find(spec.selection.name);
    if let Some(why) = policy.and_then(|policy| policy.simulator_only) {
        return refuse(why);
    }
    if spec.knows_programs() {
        return refuse("the model has no files, by which +flow tells programs apart");
    }
    Ok(())
}

fn check_groups(groups: &[Group]) -> Result<(), String> {
    match groups.iter().find(|group| cpu_weight(group.weight.weight()).is_none()) {
        None => Ok(()),
        Some(group) => Err(format!(
            "group {} has a weight of {}, and the cpu.weight of a cgroup is a whole number of hundredths of 1024, from 1 to 10000: multiply all weights",
            group.name,
            group.weight.weight()
        )),
    }
}

/// The `cpu.weight` of a cgroup that has this weight in the host, up to one in a hundred; if there is one.
pub(super) fn cpu_weight(weight: Weight) -> Option<u64> {
    let unit = Weight::NICE_0.fixed();
    let nearest = (weight.fixed() * 100 + unit / 2) / unit;
    let off = (nearest * unit).abs_diff(weight.fixed() * 100);
    Some(nearest).filter(|nearest| off <= weight.fixed() && CPU_WEIGHTS.contains(nearest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_cgroups_are_hundredths() {
        assert_eq!(cpu_weight(Weight::NICE_0), Some(100));
        assert_eq!(cpu_weight(Weight::NICE_0 * 3), Some(300));
        assert_eq!(cpu_weight(Weight::from_nice(-5)), Some(305));
        assert_eq!(cpu_weight(Weight::from_nice(10)), None, "10.74");
        assert_eq!(cpu_weight(Weight::ONE * 3), None);
        assert_eq!(cpu_weight(Weight::NICE_0 * 101), None);
    }
}
