//! Claims as goals: how far a run is from them.

use divvy_results::measure::Unit;
use divvy_results::report::{Report, Run};

use super::claim::{Claim, ClaimError, Op, Side};

/// The shortfall of a claim whose measure was not measured: as if it were off by all of its limit.
const UNMEASURED: f64 = 1.0;
/// The shortfall of a strict claim that is off by nothing (`<` a limit that is reached), so that it counts as unmet.
const REACHED: f64 = 1e-9;

impl Claim {
    /// The claim as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How far the run is from the claim, as a part of the larger of its two sides; 0 if it meets the claim.
    ///
    /// # Errors
    /// If the claim names what the report does not have.
    pub fn shortfall(&self, run: &Run, report: &Report) -> Result<f64, ClaimError> {
        let (left, right) = (self.value(&self.left, run, report)?, self.value(&self.right, run, report)?);
        let Some((left, right)) = left.zip(right) else { return Ok(UNMEASURED) };
        if self.op.holds(left, right) {
            return Ok(0.0);
        }
        let scale = left.abs().max(right.abs());
        Ok(if scale > 0.0 { ((left - right).abs() / scale).max(REACHED) } else { REACHED })
    }

    /// What the claim's first measure is in the run, if it was measured, with its unit.
    ///
    /// # Errors
    /// If the claim names what the report does not have.
    pub fn reading(&self, run: &Run, report: &Report) -> Result<Option<(Unit, f64)>, ClaimError> {
        for side in [&self.left, &self.right] {
            if let Side::Measure { factor, measure } = side {
                let value = self.value(side, run, report)?;
                return Ok(value.map(|value| (measure.unit(), value / factor)));
            }
        }
        Ok(None)
    }

    /// Refuses what no search can move towards: a claim about another policy of the report, and `==` and `!=`.
    ///
    /// # Errors
    /// If it is such a claim.
    pub fn check_goal(&self) -> Result<(), ClaimError> {
        for side in [&self.left, &self.right] {
            if let Side::Measure { measure, .. } = side
                && let Some(policy) = &measure.policy
            {
                return Err(
                    self.error(policy.column, "a goal is about one policy; leave policy= out".to_owned())
                );
            }
        }
        match self.op {
            Op::Equal | Op::Unequal => {
                Err(self.error(1, "a goal has <, <=, > or >=, so that one can come nearer to it".to_owned()))
            }
            Op::Less | Op::AtMost | Op::Greater | Op::AtLeast => Ok(()),
        }
    }

    /// Whether the claim names this task, all tasks of its name, or its process.
    pub fn names(&self, task: &str, process: &str) -> bool {
        [&self.left, &self.right].into_iter().any(|side| match side {
            Side::Number(_) => false,
            Side::Measure { measure, .. } => {
                let is_task = |name: &str| {
                    name == task || super::is_instance(name, task) || super::is_instance(task, name)
                };
                measure.task.as_ref().is_some_and(|name| is_task(&name.text))
                    || measure.process.as_ref().is_some_and(|name| name.text == process)
            }
        })
    }
}
