//! CPU times whose variance is infinite.

use crate::{Dist, Step, Task, Workload};

impl Workload {
    /// The first task whose CPU times have no finite variance, and the shape of their Pareto distribution. The mean of such samples
    /// converges slowly, or up to a shape of 1 to nothing, and its confidence interval, by the central limit theorem, is too narrow.
    #[must_use]
    pub fn heavy_tail(&self) -> Option<(&Task, f64)> {
        self.tasks.iter().find_map(|task| Some((task, shape_in(&task.program)?)))
    }

    /// Says that means are not to be relied on, if there is such a task.
    #[must_use]
    pub fn heavy_tail_note(&self) -> Option<String> {
        let (task, shape) = self.heavy_tail()?;
        let (infinite, so) = if shape <= 1.0 {
            ("mean", "means say nothing")
        } else {
            ("variance", "means depend on the run's length, and their intervals are too narrow")
        };
        Some(format!(
            "CPU times of task {} have an infinite {infinite} (Pareto, shape {shape}): {so}; compare percentiles, or cut the \
             distribution with bounded_pareto",
            task.name
        ))
    }
}

fn shape_in(program: &[Step]) -> Option<f64> {
    program.iter().find_map(|step| match step {
        Step::Run(Dist::Pareto { shape, .. }) if *shape <= 2.0 => Some(*shape),
        Step::Loop { body, .. } => shape_in(body),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_up_to_2_has_no_finite_variance_wherever_it_is() {
        let found = |run: &str| {
            let text = format!(
                "duration = \"1s\"\ntask = [ {{ name = \"a\", program = [ {{ run = \"1ms\" }} ] }}, {{ name = \"b\", program = \
                 [ {{ loop = 2, do = [ {{ sleep = {{ pareto = {{ shape = 1.1, scale = \"1ms\" }} }} }}, {{ run = {run} }} ] }} ] }} ]"
            );
            let workload = Workload::parse(&text, "x").unwrap();
            workload.heavy_tail().map(|(task, shape)| (task.name.clone(), shape))
        };
        assert_eq!(found("{ pareto = { shape = 2.0, scale = \"1ms\" } }"), Some(("b".to_owned(), 2.0)));
        assert_eq!(found("{ pareto = { shape = 2.1, scale = \"1ms\" } }"), None);
        assert_eq!(found("{ bounded_pareto = { shape = 1.1, lo = \"1ms\", hi = \"1s\" } }"), None);
    }
}
