//! Naming a policy: `SELECTION[:param=value]...[+MODIFIER[:param=value]...]...[@PLACEMENT[:param=value]...]`.
//!
//! One selection policy comes first, modifiers follow, then [where tasks are placed](crate::placement); lists are separated by commas. Values carry
//! their unit (`quantum=2ms`), ratios are decimals or `inf`. Names are checked against a registry of
//! policies, or are paths of [policy files](crate::file) that were loaded, and [`Spec`] prints itself in the canonical form that reads back as the same spec.

use std::fmt;

use crate::canonical;
use crate::file;
use crate::kind::{Failure, FailureKind};
use crate::nearest;
use crate::placement::{Placement, PlacementError};
use crate::quantity;
use crate::quantity::QuantityError;
use crate::{Kind, ParamInfo, ParamKind, PolicyInfo};

/// The modifier that changes slices, and no weights.
pub(crate) const FLOW: &str = "flow";

/// A selection policy with the modifiers that work under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Picks the next task.
    pub selection: Part,
    /// Change weights and slices, in the order given; no name twice.
    pub modifiers: Vec<Part>,
    /// The shards of the CPUs; `None` is one for all.
    pub placement: Option<Placement>,
}

impl Spec {
    /// The same on one machine, which has all CPUs.
    #[must_use]
    pub fn without_placement(&self) -> Spec {
        Spec { placement: None, ..self.clone() }
    }

    /// The spec of one of several machines, which share what their modifiers need ([`Account`](crate::Account),
    /// [`Programs`](crate::Programs)): the selection, and the modifiers that change no weights.
    #[must_use]
    pub fn of_a_shard(&self) -> Spec {
        let mut spec = self.without_placement();
        spec.modifiers.retain(|modifier| modifier.name == FLOW);
        spec
    }

    /// Whether it has the modifier flow, which tells programs apart.
    #[must_use]
    pub fn knows_programs(&self) -> bool {
        self.modifiers.iter().any(|modifier| modifier.name == FLOW)
    }
}

/// One policy and the parameters that were set for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The policy's name in the registry.
    pub name: &'static str,
    /// Parameters set, in the registry's order; no name twice.
    pub settings: Vec<Setting>,
}

/// One parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The parameter's name in the registry.
    pub param: &'static str,
    /// How `raw` reads.
    pub kind: ParamKind,
    /// Within the parameter's range; see [`ParamInfo`] for the scale.
    pub raw: i64,
}

/// An error in a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policy `{}`: {problem}", spec.escape_debug())]
pub struct SpecError {
    /// The spec as given.
    pub spec: String,
    /// The problem.
    pub problem: SpecProblem,
}

