//! Names for settings that were tried for a purpose, for `divvy load` and `divvy enable`.

use divvy_kernel::load::Grouping;

/// A policy, and among whom it divides.
#[derive(Debug)]
pub struct Preset {
    /// As it is given instead of a SPEC.
    pub name: &'static str,
    /// The policy.
    pub spec: &'static str,
    /// Among whom, if not among tasks or programs.
    pub grouping: Option<Grouping>,
    /// Its use, as a sentence.
    pub purpose: &'static str,
}

/// All, in the order of the help.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "desktop",
        spec: "eevdf+procfair",
        grouping: None,
        purpose: "Programs receive the same, however many threads they start; waits are short",
    },
    Preset {
        name: "game",
        spec: "pbs_o1:alpha=2+procfair",
        grouping: None,
        purpose: "Programs receive the same, and one that computes for a while and then sleeps goes first",
    },
    Preset {
        name: "server",
        spec: "sfq",
        grouping: Some(Grouping::Cgroups),
        purpose: "Services receive by CPUWeight= and keep CPUQuota=, as systemd sets them",
    },
    Preset {
        name: "fair-users",
        spec: "gr3",
        grouping: Some(Grouping::Users),
        purpose: "Users receive the same, however many programs they run",
    },
];

impl Preset {
    /// The same as words after `divvy load`.
    pub fn words(&self) -> String {
        match self.grouping {
            None => self.spec.to_owned(),
            Some(Grouping::Cgroups) => format!("{} --cgroups", self.spec),
            Some(Grouping::Users) => format!("{} --users", self.spec),
        }
    }
}

/// The preset of this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policy that is only for the simulator, or asks for --max-tasks, would not load.
    #[test]
    fn each_is_a_policy_that_loads_and_no_policy_has_its_name() {
        for preset in PRESETS {
            let spec = divvy_policy::spec::parse(preset.spec, divvy_policy::all()).expect(preset.name);
            let policy = divvy_policy::find(spec.selection.name).expect(preset.name);
            assert!(policy.simulator_only.is_none() && policy.linear.is_none(), "{}", preset.name);
            assert!(divvy_policy::find(preset.name).is_none(), "{} is a policy, too", preset.name);
        }
    }
}
