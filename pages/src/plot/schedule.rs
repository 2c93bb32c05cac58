//! Who runs when, a line a CPU.

use super::axis::{Axis, label};
use super::{Canvas, Plot, colour};

const LEFT: f64 = 60.0;
const RIGHT: f64 = 780.0;
const ROW: f64 = 34.0;
const TOP: f64 = 35.0;

/// A turn on a CPU.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Who.
    pub task: String,
    /// From, in the unit of the axis.
    pub from: f64,
    /// Until.
    pub to: f64,
}

/// A diagram of turns.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// File name without its ending.
    pub name: String,
    /// Above it.
    pub title: String,
    /// Of the axis, with its unit.
    pub x: String,
    /// Where the axis begins, in its unit.
    pub from: f64,
    /// Names of the lines, and the turns on each.
    pub lines: Vec<(String, Vec<Turn>)>,
}

impl Schedule {
    /// Draws it.
    #[must_use]
    pub fn draw(&self) -> Plot {
        let bottom = TOP + ROW * self.lines.len() as f64;
        let is_named = self.lines.iter().flat_map(|(_, turns)| turns).all(|turn| has_room(turn, self.axis()));
        let names = if is_named { 0.0 } else { 18.0 };
        let mut canvas = Canvas::new(RIGHT + 20.0, bottom + 45.0 + names, &self.title);
        let turns = || self.lines.iter().flat_map(|(_, turns)| turns);
        let axis = self.axis();
        let mut tasks: Vec<&str> = turns().map(|turn| turn.task.as_str()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        for (i, (name, turns)) in self.lines.iter().enumerate() {
            let top = TOP + ROW * i as f64;
            canvas.text(LEFT - 6.0, top + ROW * 0.6, "end", name);
            for turn in turns {
                let task = tasks.iter().position(|task| *task == turn.task).unwrap_or(0);
                draw_turn(&mut canvas, turn, axis, top, task);
            }
        }
        for tick in axis.ticks() {
            canvas.text(axis.place(tick), bottom + 14.0, "middle", &label(tick));
        }
        canvas.text((LEFT + RIGHT) / 2.0, bottom + 32.0, "middle", &self.x);
        if !is_named {
            legend(&mut canvas, &tasks, bottom + 50.0);
        }
        canvas.finish(&self.name)
    }

    fn axis(&self) -> Axis {
        let turns = self.lines.iter().flat_map(|(_, turns)| turns);
        let end = turns.map(|turn| turn.to).fold(self.from, f64::max);
        Axis { from: self.from, to: end, start: LEFT, end: RIGHT, log: false }
    }
}

/// For its task's name.
fn has_room(turn: &Turn, axis: Axis) -> bool {
    axis.place(turn.to) - axis.place(turn.from) > 6.5 * turn.task.chars().count() as f64 + 4.0
}

/// Which task has which colour.
fn legend(canvas: &mut Canvas, tasks: &[&str], y: f64) {
    let mut x = LEFT;
    for (i, task) in tasks.iter().enumerate() {
        canvas.area(&[(x, y - 9.0), (x + 14.0, y - 9.0), (x + 14.0, y), (x, y)], colour(i), "#ffffff");
        canvas.text(x + 19.0, y, "start", task);
        x += 37.0 + 6.5 * task.chars().count() as f64;
    }
}

fn draw_turn(canvas: &mut Canvas, turn: &Turn, axis: Axis, top: f64, task: usize) {
    let (a, b) = (axis.place(turn.from), axis.place(turn.to));
    let (top, bottom) = (top + 3.0, top + ROW - 3.0);
    canvas.area(&[(a, top), (b, top), (b, bottom), (a, bottom)], colour(task), "#ffffff");
    if has_room(turn, axis) {
        canvas.text((a + b) / 2.0, top + 18.0, "middle", &turn.task);
    }
}
