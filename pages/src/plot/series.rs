//! The numbers of a curve, and where they lie.

use serde::Serialize;

/// A measured point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// In the unit of the axis.
    pub x: f64,
    /// In the unit of the axis: the mean of repetitions, if there are some.
    pub y: f64,
    /// Where y lies with 95 % confidence: the least, and the greatest. None of what does not vary, or was measured once.
    pub interval: Option<(f64, f64)>,
}

/// Where a point lies with 95 % confidence, in the units of the axes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The point's x.
    pub x: f64,
    /// The least y.
    pub low: f64,
    /// The greatest y.
    pub high: f64,
}

/// A name and its points, by ascending x.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// (x, y)
    pub points: Vec<(f64, f64)>,
    /// Intervals of the points that have one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Interval>,
}
