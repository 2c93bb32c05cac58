//! The meaning of weights under the modifiers of a spec, for the models of entitled service.

use divvy_policy::spec::Spec;

/// How the threads of a process divide weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// Nothing.
    #[default]
    None,
    /// Divides it by the number of the process's runnable threads (procfair).
    Evenly,
    /// Divides it as far as there are more of these than CPUs (tfps).
    UpToCpus,
}

/// The meaning of weights under a spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Among the threads of a process.
    pub division: Division,
    /// Whether all threads that exist count, and not only those that want to run (procfair's Equation 6).
    pub all: bool,
    /// Where a task is in a group: among the threads of that instead.
    pub by_group: bool,
    /// Whether groups have weights, and their tasks share what they get.
    pub groups: bool,
}

/// The modifiers that divide weights. A spec has at most one of them.
const DIVIDERS: [(&str, Division); 2] = [("tfps", Division::UpToCpus), ("procfair", Division::Evenly)];

impl Sharing {
    /// Under this spec.
    #[must_use]
    pub fn of(spec: &Spec) -> Sharing {
        let has = |name: &str| spec.modifiers.iter().any(|modifier| modifier.name == name);
        let mut dividers = spec.modifiers.iter().filter(|m| DIVIDERS.iter().any(|(name, _)| m.name == *name));
        let settings = dividers.next().map(|modifier| modifier.settings.as_slice()).unwrap_or_default();
        let is_on = |param: &str| settings.iter().any(|setting| setting.param == param && setting.raw != 0);
        Sharing::with(has, is_on)
    }

    /// Under a scheduler of this name in a kernel. `divvy load` makes the name of the spec, with `_` for other characters
    /// than letters and digits: `divvy_sfq_procfair_all_on`.
    #[must_use]
    pub fn named(scheduler: &str) -> Sharing {
        let words: Vec<&str> = scheduler.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let is_divider = |word: &&&str| DIVIDERS.iter().any(|(name, _)| **word == *name);
        let settings: Vec<&&str> = words.iter().skip_while(|word| !is_divider(word)).collect();
        let is_on = |param: &str| settings.windows(2).any(|pair| *pair[0] == param && *pair[1] == "on");
        Sharing::with(|name| words.contains(&name), is_on)
    }

    fn with(has: impl Fn(&str) -> bool, is_on: impl Fn(&str) -> bool) -> Sharing {
        let divider = DIVIDERS.into_iter().find(|(name, _)| has(name));
        Sharing {
            division: divider.map_or(Division::None, |(_, division)| division),
            all: is_on("all"),
            by_group: is_on("group"),
            groups: has("groups"),
        }
    }
}

impl Division {
    /// A thread's part of its weight, of so many threads on so many CPUs; rounded down, at least 1.
    #[must_use]
    pub fn part(self, weight: u64, threads: u64, cpus: u64) -> u64 {
        let times = match self {
            Division::None => return weight,
            Division::Evenly => 1,
            Division::UpToCpus => threads.min(cpus),
        };
        ((u128::from(weight) * u128::from(times) / u128::from(threads.max(1))) as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use divvy_policy::spec;

    fn of(text: &str) -> Sharing {
        Sharing::of(&spec::parse(text, divvy_policy::all()).expect("a spec"))
    }

    #[test]
    fn parameters_are_those_of_the_modifier_in_force() {
        let evenly = Sharing { division: Division::Evenly, ..Sharing::default() };
        assert_eq!(of("sfq"), Sharing::default());
        assert_eq!(of("sfq+procfair"), evenly);
        assert_eq!(of("sfq+procfair:all=on"), Sharing { all: true, ..evenly });
        assert_eq!(of("sfq+procfair:group=on+groups"), Sharing { by_group: true, groups: true, ..evenly });
        let up_to_cpus = Sharing { division: Division::UpToCpus, ..Sharing::default() };
        assert_eq!(of("sfq+tfps:all=on:group=on"), Sharing { all: true, by_group: true, ..up_to_cpus });
    }

    /// The kernel shows a loaded scheduler's name only.
    #[test]
    fn a_name_in_the_kernel_means_what_its_spec_does() {
        for (text, name) in [
            ("pbs_o1", "kernel:divvy_pbs_o1"),
            ("sfq+procfair", "kernel:divvy_sfq_procfair"),
            ("sfq+procfair:all=on", "kernel:divvy_sfq_procfair_all_on"),
            ("sfq+procfair:all=on:group=on+groups", "kernel:divvy_sfq_procfair_all_on_group_on_groups"),
            ("gr3:literal=on+procfair+groups", "kernel:divvy_gr3_literal_on_procfair_groups"),
            ("gr3+feasible+tfps:group=on", "kernel:divvy_gr3_feasible_tfps_group_on"),
        ] {
            assert_eq!(Sharing::named(name), of(text), "{name}");
        }
        assert_eq!(Sharing::named("kernel:eevdf"), Sharing::default());
    }
}
