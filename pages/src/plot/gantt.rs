//! A Gantt chart: which task runs when, one line for each CPU.

use divvy_results::schedule::{Schedule, Slice};
use divvy_results::text;
use serde::Serialize;

use super::axis::{Axis, label};
use super::{Canvas, Numbers, Plot, colour, ink_on};
use crate::palette;

const LEFT: f64 = 60.0;
const RIGHT: f64 = 780.0;
const ROW: f64 = 34.0;
const TOP: f64 = 35.0;
const LEGEND_LINE: f64 = 17.0;

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
        let bottom = TOP + ROW * self.lines.len() as f64;
        let axis = self.axis();
        let bars = || self.lines.iter().flat_map(|line| &line.bars);
        let mut tasks: Vec<&str> = bars().map(|bar| bar.task.as_str()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        let is_named = bars().all(|bar| has_room(bar, axis));
        let places = if is_named { Vec::new() } else { legend_places(&tasks) };
        let legend_height = places.last().map_or(0.0, |(_, line)| LEGEND_LINE * (*line as f64 + 1.0));
        let mut canvas = Canvas::new(RIGHT + 20.0, bottom + 45.0 + legend_height, &self.title);
        for tick in axis.ticks() {
            let at = axis.place(tick);
            canvas.line((at, TOP), (at, bottom + 3.0), palette::plain("grid"));
        }
        for (i, Line { name, bars }) in self.lines.iter().enumerate() {
            let top = TOP + ROW * i as f64;
            canvas.text(LEFT - 6.0, top + ROW * 0.6, "end", name);
            for bar in bars {
                let task = tasks.iter().position(|task| *task == bar.task).unwrap_or(0);
                draw_bar(&mut canvas, bar, axis, top, task);
            }
        }
        for tick in axis.ticks() {
            canvas.text(axis.place(tick), bottom + 14.0, "middle", &label(tick));
        }
        canvas.text((LEFT + RIGHT) / 2.0, bottom + 32.0, "middle", &self.x);
        legend(&mut canvas, &tasks, &places, bottom + 52.0);
        canvas.finish(&self.name, Numbers::Gantt(self.clone()))
    }

    fn axis(&self) -> Axis {
        let bars = self.lines.iter().flat_map(|line| &line.bars);
        let end = bars.map(|bar| bar.to).fold(self.from, f64::max);
        Axis { from: self.from, to: end, start: LEFT, end: RIGHT, log: false }
    }
}

/// Whether a bar has room for its task's name.
fn has_room(bar: &Bar, axis: Axis) -> bool {
    axis.place(bar.to) - axis.place(bar.from) > 6.5 * bar.task.chars().count() as f64 + 4.0
}

/// Where the name of each task begins, and in which line.
fn legend_places(tasks: &[&str]) -> Vec<(f64, usize)> {
    let (mut x, mut line) = (LEFT, 0);
    let place = |task: &&str| {
        let width = 37.0 + 6.5 * task.chars().count() as f64;
        if x > LEFT && x + width > RIGHT + 20.0 {
            (x, line) = (LEFT, line + 1);
        }
        let begin = x;
        x += width;
        (begin, line)
    };
    tasks.iter().map(place).collect()
}

/// Shows the colour of each task that has a place.
fn legend(canvas: &mut Canvas, tasks: &[&str], places: &[(f64, usize)], y: f64) {
    for (i, (task, (x, line))) in tasks.iter().zip(places).enumerate() {
        let (x, y) = (*x, y + LEGEND_LINE * *line as f64);
        let corners = [(x, y - 9.0), (x + 14.0, y - 9.0), (x + 14.0, y), (x, y)];
        canvas.area(&corners, &colour(i), palette::plain("ground"));
        canvas.text(x + 19.0, y, "start", task);
    }
}

fn draw_bar(canvas: &mut Canvas, bar: &Bar, axis: Axis, top: f64, task: usize) {
    let (a, b) = (axis.place(bar.from), axis.place(bar.to));
    let (top, bottom) = (top + 3.0, top + ROW - 3.0);
    let fill = colour(task);
    canvas.area(&[(a, top), (b, top), (b, bottom), (a, bottom)], &fill, palette::plain("ground"));
    if has_room(bar, axis) {
        canvas.text_in(ink_on(&fill), (a + b) / 2.0, top + 18.0, "middle", &bar.task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let places = legend_places(&tasks);
        assert!(
            places.iter().all(|(x, _)| x + 37.0 + 6.5 * 9.0 <= RIGHT + 20.0) && places[14].1 > 0,
            "{places:?}"
        );
        let colours: std::collections::BTreeSet<String> = (0..15).map(colour).collect();
        assert_eq!(colours.len(), 15);
    }
}
