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
    /// Names of the lines, and the turns on each.
    pub lines: Vec<(String, Vec<Turn>)>,
}

impl Schedule {
    /// Draws it.
    #[must_use]
    pub fn draw(&self) -> Plot {
        let bottom = TOP + ROW * self.lines.len() as f64;
        let mut canvas = Canvas::new(RIGHT + 20.0, bottom + 45.0, &self.title);
        let turns = || self.lines.iter().flat_map(|(_, turns)| turns);
        let end = turns().map(|turn| turn.to).fold(0.0, f64::max);
        let axis = Axis { from: 0.0, to: end, start: LEFT, end: RIGHT, log: false };
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
        canvas.finish(&self.name)
    }
}

fn draw_turn(canvas: &mut Canvas, turn: &Turn, axis: Axis, top: f64, task: usize) {
    let (a, b) = (axis.place(turn.from), axis.place(turn.to));
    let (top, bottom) = (top + 3.0, top + ROW - 3.0);
    canvas.area(&[(a, top), (b, top), (b, bottom), (a, bottom)], colour(task), "#ffffff");
    if b - a > 5.5 * turn.task.len() as f64 {
        canvas.text((a + b) / 2.0, top + 18.0, "middle", &turn.task);
    }
}