/// The ways in which a spec can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecProblem {
    /// Nothing before the first `+`, or nothing at all.
    #[error("a selection policy is missing; write one first, as in `sfq` or `sfq+feasible`")]
    MissingSelection,
    /// A `+` with nothing after it.
    #[error("a modifier is missing after `+`")]
    MissingModifier,
    /// No such policy.
    #[error("there is no {} `{}`{} (`divvy policies` lists them)", kind_name(*kind), name.escape_debug(), did_you_mean(*nearest))]
    UnknownPolicy {
        /// The kind of policy that fits there.
        kind: Kind,
        /// As written.
        name: String,
        /// The likeliest intended name.
        nearest: Option<&'static str>,
    },
    /// A policy file that was not [loaded](crate::file::load).
    #[error(
        "`{}` is a policy file: sim, replay, sweep and policies compile what -p names; to load it into a kernel, put it into policy/select/ and build divvy", .0.escape_debug()
    )]
    NotLoaded(String),
    /// A path where a modifier belongs.
    #[error(
        "a policy file is a selection and comes first, and `{}` comes after a +; a path in a spec has no +, : and comma", .0.escape_debug()
    )]
    FileAfterPlus(String),
    /// A modifier where the selection belongs.
    #[error("`{0}` is a modifier; put a selection policy before it, as in `sfq+{0}`")]
    ModifierFirst(&'static str),
    /// A second selection.
    #[error("`{0}` is a selection policy, and a spec has one; to compare policies write `A,B`")]
    SecondSelection(&'static str),
    /// The same modifier twice.
    #[error("modifier `{0}` is there twice")]
    DuplicateModifier(&'static str),
    /// Two modifiers of which one is to be chosen.
    #[error("`{0}` and `{1}` both divide weights by threads; leave out one of them")]
    OneOf(&'static str, &'static str),
    /// No such parameter.
    #[error("`{policy}` has no parameter `{}`{}", name.escape_debug(), params_hint(*nearest, known))]
    UnknownParam {
        /// The policy that was asked.
        policy: &'static str,
        /// As written.
        name: String,
        /// The likeliest intended name.
        nearest: Option<&'static str>,
        /// All that it has.
        known: Vec<&'static str>,
    },
    /// The same parameter twice.
    #[error("parameter `{0}` is set twice")]
    DuplicateParam(&'static str),
    /// A parameter without `=value`.
    #[error("`{param}` needs a value, as in `{param}={example}`")]
    MissingValue {
        /// The parameter.
        param: &'static str,
        /// Its default.
        example: String,
    },
    /// A value that does not read.
    #[error("`{param}={}`: {error}", value.escape_debug())]
    BadValue {
        /// The parameter.
        param: &'static str,
        /// As written.
        value: String,
        /// Why not.
        error: QuantityError,
    },
    /// A wrong placement.
    #[error("{0}")]
    Placement(PlacementError),
    /// A value outside the parameter's range.
    #[error("`{param}={}` is out of range: {range}", value.escape_debug())]
    OutOfRange {
        /// The parameter.
        param: &'static str,
        /// As written.
        value: String,
        /// Least and greatest value, with the unit.
        range: String,
    },
}

impl From<PlacementError> for SpecProblem {
    fn from(error: PlacementError) -> SpecProblem {
        SpecProblem::Placement(error)
    }
}

/// Modifiers that do the same thing, each in its way.
const ALTERNATIVES: [&str; 2] = ["procfair", "tfps"];

/// Reads comma-separated lists of specs, in order.
///
/// # Errors
/// At the first spec that is wrong; with no spec at all, [`SpecProblem::MissingSelection`].
pub fn parse_list(lists: &[String], registry: &'static [PolicyInfo]) -> Result<Vec<Spec>, SpecError> {
    let specs: Result<Vec<Spec>, SpecError> =
        lists.iter().flat_map(|list| list.split(',')).map(|text| parse(text, registry)).collect();
    match specs {
        Ok(specs) if specs.is_empty() => {
            Err(SpecError { spec: String::new(), problem: SpecProblem::MissingSelection })
        }
        other => other,
    }
}

/// Reads one spec.
///
/// # Errors
/// When a name is not in the registry, a value does not fit its parameter, or the parts do not compose.
pub fn parse(text: &str, registry: &'static [PolicyInfo]) -> Result<Spec, SpecError> {
    parse_parts(text.trim(), registry).map_err(|problem| SpecError { spec: text.trim().to_owned(), problem })
}

fn parse_parts(text: &str, registry: &'static [PolicyInfo]) -> Result<Spec, SpecProblem> {
    let (text, placement) = match text.split_once('@') {
        Some((text, placement)) => (text, Some(Placement::parse(placement)?)),
        None => (text, None),
    };
    let mut parts = text.split('+');
    let first = parts.next().unwrap_or_default();
    if first.is_empty() {
        return Err(SpecProblem::MissingSelection);
    }
    let selection = parse_part(first, Kind::Selection, registry)?;
    let mut modifiers: Vec<Part> = Vec::new();
    for part in parts {
        if part.is_empty() {
            return Err(SpecProblem::MissingModifier);
        }
        let modifier = parse_part(part, Kind::Modifier, registry)?;
        if modifiers.iter().any(|earlier| earlier.name == modifier.name) {
            return Err(SpecProblem::DuplicateModifier(modifier.name));
        }
        let alternative = modifiers.iter().find(|m| ALTERNATIVES.contains(&m.name));
        if let Some(earlier) = alternative.filter(|_| ALTERNATIVES.contains(&modifier.name)) {
            return Err(SpecProblem::OneOf(earlier.name, modifier.name));
        }
        modifiers.push(modifier);
    }
    Ok(Spec { selection, modifiers, placement })
}

fn parse_part(text: &str, kind: Kind, registry: &'static [PolicyInfo]) -> Result<Part, SpecProblem> {
    let mut fields = text.split(':');
    let policy = find_policy(fields.next().unwrap_or_default(), kind, registry)?;
    let mut settings: Vec<(usize, Setting)> = Vec::new();
    for field in fields {
        let (index, setting) = parse_setting(field, policy)?;
        if settings.iter().any(|(earlier, _)| *earlier == index) {
            return Err(SpecProblem::DuplicateParam(setting.param));
        }
        settings.push((index, setting));
    }
    settings.sort_by_key(|(index, _)| *index);
    Ok(Part { name: policy.name, settings: settings.into_iter().map(|(_, setting)| setting).collect() })
}

fn find_policy(
    name: &str,
    kind: Kind,
    registry: &'static [PolicyInfo],
) -> Result<&'static PolicyInfo, SpecProblem> {
    if file::is_path(name) {
        return match (kind, file::find(name)) {
            (Kind::Selection, Some(file)) => Ok(&file.info),
            (Kind::Selection, None) => Err(SpecProblem::NotLoaded(name.to_owned())),
            (Kind::Modifier, _) => Err(SpecProblem::FileAfterPlus(name.to_owned())),
        };
    }
    let name = canonical(name);
    match registry.iter().find(|policy| policy.name == name) {
        Some(policy) if policy.kind == kind => Ok(policy),
        Some(policy) if kind == Kind::Selection => Err(SpecProblem::ModifierFirst(policy.name)),
        Some(policy) => Err(SpecProblem::SecondSelection(policy.name)),
        None => {
            let fitting = registry.iter().filter(|policy| policy.kind == kind);
            Err(SpecProblem::UnknownPolicy {
                kind,
                name: name.to_owned(),
                nearest: nearest(name, fitting.map(|policy| policy.name)),
            })
        }
    }
}

/// Reads `param=value`; the index is the parameter's place in the registry.
fn parse_setting(text: &str, policy: &'static PolicyInfo) -> Result<(usize, Setting), SpecProblem> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let Some((index, param)) = policy.params.iter().enumerate().find(|(_, param)| param.name == name) else {
        return Err(SpecProblem::UnknownParam {
            policy: policy.name,
            name: name.to_owned(),
            nearest: nearest(name, policy.params.iter().map(|param| param.name)),
            known: policy.params.iter().map(|param| param.name).collect(),
        });
    };
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Err(SpecProblem::MissingValue {
            param: param.name,
            example: quantity::format(param.kind, param.default),
        });
    };
    let raw = quantity::parse(param.kind, value).map_err(|error| SpecProblem::BadValue {
        param: param.name,
        value: value.to_owned(),
        error,
    })?;
    if raw < param.min || raw > param.max {
        return Err(SpecProblem::OutOfRange {
            param: param.name,
            value: value.to_owned(),
            range: range_text(param),
        });
    }
    Ok((index, Setting { param: param.name, kind: param.kind, raw }))
}

/// A parameter's range with its unit, as in `1us to 1s` or `1 to 64 levels`.
#[must_use]
pub fn range_text(param: &ParamInfo) -> String {
    let (min, max) = (quantity::format(param.kind, param.min), quantity::format(param.kind, param.max));
    match param.kind {
        ParamKind::Switch => "on or off".to_owned(),
        ParamKind::Integer if !param.unit.is_empty() => format!("{min} to {max} {}", param.unit),
        _ => format!("{min} to {max}"),
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Selection => "selection policy",
        Kind::Modifier => "modifier",
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

fn params_hint(nearest: Option<&str>, known: &[&str]) -> String {
    match (nearest, known) {
        (Some(_), _) => did_you_mean(nearest),
        (None, []) => "; it takes none".to_owned(),
        (None, known) => format!("; it has {}", known.join(", ")),
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.selection)?;
        self.modifiers.iter().try_for_each(|modifier| write!(f, "+{modifier}"))?;
        self.placement.iter().try_for_each(|placement| write!(f, "@{placement}"))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.settings.iter().try_for_each(|setting| write!(f, ":{setting}"))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.param, quantity::format(self.kind, self.raw))
    }
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;

impl Failure for SpecError {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}
