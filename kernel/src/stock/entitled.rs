//! Divides the CPU time that threads received together by their weights, and those of their cgroups.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A thread and what it wanted in an interval.
#[derive(Debug)]
pub struct Claim<'a> {
    /// The path of its cgroup, from the root of the hierarchy.
    pub path: &'a str,
    /// Nice 0 is 1024.
    pub weight: f64,
    /// Time in which it ran or waited.
    pub demand_ns: u64,
    /// Time in which it ran.
    pub received_ns: u64,
    /// Whether weights decide over it. Others receive what they take.
    pub is_fair: bool,
}

/// The weight of a cgroup with `cpu.weight` 100.
const NICE_0: f64 = 1024.0;

/// A cgroup with a weight, or the root.
#[derive(Debug, Default)]
struct Group {
    weight: f64,
    claims: Vec<usize>,
    groups: BTreeMap<String, Group>,
}

/// The entitlement of each, in ns. The sum over the fair ones is what these received. Cgroups without a weight (the controller is not
/// enabled, or it is another version) belong to the one above.
pub fn divide(claims: &[Claim<'_>], cgroups: &Path) -> Vec<u64> {
    let mut entitled: Vec<f64> = claims.iter().map(|claim| claim.received_ns as f64).collect();
    let mut root = Group::default();
    let mut weights: BTreeMap<String, Option<f64>> = BTreeMap::new();
    for (index, claim) in claims.iter().enumerate().filter(|(_, claim)| claim.is_fair && claim.demand_ns > 0)
    {
        root.add(index, claim.path, cgroups, &mut weights);
    }
    let fair = || claims.iter().filter(|claim| claim.is_fair);
    root.give(fair().map(|claim| claim.received_ns as f64).sum(), claims, &mut entitled);
    entitled.into_iter().map(|ns| ns.round() as u64).collect()
}

impl Group {
    fn add(&mut self, claim: usize, path: &str, cgroups: &Path, weights: &mut BTreeMap<String, Option<f64>>) {
        let mut group = self;
        for (end, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            let above = &path[..end];
            let weight = *weights
                .entry(above.to_owned())
                .or_insert_with(|| weight_of(&cgroups.join(above.trim_start_matches('/'))));
            if let Some(weight) = weight {
                group = group.groups.entry(above.to_owned()).or_default();
                group.weight = weight;
            }
        }
        group.claims.push(claim);
    }

    fn demand(&self, claims: &[Claim<'_>]) -> f64 {
        self.claims.iter().map(|index| claims[*index].demand_ns as f64).sum::<f64>()
            + self.groups.values().map(|group| group.demand(claims)).sum::<f64>()
    }

    fn give(&self, amount: f64, claims: &[Claim<'_>], entitled: &mut [f64]) {
        let tasks = self.claims.iter().map(|index| (claims[*index].weight, claims[*index].demand_ns as f64));
        let groups = self.groups.values().map(|group| (group.weight, group.demand(claims)));
        let parts = fill(amount, &tasks.chain(groups).collect::<Vec<_>>());
        for (index, part) in self.claims.iter().zip(&parts) {
            entitled[*index] = *part;
        }
        for (group, part) in self.groups.values().zip(&parts[self.claims.len()..]) {
            group.give(*part, claims, entitled);
        }
    }
}

/// `cpu.weight` of a cgroup. The root has none. One with `cpu.idle` has 0, and the kernel gives it 3.
pub fn weight_of(cgroup: &Path) -> Option<f64> {
    let text = fs::read_to_string(cgroup.join("cpu.weight")).ok()?;
    Some((text.trim().parse::<f64>().ok()? / 100.0 * NICE_0).max(3.0))
}

/// Divides an amount by weight, so that none of (weight, demand) gets more than its demand.
pub fn fill(amount: f64, wanted: &[(f64, f64)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    let level = |index: &usize| wanted[*index].1 / wanted[*index].0.max(f64::MIN_POSITIVE);
    order.sort_by(|a, b| level(a).total_cmp(&level(b)));
    let (mut left, mut weight): (f64, f64) = (amount, wanted.iter().map(|(weight, _)| weight).sum());
    let mut parts = vec![0.0; wanted.len()];
    for index in order {
        let (own, demand) = wanted[index];
        parts[index] = if weight > 0.0 { demand.min((left * own / weight).max(0.0)) } else { 0.0 };
        left -= parts[index];
        weight -= own;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(path: &str, weight: f64, demand_ns: u64, received_ns: u64) -> Claim<'_> {
        Claim { path, weight, demand_ns, received_ns, is_fair: true }
    }

    #[test]
    fn nobody_gets_more_than_it_wants_and_the_rest_goes_by_weight() {
        assert_eq!(fill(90.0, &[(1.0, 10.0), (1.0, 90.0), (3.0, 90.0)]), [10.0, 20.0, 60.0]);
        assert_eq!(fill(90.0, &[(1.0, 10.0), (1.0, 20.0)]), [10.0, 20.0]);
        assert_eq!(fill(0.0, &[(1.0, 10.0)]), [0.0]);
        assert!(fill(5.0, &[]).is_empty());
    }

    #[test]
    fn cgroups_with_a_weight_are_levels_and_others_are_not() {
        let dir = std::env::temp_dir().join(format!("divvy-stock-groups-{}", std::process::id()));
        for (group, weight) in [("heavy", "300\n"), ("light", "100\n")] {
            fs::create_dir_all(dir.join(group).join("inner")).expect("a directory");
            fs::write(dir.join(group).join("cpu.weight"), weight).expect("cpu.weight");
        }
        let claims = [
            claim("/heavy/inner", 1024.0, 100, 20),
            claim("/light", 1024.0, 100, 40),
            claim("/light", 1024.0, 100, 40),
            Claim { is_fair: false, ..claim("/", 1024.0, 100, 50) },
        ];
        assert_eq!(divide(&claims, &dir), [75, 13, 13, 50]);
        fs::remove_dir_all(&dir).expect("it is there");
        assert_eq!(divide(&claims, &dir), [33, 33, 33, 50]);
    }
}
