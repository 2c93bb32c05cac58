//! Drawings of values that have names: a table of `expected/kernel/` says which.
//!
//! ```toml
//! [[drawing]]
//! name = "response"
//! title = "mean response"
//! x = "alpha"
//! y = "s"
//! value = "{curve}, alpha {x}: mean response (s)"
//! curves = ["beta inf", "beta 0"]
//! at = [0.1, 0.4, 4]
//! ```

use divvy_pages::plot::{Chart, Point};
use serde::Deserialize;

use crate::measured::Measured;

/// Curves, and the names of their points' values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// A part of the file's name.
    name: String,
    title: String,
    /// With its unit.
    x: String,
    /// With its unit.
    y: String,
    /// The name of a value: `{curve}` stands for a curve, `{x}` for a number of `at`.
    value: String,
    /// In the legend's order.
    curves: Vec<String>,
    /// Ascending.
    at: Vec<f64>,
    #[serde(default)]
    log_x: bool,
    #[serde(default)]
    log_y: bool,
}

impl Drawing {
    /// The names of all values that it shows.
    pub fn value_names(&self) -> impl Iterator<Item = String> {
        self.curves.iter().flat_map(|curve| self.at.iter().map(|&x| self.value_name(curve, x)))
    }

    fn value_name(&self, curve: &str, x: f64) -> String {
        self.value.replace("{curve}", curve).replace("{x}", &x.to_string())
    }

    /// The curves of a figure in this place, as far as they have values.
    pub fn chart(&self, id: &str, place: &str, value: impl Fn(&str) -> Option<Measured>) -> Chart {
        let (name, title) = (format!("{id}-{}-{place}", self.name), format!("{}, {place}", self.title));
        let mut chart = Chart::lines(&name, &title, &self.x, &self.y);
        (chart.log_x, chart.log_y) = (self.log_x, self.log_y);
        for curve in &self.curves {
            let point = |&x: &f64| value(&self.value_name(curve, x)).map(|value| value.at(x));
            let points: Vec<Point> = self.at.iter().filter_map(point).collect();
            if !points.is_empty() {
                chart.add_measured(curve, &points);
            }
        }
        chart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_found_by_the_names_of_values() {
        let text = "name = \"r\"\ntitle = \"t\"\nx = \"alpha\"\ny = \"s\"\nvalue = \"{curve}, {x}: mean\"\n\
                    curves = [\"a\", \"b\", \"c\"]\nat = [0.5, 4]\n";
        let drawing: Drawing = toml::from_str(text).expect("a drawing");
        let names: Vec<String> = drawing.value_names().collect();
        assert_eq!(names[..3], ["a, 0.5: mean", "a, 4: mean", "b, 0.5: mean"]);
        let value = |name: &str| match name {
            "a, 0.5: mean" => Some(Measured::between(2.0, 1.5, 2.5)),
            "a, 4: mean" => Some(4.0.into()),
            "b, 4: mean" => Some(6.0.into()),
            _ => None,
        };
        let chart = drawing.chart("pbs-7", "kernel", value);
        assert_eq!((chart.name.as_str(), chart.title.as_str()), ("pbs-7-r-kernel", "t, kernel"));
        let curves: Vec<(&str, &[(f64, f64)])> =
            chart.series.iter().map(|one| (one.name.as_str(), one.points.as_slice())).collect();
        assert_eq!(curves, [("a", &[(0.5, 2.0), (4.0, 4.0)][..]), ("b", &[(4.0, 6.0)])]);
        assert_eq!(chart.series[0].intervals.len(), 1);
    }
}
