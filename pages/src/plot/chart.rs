//! Curves, or bands stacked on each other.

use serde::Serialize;

use super::axis::{Axis, label};
use super::look::Look;
use super::{Canvas, Interval, LETTERS, Numbers, Plot, Point, Series, intervals};
use crate::palette;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 70.0;
/// To the right of the data.
const BESIDE: f64 = 20.0;
const TOP: f64 = 35.0;
/// Below the data: ticks, the axis' name, the legend.
const BELOW: f64 = 55.0;
const LEGEND_LINE: f64 = 15.0;
/// Length of a line in the legend: its dashes can be seen.
const KEY: f64 = 26.0;
/// The data have at least so much room.
const LEAST_DATA: (f64, f64) = (120.0, 60.0);
/// Marks of a long line in black and white.
const MARKS_OF_LINE: usize = 7;

/// How series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A curve each, dots at the points if they are few.
    Lines,
    /// One curve each, without dots, because corners are not samples.
    Steps,
    /// Each on top of the ones before, the space between filled.
    Stacked,
}

/// A diagram with two axes.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// File name without its ending.
    pub name: String,
    /// Above it.
    pub title: String,
    /// With its unit.
    pub x: String,
    /// With its unit.
    pub y: String,
    /// Whether x is logarithmic.
    pub log_x: bool,
    /// Whether y is, from the least to the greatest value.
    pub log_y: bool,
    /// The least and the greatest y, if they do not come from the points.
    #[serde(skip)]
    pub y_range: Option<(f64, f64)>,
    /// Width of the whole drawing.
    #[serde(skip)]
    pub width: f64,
    /// Height of the whole drawing, with one line of names.
    #[serde(skip)]
    pub height: f64,
    /// Lines or bands.
    pub kind: Kind,
    /// In the legend's order.
    pub series: Vec<Series>,
}

impl Chart {
    /// A chart of curves over linear axes, with nothing on it yet.
    #[must_use]
    pub fn lines(name: &str, title: &str, x: &str, y: &str) -> Chart {
        let [name, title, x, y] = [name, title, x, y].map(str::to_owned);
        let series = Vec::new();
        let (log_x, log_y, y_range, kind) = (false, false, None, Kind::Lines);
        Chart { name, title, x, y, log_x, log_y, y_range, width: WIDTH, height: 400.0, kind, series }
    }

    /// With one more series.
    pub fn add(&mut self, name: impl Into<String>, points: Vec<(f64, f64)>) {
        self.series.push(Series { name: name.into(), points, intervals: Vec::new() });
    }

    /// With one more series, of points that may have intervals.
    pub fn add_measured(&mut self, name: impl Into<String>, points: &[Point]) {
        let interval = |point: &Point| point.interval.map(|(low, high)| Interval { x: point.x, low, high });
        self.series.push(Series {
            name: name.into(),
            points: points.iter().map(|point| (point.x, point.y)).collect(),
            intervals: points.iter().filter_map(interval).collect(),
        });
    }

    /// Gives charts that are looked at side by side the same heights, those of all their series. All or none are logarithmic.
    pub fn on_one_scale(charts: &mut [Chart]) {
        let all: Vec<Series> = charts.iter().flat_map(|chart| chart.series.clone()).collect();
        let is_log = charts.iter().any(|chart| chart.log_y);
        let range = heights(&all, is_log);
        charts.iter_mut().for_each(|chart| chart.y_range = Some(range));
    }

    /// Draws it.
    #[must_use]
    pub fn draw(&self) -> Plot {
        self.draw_in(&Look::default(), None)
    }

    pub(super) fn draw_in(&self, look: &Look, room: Option<(f64, f64)>) -> Plot {
        let Some((width, height)) = room else { return self.draw_by(look) };
        let mut fitted = Chart { width, ..self.clone() };
        fitted.height = height - LEGEND_LINE * (fitted.legend_lines() - 1) as f64;
        fitted.draw_by(look)
    }

    pub(super) fn least_room(&self, width: f64) -> (f64, f64) {
        let least = LEFT + LEAST_DATA.0 + BESIDE;
        let legend = Chart { width: width.max(least), ..self.clone() }.legend_lines() - 1;
        (least, TOP + LEAST_DATA.1 + BELOW + LEGEND_LINE * legend as f64)
    }

    fn right(&self) -> f64 {
        self.width - BESIDE
    }

