//! Intervals of curves: a pale band, and a bar at each point that has one.

use super::axis::Axis;
use super::{Canvas, Interval, Series};

/// Part of the range of the points by which intervals may widen the axis, at either end. Of few repetitions an interval is
/// many times as long as the curve is high, and would press it flat.
const MOST_WIDER: f64 = 0.5;
/// The same for a logarithmic axis: as a factor.
const MOST_TIMES_WIDER: f64 = 2.0;
/// Half the length of the stroke at the end of a bar.
const CAP: f64 = 3.5;
const BAND_OPACITY: f64 = 0.13;
/// More bars than these would cover each other: the band alone says it.
const MOST_BARS: usize = 60;

/// The least and the greatest y of the points, wider by the intervals. No axis goes below 0 for an interval alone: most
/// quantities cannot.
pub fn widened(series: &[Series], (least, most): (f64, f64)) -> (f64, f64) {
    let room = MOST_WIDER * (most - least);
    let (low, high) = with_intervals(series, (least, most));
    (if least < 0.0 { low.max(least - room) } else { least }, high.min(most + room))
}

/// The same for a logarithmic axis.
pub fn widened_log(series: &[Series], (least, most): (f64, f64)) -> (f64, f64) {
    let (low, high) = with_intervals(series, (least, most));
    (low.max(least / MOST_TIMES_WIDER), high.min(most * MOST_TIMES_WIDER))
}

/// The least and the greatest y of points and intervals.
fn with_intervals(series: &[Series], (least, most): (f64, f64)) -> (f64, f64) {
    let intervals = || series.iter().flat_map(|one| &one.intervals);
    let low = intervals().map(|interval| interval.low).fold(least, f64::min);
    let high = intervals().map(|interval| interval.high).fold(most, f64::max);
    (low, high)
}

/// Draws the intervals of all series, to be drawn over by their curves. What is beyond the axis is cut off there, and the end of such a
/// bar is open.
pub fn draw(canvas: &mut Canvas, series: &[Series], x: Axis, y: Axis) {
    for (i, one) in series.iter().enumerate() {
        let known: Vec<&Interval> = one
            .intervals
            .iter()
            .filter(|interval| interval.low.is_finite() && interval.high.is_finite())
            .collect();
        band(canvas, &known, i, x, y);
        if known.len() <= MOST_BARS {
            known.iter().for_each(|interval| bar(canvas, interval, i, x, y));
        }
    }
    if series.iter().any(|one| !one.intervals.is_empty()) {
        // A narrow drawing has no room beside the name of the axis.
        let at = if canvas.is_sized() { y.end - 3.0 } else { y.start + 32.0 };
        canvas.note("bars: 95 % intervals", x.end, at);
    }
}

fn band(canvas: &mut Canvas, known: &[&Interval], i: usize, x: Axis, y: Axis) {
    if known.len() < 2 {
        return;
    }
    let low = known.iter().rev().map(|interval| (x.place(interval.x), y.bounded(interval.low)));
    let high = known.iter().map(|interval| (x.place(interval.x), y.bounded(interval.high)));
    let outline: Vec<(f64, f64)> = high.chain(low).collect();
    let colour = canvas.colour(i);
    canvas.veil(&outline, &colour, BAND_OPACITY, "none");
}

fn bar(canvas: &mut Canvas, interval: &Interval, i: usize, x: Axis, y: Axis) {
    let (at, colour) = (x.place(interval.x), canvas.colour(i));
    canvas.line((at, y.bounded(interval.low)), (at, y.bounded(interval.high)), &colour);
    for end in [interval.low, interval.high] {
        if y.has(end) {
            canvas.line((at - CAP, y.place(end)), (at + CAP, y.place(end)), &colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plot::{Chart, Point};

    fn chart(points: &[Point]) -> Chart {
        let mut chart = Chart::lines("n", "t", "x", "y");
        chart.add_measured("a", points);
        chart
    }

    fn point(x: f64, y: f64, interval: Option<(f64, f64)>) -> Point {
        Point { x, y, interval }
    }

    /// The canvas has the data from y = 35 to 345, and x from 70 to 620; 0 to 10 on the axis, so 31 each.
    #[test]
    fn a_bar_goes_from_the_least_to_the_greatest_value() {
        let svg = chart(&[point(1.0, 4.0, Some((2.0, 8.0))), point(2.0, 10.0, None)]).draw().svg;
        assert!(svg.contains("d=\"M70.00,283.00 L70.00,97.00\""), "{svg}");
        assert_eq!(svg.matches("95 % intervals").count(), 1);
        assert!(!svg.contains("fill-opacity"), "one interval is no band");
        let plain = chart(&[point(1.0, 4.0, None), point(2.0, 10.0, None)]).draw().svg;
        assert!(!plain.contains("95 % intervals"), "{plain}");
    }

    /// Points go from 0 to 10, so the axis to 15: a bar to 1000 is cut there, and has one end of two.
    #[test]
    fn a_long_interval_does_not_press_the_curve_flat() {
        let svg =
            chart(&[point(1.0, 5.0, Some((-990.0, 1000.0))), point(2.0, 10.0, Some((8.0, 12.0)))]).draw().svg;
        assert!(svg.contains("d=\"M70.00,345.00 L70.00,35.00\""), "{svg}");
        let caps = svg.lines().filter(|line| line.contains("d=\"M66.50,") || line.contains("d=\"M616.50,"));
        assert_eq!(caps.count(), 2, "only the second bar has ends: {svg}");
        assert!(
            svg.contains(">15</text>") && !svg.contains(">20</text>") && !svg.contains(">-5</text>"),
            "{svg}"
        );
    }
}
