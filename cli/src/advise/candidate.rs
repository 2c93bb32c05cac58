//! Settings to try.

use divvy_policy::spec::{self, Spec, SpecError};
use divvy_policy::{Kind, Weight};
use divvy_workload::{WeightSetting, Workload};

/// The quanta that are tried beside the workload's own.
/// Long ones come first, because each end of a slice costs the machine something.
const QUANTA_NS: [u64; 5] = [10_000_000, 4_000_000, 2_000_000, 1_000_000, 500_000];
/// The values of a ratio that are tried, where a policy has one that decides what kind of policy it is.
const RATIOS: [(&str, &str, [&str; 4]); 1] = [("pbs", "alpha", ["0.5", "1", "2", "4"])];
/// The selections that are also tried with fairness among programs.
const WITH_PROCFAIR: [&str; 3] = ["sfq", "gr3", "eevdf"];
/// By how much the weight of a task that a goal names is multiplied. A nice value is a factor of 1.25.
const FACTORS: [f64; 4] = [1.0, 4.0, 16.0, 0.25];
/// The weights of at most so many named tasks are varied, of the first ones in the workload. Each more is four times as many candidates.
const MOST_VARIED: usize = 3;

/// The number of combinations that the weights of so many named tasks make.
pub fn combinations(named: usize) -> usize {
    FACTORS.len().pow(named.min(MOST_VARIED) as u32)
}

/// Settings under which the workload may run.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The policy.
    pub spec: Spec,
    /// Slice of policies that do not set their own, in ns.
    pub quantum_ns: u64,
    /// A factor for the weight of each task of the workload.
    pub factors: Vec<f64>,
}

impl Candidate {
    /// The workload as it is, under this policy.
    pub fn unchanged(spec: Spec, workload: &Workload, quantum_ns: u64) -> Self {
        Self { spec, quantum_ns, factors: vec![1.0; workload.tasks.len()] }
    }

    /// The workload with its weights. `None` if one of them would be out of range.
    pub fn workload(&self, workload: &Workload) -> Option<Workload> {
        let mut changed = workload.clone();
        for (task, factor) in
            changed.tasks.iter_mut().zip(&self.factors).filter(|(_, factor)| **factor != 1.0)
        {
            let fixed = task.weight.weight().fixed() as f64 * factor;
            if fixed < Weight::MIN.fixed() as f64 || fixed > Weight::MAX_GIVEN.fixed() as f64 {
                return None;
            }
            task.weight = WeightSetting::Units(Weight::from_fixed(fixed.round() as u64));
        }
        Some(changed)
    }

    /// The same settings with each combination of factors for these tasks.
    pub fn with_weights(&self, tasks: &[usize]) -> Vec<Candidate> {
        let mut all = vec![self.clone()];
        for &task in &tasks[..tasks.len().min(MOST_VARIED)] {
            all = FACTORS
                .iter()
                .flat_map(|factor| {
                    all.iter().map(move |candidate| {
                        let mut changed = candidate.clone();
                        changed.factors[task] = *factor;
                        changed
                    })
                })
                .collect();
        }
        all
    }
}

/// The policies, each with several quanta, or with the one that is given, and the workload's own weights.
pub fn candidates(specs: Vec<Spec>, workload: &Workload, quantum_ns: Option<u64>) -> Vec<Candidate> {
    let mut quanta_ns = vec![quantum_ns.unwrap_or(workload.quantum_ns)];
    if quantum_ns.is_none() {
        quanta_ns.extend(QUANTA_NS.into_iter().filter(|ns| *ns != workload.quantum_ns));
    }
    specs
        .into_iter()
        .flat_map(|spec| quanta_ns.iter().map(move |ns| (spec.clone(), *ns)))
        .map(|(spec, ns)| Candidate::unchanged(spec, workload, ns))
        .collect()
}

/// The policies that are tried if none is named: all that the kernel may load with any number of tasks, and that are not there for
/// comparison only.
///
/// # Errors
/// If one of them is not built in.
pub fn default_specs() -> Result<Vec<Spec>, SpecError> {
    let mut texts = Vec::new();
    for policy in divvy_policy::all() {
        let loads = policy.simulator_only.is_none() && policy.linear.is_none();
        let compared = policy.is_baseline && policy.name != "eevdf";
        if policy.kind != Kind::Selection || !loads || compared {
            continue;
        }
        match RATIOS.iter().find(|(name, ..)| *name == policy.name) {
            Some((name, param, values)) => {
                texts.extend(values.map(|value| format!("{name}:{param}={value}")))
            }
            None => texts.push(policy.name.to_owned()),
        }
        if WITH_PROCFAIR.contains(&policy.name) {
            texts.push(format!("{}+procfair", policy.name));
        }
    }
    spec::parse_list(&texts, divvy_policy::all())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"
        duration = "1s"
        task = [
            { name = "a", weight = 2, program = [ { run = "forever" } ] },
            { name = "b", weight = 100000000, program = [ { run = "forever" } ] },
        ]
    "#;

    fn first() -> (Workload, Candidate) {
        let workload = Workload::parse(TWO, "two.toml").expect("a workload");
        let sfq = spec::parse("sfq", divvy_policy::all()).expect("a policy");
        let all = candidates(vec![sfq], &workload, None);
        (workload, all[0].clone())
    }

    #[test]
    fn weights_are_those_of_the_file_times_each_combination() {
        let (workload, candidate) = first();
        let weights: Vec<Option<f64>> = candidate
            .with_weights(&[0])
            .iter()
            .map(|changed| Some(changed.workload(&workload)?.tasks[0].weight.units()))
            .collect();
        assert_eq!(weights, [2.0, 8.0, 32.0, 0.5].map(Some));
        assert_eq!(candidate.with_weights(&[0, 1]).len(), combinations(2));
    }

    #[test]
    fn a_weight_out_of_range_is_not_tried() {
        let (workload, candidate) = first();
        let weights = candidate.with_weights(&[1]);
        let tried: Vec<bool> = weights.iter().map(|changed| changed.workload(&workload).is_some()).collect();
        assert_eq!(tried, [true, false, false, true]);
    }

    #[test]
    fn the_workloads_own_quantum_comes_first_and_each_comes_once() {
        let (workload, candidate) = first();
        assert_eq!(candidate.quantum_ns, workload.quantum_ns);
        let all = candidates(default_specs().expect("policies"), &workload, None);
        assert!(all.iter().enumerate().all(|(i, one)| !all[..i].contains(one)));
        assert_eq!(candidates(vec![candidate.spec], &workload, Some(7)).len(), 1);
    }
}
