//! A Gantt chart: which task runs when, one line for each CPU.

use divvy_results::schedule::{Schedule, Slice};
use divvy_results::text;
use serde::Serialize;

use super::axis::Axis;
use super::look::Look;
use super::{Canvas, Numbers, Plot, ink_on};
use crate::palette;

const LEFT: f64 = 60.0;
const WIDTH: f64 = 800.0;
/// To the right of the bars.
const BESIDE: f64 = 20.0;
/// Below the bars: ticks and the axis' name.
const BELOW: f64 = 45.0;
const ROW: f64 = 34.0;
const TOP: f64 = 35.0;
const LEGEND_LINE: f64 = 17.0;
/// Bars have at least so much room, and a line of them so much.
const LEAST_BARS: f64 = 120.0;
const LEAST_ROW: f64 = 18.0;

/// A task runs.
#[derive(Clone, Debug, Serialize)]
pub struct Bar {
    /// The task's name.
    pub task: String,
    /// Start, in the unit of the axis.
    pub from: f64,
    /// End, in the unit of the axis.
    pub to: f64,
}

/// The bars of a CPU.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// To the left of it.
    pub name: String,
    /// By time.
    pub bars: Vec<Bar>,
}

/// A Gantt chart. Its times are in the unit of its axis: milliseconds for a run, quanta for a figure of a paper.
#[derive(Clone, Debug, Serialize)]
pub struct Gantt {
    /// File name without its ending.
    pub name: String,
    /// Title above the chart.
    pub title: String,
    /// Label of the time axis, with the unit.
    pub x: String,
    /// Start of the axis, in its unit.
    pub from: f64,
    /// From the top.
    pub lines: Vec<Line>,
}

impl Gantt {
    /// The chart of a schedule, in milliseconds.
    #[must_use]
    pub fn of(schedule: &Schedule, name: &str, title: String) -> Gantt {
        let ms = |ns: u64| ns as f64 / 1e6;
        let bar = |slice: &Slice| Bar {
            task: text::escape(&schedule.tasks[slice.task as usize].name),
            from: ms(slice.from_ns),
            to: ms(slice.to_ns),
        };
        let line = |(cpu, slices): (usize, &Vec<Slice>)| Line {
            name: format!("CPU {cpu}"),
            bars: slices.iter().map(bar).collect(),
        };
        Gantt {
            name: name.to_owned(),
            title,
            x: "time (ms)".to_owned(),
            from: ms(schedule.from_ns),
            lines: schedule.cpus.iter().enumerate().map(line).collect(),
        }
    }

    /// Draws it.
    #[must_use]
    pub fn draw(&self) -> Plot {
        self.draw_in(&Look::default(), None)
    }

    pub(super) fn draw_in(&self, look: &Look, room: Option<(f64, f64)>) -> Plot {
        let axis = self.axis(room.map_or(WIDTH, |room| room.0) - BESIDE);
        let tasks = self.tasks();
        let places = self.legend_places(&tasks, axis);
        let lines = self.lines.len().max(1) as f64;
        let row = room.map_or(ROW, |room| (room.1 - TOP - BELOW - legend_height(&places)) / lines);
        let bottom = TOP + row * self.lines.len() as f64;
        let height = bottom + BELOW + legend_height(&places);
        let mut canvas = Canvas::new(look, axis.end + BESIDE, height, &self.title);
        for tick in axis.ticks() {
            let at = axis.place(tick);
            canvas.line((at, TOP), (at, bottom + 3.0), palette::plain("grid"));
        }
        for (i, Line { name, bars }) in self.lines.iter().enumerate() {
            let top = TOP + row * i as f64;
            canvas.text(LEFT - 6.0, top + row * 0.6, "end", name);
            for bar in bars {
                let task = tasks.iter().position(|task| *task == bar.task).unwrap_or(0);
                let is_named = places.is_empty();
                draw_bar(&mut canvas, bar, axis, (top, row), (task, is_named));
            }
        }
        let mut labelled = f64::NEG_INFINITY;
        for tick in axis.ticks() {
            canvas.tick_label((axis.place(tick), bottom + 14.0), tick, &mut labelled);
        }
        canvas.text((LEFT + axis.end) / 2.0, bottom + 32.0, "middle", &self.x);
        legend(&mut canvas, &tasks, &places, bottom + 52.0);
        canvas.finish(&self.name, Numbers::Gantt(self.clone()))
    }

    pub(super) fn least_room(&self, width: f64) -> (f64, f64) {
        let least = LEFT + LEAST_BARS + BESIDE;
        let places = self.legend_places(&self.tasks(), self.axis(width.max(least) - BESIDE));
        (least, TOP + LEAST_ROW * self.lines.len() as f64 + BELOW + legend_height(&places))
    }