    fn draw_by(&self, look: &Look) -> Plot {
        let series = if self.kind == Kind::Stacked { stacked(&self.series) } else { self.series.clone() };
        let height = self.height + LEGEND_LINE * (self.legend_lines() - 1) as f64;
        let mut canvas = Canvas::new(look, self.width, height, &self.title);
        let (x, y) = self.axes(&series);
        self.frame(&mut canvas, x, y);
        intervals::draw(&mut canvas, &series, x, y);
        // The topmost band first: those below are drawn over it.
        let order: Vec<usize> = match self.kind {
            Kind::Lines | Kind::Steps => (0..series.len()).collect(),
            Kind::Stacked => (0..series.len()).rev().collect(),
        };
        for i in order {
            let places: Vec<(f64, f64)> =
                series[i].points.iter().map(|p| (x.place(p.0), y.place(p.1))).collect();
            match self.kind {
                Kind::Lines => curve(&mut canvas, &places, i),
                Kind::Steps => steps(&mut canvas, &places, i),
                Kind::Stacked => band(&mut canvas, &places, self.bottom(), i),
            }
        }
        self.legend(&mut canvas);
        canvas.finish(&self.name, Numbers::Chart(self.clone()))
    }

    fn bottom(&self) -> f64 {
        self.height - BELOW
    }

