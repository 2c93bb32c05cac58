//! The points of a figure's drawings.

use arrow_array::ArrayRef;
use divvy_pages::plot::{Chart, Interval, Numbers, Plot};

use super::names::Names;
use super::{numbers, some_numbers};

/// The points of all curves and bands, with their intervals; drawings of another kind have none.
pub fn points(plots: &[Plot]) -> Vec<(&'static str, ArrayRef)> {
    let charts: Vec<&Chart> = plots
        .iter()
        .filter_map(|plot| match &plot.numbers {
            Numbers::Chart(chart) => Some(chart),
            Numbers::Gantt(_) | Numbers::Surface(_) => None,
        })
        .collect();
    let (mut drawings, mut curves) = (Names::default(), Names::default());
    for chart in &charts {
        for one in &chart.series {
            drawings.repeat(&chart.name, one.points.len());
            curves.repeat(&one.name, one.points.len());
        }
    }
    let each = || charts.iter().flat_map(|chart| &chart.series);
    let intervals: Vec<Option<&Interval>> = each()
        .flat_map(|one| {
            one.points.iter().map(|(x, _)| one.intervals.iter().find(|interval| interval.x == *x))
        })
        .collect();
    let end = |of: fn(&Interval) -> f64| some_numbers(intervals.iter().map(|interval| interval.map(of)));
    vec![
        ("drawing", drawings.column()),
        ("curve", curves.column()),
        ("x", numbers(each().flat_map(|one| one.points.iter().map(|(x, _)| *x)))),
        ("y", numbers(each().flat_map(|one| one.points.iter().map(|(_, y)| *y)))),
        ("low", end(|interval| interval.low)),
        ("high", end(|interval| interval.high)),
    ]
}
