//! Measurements of a figure, before its table judges them.

use divvy_pages::plot::Plot;

use crate::error::LabError;
use crate::measured::{Measured, Value};
use crate::run::missing;

/// Values and drawings that a figure's driver made.
#[derive(Default)]
pub struct Measurements {
    /// By the names of the claims in the figure's table; others are shown beside them.
    pub values: Vec<(String, Measured)>,
    /// To be drawn.
    pub plots: Vec<Plot>,
}

impl Measurements {
    /// A plain number says that it is the same with every seed; a mean of repetitions comes with its interval.
    pub(crate) fn is(&mut self, name: impl Into<String>, value: impl Into<Measured>) {
        self.values.push((name.into(), value.into()));
    }

    /// Measures under a policy: the names, and their values; if the policy is missing, all of them are.
    pub(crate) fn under(
        &mut self,
        spec: &str,
        names: &[String],
        measure: impl FnOnce(&mut Measurements) -> Result<Vec<f64>, LabError>,
    ) -> Result<(), LabError> {
        let values: Vec<Measured> = match missing(spec) {
            Some(policy) => vec![Value::Missing(policy).into(); names.len()],
            None => measure(self)?.into_iter().map(Measured::from).collect(),
        };
        self.values.extend(names.iter().cloned().zip(values));
        Ok(())
    }
}
