//! The meaning of weights under the modifiers of a spec, for the models of entitled service.

use divvy_policy::spec::{Setting, Spec};

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
    /// Where a task is in a group: among the threads of that instead.
    pub by_group: bool,
    /// Whether groups have weights, and their tasks share what they get.
    pub groups: bool,
}

impl Sharing {
    /// Under this spec.
    #[must_use]
    pub fn of(spec: &Spec) -> Sharing {
        let is_on = |setting: &Setting| setting.param == "group" && setting.raw != 0;
        let by_group = spec.modifiers.iter().any(|modifier| modifier.settings.iter().any(is_on));
        let has = |name: &str| spec.modifiers.iter().any(|modifier| modifier.name == name);
        Sharing { by_group, ..Sharing::with(has) }
    }

    /// Under a scheduler of this name in a kernel, which is made of those of policy and modifiers.
    #[must_use]
    pub fn named(scheduler: &str) -> Sharing {
        Sharing::with(|name| scheduler.contains(name))
    }

    fn with(has: impl Fn(&str) -> bool) -> Sharing {
        let division = match (has("tfps"), has("procfair")) {
            (true, _) => Division::UpToCpus,
            (false, true) => Division::Evenly,
            (false, false) => Division::None,
        };
        Sharing { division, by_group: false, groups: has("groups") }
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
