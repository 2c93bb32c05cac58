//! Measurements of a figure, before its table judges them.

use divvy_pages::plot::Plot;

use crate::claim::Value;
use crate::error::LabError;
use crate::run::missing;

/// Values and drawings that a figure's driver made.
#[derive(Default)]
pub struct Measurements {
    /// By the names of the claims in the figure's table; others are shown beside them.
    pub values: Vec<(String, Value)>,
    /// To be drawn.
    pub plots: Vec<Plot>,
}

impl Measurements {
    pub(crate) fn is(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.values.push((name.into(), value.into()));
    }

    /// Measures under a policy: the names, and their values; if the policy is missing, all of them are.
    pub(crate) fn under(
        &mut self,
        spec: &str,
        names: &[String],
        measure: impl FnOnce(&mut Measurements) -> Result<Vec<f64>, LabError>,
    ) -> Result<(), LabError> {
        let values = match missing(spec) {
            Some(policy) => vec![Value::Missing(policy); names.len()],
            None => measure(self)?.into_iter().map(Value::Number).collect(),
        };
        self.values.extend(names.iter().cloned().zip(values));
        Ok(())
    }
}
