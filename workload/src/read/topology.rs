//! `[topology]`: which CPUs share what, and what it costs to go from one to another.

use super::fields::Field;
use crate::topology::{Distance, Topology};
use crate::{MAX_CPUS, WorkloadError};

const KEYS: [&str; 7] = {
    let [core, llc, node, other] = Topology::COSTS;
    ["llc", "smt", "node", core, llc, node, other]
};

pub(super) fn topology(field: Field) -> Result<Topology, WorkloadError> {
    let fields = field.fields("[topology]", &KEYS)?;
    let mut costs_ns = [0; Distance::ALL.len()];
    for (cost_ns, key) in costs_ns.iter_mut().zip(Topology::COSTS) {
        *cost_ns = fields.duration(key)?.unwrap_or(0);
    }
    Ok(Topology {
        smt: fields.get("smt").map(number).transpose()?.unwrap_or(1),
        llc: number(fields.require("llc", "8")?)?,
        node: fields.get("node").map(number).transpose()?,
        costs_ns,
    })
}

fn number(field: Field) -> Result<u32, WorkloadError> {
    // The range is that of a u32.
    field.unsigned(1, MAX_CPUS.into()).map(|n| n as u32)
}