    /// Around all points; y from 0 on, or below, unless it is logarithmic.
    fn axes(&self, series: &[Series]) -> (Axis, Axis) {
        let places = || series.iter().flat_map(|series| &series.points).map(|point| point.0);
        let (from, to) = (places().fold(f64::INFINITY, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
        let x = Axis { from, to, start: LEFT, end: self.right(), log: self.log_x };
        let (start, end) = (self.bottom(), TOP);
        let (least, most) = self.y_range.unwrap_or_else(|| heights(series, self.log_y));
        if self.log_y {
            return (x, Axis { from: least, to: most, start, end, log: true });
        }
        let (from, to) = (least.min(0.0), most.max(0.0));
        // Up to a round number, so that the gridlines go to the top.
        let step = Axis { from, to, start, end, log: false }.step().unwrap_or(1.0);
        let round = |value: f64, up: fn(f64) -> f64| up(value / step) * step;
        let (from, to) = (round(from + 1e-9 * step, f64::floor), round(to - 1e-9 * step, f64::ceil));
        (x, Axis { from: from.min(0.0), to, start, end, log: false })
    }

    fn frame(&self, canvas: &mut Canvas, x: Axis, y: Axis) {
        let (bottom, right) = (self.bottom(), self.right());
        let mut labelled = f64::NEG_INFINITY;
        for tick in x.ticks() {
            let at = x.place(tick);
            canvas.line((at, TOP), (at, bottom), palette::plain("grid"));
            canvas.tick_label((at, bottom + 15.0), tick, &mut labelled);
        }
        let mut labelled = f64::INFINITY;
        for tick in y.ticks() {
            let at = y.place(tick);
            canvas.line((LEFT, at), (right, at), palette::plain("grid"));
            if !canvas.is_sized() || at <= labelled {
                canvas.text(LEFT - 5.0, at + 4.0, "end", &label(tick));
                labelled = at - LETTERS;
            }
        }
        canvas.line((LEFT, bottom), (right, bottom), palette::plain("faint"));
        canvas.line((LEFT, TOP), (LEFT, bottom), palette::plain("faint"));
        canvas.text((LEFT + right) / 2.0, bottom + 32.0, "middle", &self.x);
        canvas.text(16.0, (TOP + bottom) / 2.0, "middle", &format!("{}|up", self.y));
    }

    fn legend(&self, canvas: &mut Canvas) {
        for (i, (series, (x, line))) in self.series.iter().zip(self.legend_places()).enumerate() {
            let y = self.height - 9.0 + LEGEND_LINE * line as f64;
            match self.kind {
                Kind::Stacked => {
                    let (top, bottom) = (y - 9.0, y);
                    let box_ = [(x, top), (x + 18.0, top), (x + 18.0, bottom), (x, bottom)];
                    let (fill, edge) = (canvas.fill(i), canvas.edge());
                    canvas.area(&box_, &fill, edge);
                }
                Kind::Lines | Kind::Steps => canvas.path(&[(x, y - 4.0), (x + KEY, y - 4.0)], i),
            }
            if self.kind == Kind::Lines || (self.kind == Kind::Steps && canvas.is_black_and_white()) {
                canvas.mark((x + KEY / 2.0, y - 4.0), i);
            }
            canvas.text(x + KEY + 4.0, y, "start", &series.name);
        }
    }

    /// Where each name begins, and in which line.
    fn legend_places(&self) -> Vec<(f64, usize)> {
        let (mut x, mut line) = (LEFT, 0);
        let place = |series: &Series| {
            let width = 14.0 + KEY + 6.5 * series.name.chars().count() as f64;
            if x > LEFT && x + width > self.right() {
                (x, line) = (LEFT, line + 1);
            }
            let begin = x;
            x += width;
            (begin, line)
        };
        self.series.iter().map(place).collect()
    }

    fn legend_lines(&self) -> usize {
        self.legend_places().last().map_or(1, |(_, line)| line + 1)
    }
}

/// The least and the greatest y of series: of an axis that is not logarithmic 0 is one of them.
fn heights(series: &[Series], is_log: bool) -> (f64, f64) {
    let of_points = || series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let range = |least, most| (of_points().fold(least, f64::min), of_points().fold(most, f64::max));
    if is_log {
        intervals::widened_log(series, range(f64::INFINITY, f64::NEG_INFINITY))
    } else {
        intervals::widened(series, range(0.0, 0.0))
    }
}

fn curve(canvas: &mut Canvas, places: &[(f64, f64)], i: usize) {
    if places.len() > 60 {
        return steps(canvas, places, i);
    }
    canvas.path(places, i);
    for &at in places {
        canvas.mark(at, i);
    }
}

/// A line whose corners are no samples. In black and white it has some marks, not at the same places as other lines.
fn steps(canvas: &mut Canvas, places: &[(f64, f64)], i: usize) {
    canvas.path(places, i);
    if !canvas.is_black_and_white() {
        return;
    }
    let apart = places.len().div_ceil(MARKS_OF_LINE).max(1);
    for &at in places.iter().skip(i * apart / 8 % apart).step_by(apart) {
        canvas.mark(at, i);
    }
}

fn band(canvas: &mut Canvas, places: &[(f64, f64)], zero: f64, i: usize) {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return };
    let mut outline = places.to_vec();
    outline.push((last.0, zero));
    outline.push((first.0, zero));
    let (fill, edge) = (canvas.fill(i), canvas.edge());
    canvas.area(&outline, &fill, edge);
}

/// Each series plus those before it. They have the same x.
fn stacked(series: &[Series]) -> Vec<Series> {
    let mut sums: Vec<f64> = Vec::new();
    let mut on_top = Vec::new();
    for one in series {
        sums.resize(one.points.len(), 0.0);
        let points = one.points.iter().zip(&mut sums).map(|(&(x, y), sum)| {
            *sum += y;
            (x, *sum)
        });
        let points = points.collect();
        on_top.push(Series { name: one.name.clone(), points, intervals: Vec::new() });
    }
    on_top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_stacked() {
        let mut chart = Chart::lines("n", "t", "time (s)", "share");
        chart.kind = Kind::Stacked;
        chart.add("a", vec![(0.0, 0.25), (1.0, 0.5)]);
        chart.add("b", vec![(0.0, 0.5), (1.0, 0.5)]);
        let tops = stacked(&chart.series);
        assert_eq!(tops[1].points, [(0.0, 0.75), (1.0, 1.0)]);
        let svg = chart.draw().svg;
        assert_eq!(svg.matches("<polygon").count(), 2 + 2, "bands and their legend");
        assert!(svg.contains("time (s)") && svg.contains(">share<"));
    }

    #[test]
    fn a_logarithmic_axis_has_its_ends_at_the_ends() {
        let mut chart = Chart::lines("n", "t", "x", "y");
        (chart.log_y, chart.height) = (true, 300.0);
        chart.add("a", vec![(1.0, 0.001), (2.0, 100.0)]);
        let (_, y) = chart.axes(&chart.series);
        assert_eq!((y.place(100.0), y.place(0.001)), (TOP, 300.0 - BELOW));
    }

    #[test]
    fn charts_side_by_side_have_the_same_heights() {
        let mut charts = [1.0, 8.0].map(|height| {
            let mut chart = Chart::lines("n", "t", "x", "y");
            chart.add_measured("a", &[Point { x: 1.0, y: height, interval: Some((0.5, height + 1.5)) }]);
            chart
        });
        let range = |chart: &Chart| chart.axes(&chart.series).1.to;
        assert!(range(&charts[0]) < range(&charts[1]));
        Chart::on_one_scale(&mut charts);
        assert_eq!((range(&charts[0]), range(&charts[1])), (10.0, 10.0));
        charts.iter_mut().for_each(|chart| (chart.log_y, chart.y_range) = (true, None));
        Chart::on_one_scale(&mut charts);
        assert_eq!((range(&charts[0]), range(&charts[1])), (9.5, 9.5));
    }

    #[test]
    fn names_that_do_not_fit_go_on_below() {
        let mut chart = Chart::lines("n", "t", "x", "y");
        (0..10).for_each(|i| chart.add(format!("a longer name {i}"), vec![(0.0, 1.0), (1.0, 2.0)]));
        let places = chart.legend_places();
        assert!(
            places.iter().all(|(x, _)| x + 14.0 + KEY + 6.5 * 15.0 <= chart.right() + 1e-9),
            "{places:?}"
        );
        assert_eq!(chart.legend_lines(), 3);
        assert!(chart.draw().svg.contains("height=\"430\""));
    }

    #[test]
    fn curves_stay_on_the_canvas() {
        let mut chart = Chart::lines("n", "t", "x", "y");
        chart.add("a", vec![(1.0, -5.0), (2.0, 20.0)]);
        let (x, y) = chart.axes(&chart.series);
        assert_eq!((x.place(1.0), x.place(2.0)), (LEFT, chart.right()));
        assert!(y.place(20.0) >= TOP && y.place(-5.0) <= chart.bottom());
    }
}