    /// Names, sorted.
    fn tasks(&self) -> Vec<&str> {
        let bars = self.lines.iter().flat_map(|line| &line.bars);
        let mut tasks: Vec<&str> = bars.map(|bar| bar.task.as_str()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// Places of names, of which there are none if each bar has room for its own.
    fn legend_places(&self, tasks: &[&str], axis: Axis) -> Vec<(f64, usize)> {
        let mut bars = self.lines.iter().flat_map(|line| &line.bars);
        if bars.all(|bar| has_room(bar, axis)) { Vec::new() } else { legend_places(tasks, axis.end + BESIDE) }
    }

    fn axis(&self, right: f64) -> Axis {
        let bars = self.lines.iter().flat_map(|line| &line.bars);
        let end = bars.map(|bar| bar.to).fold(self.from, f64::max);
        Axis { from: self.from, to: end, start: LEFT, end: right, log: false }
    }
}

fn legend_height(places: &[(f64, usize)]) -> f64 {
    places.last().map_or(0.0, |(_, line)| LEGEND_LINE * (*line as f64 + 1.0))
}

/// Whether a bar has room for its task's name.
fn has_room(bar: &Bar, axis: Axis) -> bool {
    axis.place(bar.to) - axis.place(bar.from) > 6.5 * bar.task.chars().count() as f64 + 4.0
}

/// Where the name of each task begins, and in which line.
fn legend_places(tasks: &[&str], width: f64) -> Vec<(f64, usize)> {
    let (mut x, mut line) = (LEFT, 0);
    let place = |task: &&str| {
        let wide = 37.0 + 6.5 * task.chars().count() as f64;
        if x > LEFT && x + wide > width {
            (x, line) = (LEFT, line + 1);
        }
        let begin = x;
        x += wide;
        (begin, line)
    };
    tasks.iter().map(place).collect()
}

/// Shows the colour of each task that has a place.
fn legend(canvas: &mut Canvas, tasks: &[&str], places: &[(f64, usize)], y: f64) {
    for (i, (task, (x, line))) in tasks.iter().zip(places).enumerate() {
        let (x, y) = (*x, y + LEGEND_LINE * *line as f64);
        let corners = [(x, y - 9.0), (x + 14.0, y - 9.0), (x + 14.0, y), (x, y)];
        let (fill, edge) = (canvas.fill(i), canvas.edge());
        canvas.area(&corners, &fill, edge);
        canvas.text(x + 19.0, y, "start", task);
    }
}

/// In black and white a bar has a hatch, or its name where all bars have theirs.
fn draw_bar(
    canvas: &mut Canvas,
    bar: &Bar,
    axis: Axis,
    (top, row): (f64, f64),
    (task, is_named): (usize, bool),
) {
    let (a, b) = (axis.place(bar.from), axis.place(bar.to));
    let (top, bottom) = (top + 3.0, top + row - 3.0);
    let is_plain = is_named && canvas.is_black_and_white();
    let fill = if is_plain { palette::plain("ground").to_owned() } else { canvas.fill(task) };
    let edge = canvas.edge();
    canvas.area(&[(a, top), (b, top), (b, bottom), (a, bottom)], &fill, edge);
    if is_named || (has_room(bar, axis) && !canvas.is_black_and_white()) {
        canvas.text_in(ink_on(&fill), (a + b) / 2.0, top + (row - 6.0) / 2.0 + 4.0, "middle", &bar.task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::colour;

    /// Fifteen tasks too short for their names: the legend has them all, on the canvas, and no two have one colour.
    #[test]
    fn a_legend_has_all_tasks_and_fits() {
        let bar = |i: u32| Bar { task: format!("worker/{i}"), from: f64::from(i), to: f64::from(i) + 0.1 };
        let (name, title, x) = ("n".to_owned(), "t".to_owned(), "time (ms)".to_owned());
        let lines = vec![Line { name: "CPU 0".to_owned(), bars: (0..15).map(bar).collect() }];
        let svg = Gantt { name, title, x, from: 0.0, lines }.draw().svg;
        assert!((0..15).all(|i| svg.contains(&format!(">worker/{i}</text>"))));
        let tasks: Vec<String> = (0..15).map(|i| format!("worker/{i}")).collect();
        let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
        let places = legend_places(&tasks, WIDTH);
        assert!(places.iter().all(|(x, _)| x + 37.0 + 6.5 * 9.0 <= WIDTH) && places[14].1 > 0, "{places:?}");
        let colours: std::collections::BTreeSet<String> = (0..15).map(colour).collect();
        assert_eq!(colours.len(), 15);
    }
}
