//! Descriptions of policies for programs: JSON of the command, dicts of the Python package.

use serde::Serialize;

use crate::{Kind, ParamInfo, ParamKind, PolicyInfo, quantity};

/// A policy. Values of parameters are as a spec takes them, so that they can be pasted into one.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    name: &'static str,
    kind: &'static str,
    baseline: bool,
    simulator_only: Option<&'static str>,
    accesses_per_task: Option<u32>,
    title: &'static str,
    paper: &'static str,
    guarantees: Vec<&'static str>,
    cost: &'static str,
    deviations: Vec<&'static str>,
    params: Vec<Param>,
}

#[derive(Clone, Debug, Serialize)]
struct Param {
    name: &'static str,
    kind: &'static str,
    unit: &'static str,
    default: String,
    min: String,
    max: String,
    help: &'static str,
}

impl From<&PolicyInfo> for Description {
    fn from(policy: &PolicyInfo) -> Description {
        Description {
            name: policy.name,
            kind: match policy.kind {
                Kind::Selection => "selection",
                Kind::Modifier => "modifier",
            },
            baseline: policy.is_baseline,
            simulator_only: policy.simulator_only,
            accesses_per_task: policy.linear,
            title: policy.title,
            paper: policy.paper,
            guarantees: policy.guarantees.clone(),
            cost: policy.cost,
            deviations: policy.deviations.clone(),
            params: policy.params.iter().map(Param::from).collect(),
        }
    }
}

impl From<&ParamInfo> for Param {
    fn from(param: &ParamInfo) -> Param {
        let text = |raw| quantity::format(param.kind, raw);
        Param {
            name: param.name,
            kind: param.kind.name(),
            unit: param.unit,
            default: text(param.default),
            min: text(param.min),
            max: text(param.max),
            help: param.help,
        }
    }
}

impl ParamKind {
    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ParamKind::Time => "time",
            ParamKind::Ratio => "ratio",
            ParamKind::Integer => "integer",
            ParamKind::Switch => "switch",
        }
    }
}
