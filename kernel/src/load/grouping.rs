//! Groups of tasks: by cgroup or by user, and the modifier that honours their weights.

use divvy_policy::spec::{self, Spec};

use super::error::LoadError;

/// How tasks are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Cgroups, nested, with their `cpu.weight`.
    Cgroups,
    /// Users, all of the same weight.
    Users,
}

/// The modifier that divides the CPUs among groups.
const MODIFIER: &str = "groups";
/// The parameter of modifiers that can honour groups themselves.
const BY_GROUP: &str = "group";

/// Whether a modifier of the spec honours groups.
pub(crate) fn looks_at_groups(spec: &Spec) -> bool {
    let set = |setting: &spec::Setting| setting.param == BY_GROUP && setting.raw != 0;
    spec.modifiers.iter().any(|part| part.name == MODIFIER || part.settings.iter().any(set))
}

/// Adds the modifier for groups, unless the spec has another that honours them.
pub fn by_group(spec: &Spec) -> Result<Spec, LoadError> {
    if looks_at_groups(spec) {
        return Ok(spec.clone());
    }
    let text = format!("{}+{MODIFIER}", spec.without_placement());
    let added = spec::parse(&text, divvy_policy::all())
        .map_err(|error| LoadError::Mismatch(format!("groups need the modifier {MODIFIER}, but {error}")))?;
    Ok(Spec { placement: spec.placement, ..added })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modifier_is_added_where_none_looks_at_groups() {
        let added = |text: &str| {
            let spec = spec::parse(text, divvy_policy::all()).expect("a spec");
            by_group(&spec).expect("it composes").to_string()
        };
        assert_eq!(added("gr3+feasible"), "gr3+feasible+groups");
        assert_eq!(added("gr3+procfair"), "gr3+procfair+groups");
        assert_eq!(added("gr3+groups"), "gr3+groups");
        assert_eq!(added("sfq+procfair@cpu"), "sfq+procfair+groups@cpu");
        assert_eq!(added("gr3+tfps:group=on"), "gr3+tfps:group=on");
    }
}
