//! The drivers of the figures.

pub(crate) mod costs;
pub(crate) mod flow;
pub(crate) mod gr3;
pub(crate) mod pbs;
pub(crate) mod pbs_users;
pub(crate) mod procfair;
pub(crate) mod sfs;
pub(crate) mod sfs_heuristic;
pub(crate) mod sfs_load;
pub(crate) mod study;

use crate::claim::Value;
use crate::reproduce::LabError;
use crate::run::missing;
use divvy_pages::plot::Plot;

/// What a figure's driver found.
#[derive(Default)]
pub struct Found {
    /// By the names of the claims in the figure's table; others are shown beside them.
    pub values: Vec<(String, Value)>,
    /// To be drawn.
    pub plots: Vec<Plot>,
}

impl Found {
    pub(crate) fn is(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.values.push((name.into(), value.into()));
    }

    /// Measures under a policy: the names, and their values; if the policy is missing, all of them are.
    pub(crate) fn under(
        &mut self,
        spec: &str,
        names: &[String],
        measure: impl FnOnce(&mut Found) -> Result<Vec<f64>, LabError>,
    ) -> Result<(), LabError> {
        let values = match missing(spec) {
            Some(policy) => vec![Value::Missing(policy); names.len()],
            None => measure(self)?.into_iter().map(Value::Number).collect(),
        };
        self.values.extend(names.iter().cloned().zip(values));
        Ok(())
    }
}
