//! The configuration of a machine: a policy, its modifiers, the values of their parameters, and the CPUs.

use crate::kind::{Failure, FailureKind};
use crate::placement::Placement;
use crate::spec::{Part, Spec};

/// The configuration of a [`Machine`](crate::Machine).
///
/// ```
/// use divvy_policy::{Machine, MachineConfig, spec};
///
/// let spec = spec::parse("sfq+procfair", divvy_policy::all())?;
/// let machine = Machine::new(&MachineConfig::from_spec(&spec, 4, 1_000_000)?)?;
/// assert_eq!(machine.decisions(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineConfig<'a> {
    /// The selection policy, by name.
    pub policy: &'a str,
    /// The modifiers, by name.
    pub modifiers: Vec<&'a str>,
    /// Values of parameters that are not the default.
    pub params: Vec<ParamValue<'a>>,
    /// Number of CPUs, 1 to [`MAX_CPUS`](crate::MAX_CPUS).
    pub cpus: u32,
    /// The slice of policies that have none of their own, in ns.
    pub quantum_ns: u64,
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamValue<'a> {
    /// The policy or modifier that has the parameter, by name.
    pub owner: &'a str,
    /// Index of the parameter in [`PolicyInfo::params`](crate::PolicyInfo::params).
    pub index: usize,
    /// The value; [`ParamKind`](crate::ParamKind) has the scale.
    pub raw: i64,
}

impl<'a> MachineConfig<'a> {
    /// A policy without modifiers, whose parameters have their defaults.
    #[must_use]
    pub fn new(policy: &'a str, cpus: u32, quantum_ns: u64) -> MachineConfig<'a> {
        MachineConfig { policy, modifiers: Vec::new(), params: Vec::new(), cpus, quantum_ns }
    }

    /// With these modifiers, too.
    #[must_use]
    pub fn with_modifiers(mut self, modifiers: &[&'a str]) -> MachineConfig<'a> {
        self.modifiers.extend(modifiers);
        self
    }

    /// With the parameter `index` of `owner` set to `raw`.
    #[must_use]
    pub fn with_param(mut self, owner: &'a str, index: usize, raw: i64) -> MachineConfig<'a> {
        self.params.push(ParamValue { owner, index, raw });
        self
    }

    /// With each of these (owner, index, raw value) as [`MachineConfig::with_param`] takes them.
    #[must_use]
    pub fn with_params(self, params: &[(&'a str, usize, i64)]) -> MachineConfig<'a> {
        params.iter().fold(self, |config, &(owner, index, raw)| config.with_param(owner, index, raw))
    }

    /// The machine that a spec describes.
    ///
    /// # Errors
    /// [`MachineError`] if the spec names a policy or a parameter that does not exist. A spec that
    /// [`parse`](crate::spec::parse) read does not.
    pub fn from_spec(
        spec: &Spec,
        cpus: u32,
        quantum_ns: u64,
    ) -> Result<MachineConfig<'static>, MachineError> {
        if let Some(placement) = spec.placement {
            return Err(MachineError::Placement(placement));
        }
        let mut config = MachineConfig::new(spec.selection.name, cpus, quantum_ns);
        config.modifiers = spec.modifiers.iter().map(|modifier| modifier.name).collect();
        for part in std::iter::once(&spec.selection).chain(&spec.modifiers) {
            for setting in &part.settings {
                let index = param_index(part, setting.param)?;
                config.params.push(ParamValue { owner: part.name, index, raw: setting.raw });
            }
        }
        Ok(config)
    }
}

/// Why there is no such machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// No selection policy has this name.
    #[error("no policy is called {0:?}")]
    UnknownPolicy(String),
    /// No modifier has this name.
    #[error("no modifier is called {0:?}")]
    UnknownModifier(String),
    /// A parameter of a policy that is not part of the machine.
    #[error("no parameter owner {0:?}")]
    UnknownOwner(String),
    /// A policy has no parameter of this name.
    #[error("{owner} has no parameter {param:?}")]
    UnknownParam {
        /// The policy.
        owner: String,
        /// The parameter.
        param: String,
    },
    /// A parameter's index is too great.
    #[error("{owner} has {count} parameters")]
    ParamIndex {
        /// The policy.
        owner: String,
        /// Number of its parameters.
        count: u32,
    },
    /// Several machines, where one is wanted.
    #[error("`{0}` places tasks on several machines, which only sim, replay and sweep can; leave it out")]
    Placement(Placement),
    /// No CPU, or too many.
    #[error("{0} CPUs: a machine has from 1 to {max}", max = crate::MAX_CPUS)]
    Cpus(u32),
}

fn param_index(part: &Part, param: &str) -> Result<usize, MachineError> {
    let info = crate::find(part.name).ok_or_else(|| MachineError::UnknownPolicy(part.name.to_owned()))?;
    let unknown = || MachineError::UnknownParam { owner: part.name.to_owned(), param: param.to_owned() };
    info.params.iter().position(|p| p.name == param).ok_or_else(unknown)
}

impl Failure for MachineError {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}
