//! Surfaces over two axes, seen from a corner: as the GR3 paper draws the range of service errors.

use super::axis::{Axis, label};
use serde::Serialize;

use super::look::Look;
use super::{Canvas, Numbers, Plot};
use crate::palette;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 460.0;
/// With less its letters are not read.
const LEAST_PART: f64 = 0.4;

/// Heights over a grid.
#[derive(Clone, Debug, Serialize)]
pub struct Surface {
    /// File name without its ending.
    pub name: String,
    /// Above it.
    pub title: String,
    /// The axis to the right.
    pub x: Sides,
    /// The axis to the back.
    pub y: Sides,
    /// Name of the heights, with their unit.
    pub z: String,
    /// The surfaces, each through the others.
    pub sheets: Vec<Sheet>,
}

/// An axis of a surface.
#[derive(Clone, Debug, Serialize)]
pub struct Sides {
    /// With its unit.
    pub name: String,
    /// The values that were measured, in the axis' unit. They are drawn at equal distances.
    pub values: Vec<f64>,
}

/// One of the surfaces.
#[derive(Clone, Debug, Serialize)]
pub struct Sheet {
    /// For the legend.
    pub name: String,
    /// In the unit of z: for each value of y a row, in it a height for each value of x.
    pub heights: Vec<Vec<f64>>,
}

/// From places in a cube of side 1 to the canvas: x to the right, y to the back and right, z up.
fn project(x: f64, y: f64, z: f64) -> (f64, f64) {
    (90.0 + 330.0 * x + 170.0 * y, HEIGHT - 70.0 - 110.0 * y - 240.0 * z)
}

impl Surface {
    /// Draws it from the back to the front.
    #[must_use]
    pub fn draw(&self) -> Plot {
        self.draw_in(&Look::default(), None)
    }

    /// In a room it is scaled as a whole.
    pub(super) fn draw_in(&self, look: &Look, room: Option<(f64, f64)>) -> Plot {
        let mut canvas = Canvas::new(look, WIDTH, HEIGHT, &self.title);
        let z = self.z_axis();
        self.frame(&mut canvas, z);
        let (nx, ny) = (self.x.values.len(), self.y.values.len());
        for (i, Sheet { name, heights }) in self.sheets.iter().enumerate() {
            let fill = canvas.fill(i);
            for row in (0..ny.saturating_sub(1)).rev() {
                for col in 0..nx.saturating_sub(1) {
                    let corner =
                        |c: usize, r: usize| project(part(c, nx), part(r, ny), z.place(heights[r][c]));
                    let cell = [
                        corner(col, row),
                        corner(col + 1, row),
                        corner(col + 1, row + 1),
                        corner(col, row + 1),
                    ];
                    canvas.veil(&cell, &fill, 0.55, palette::plain("ink"));
                }
            }
            let (x, y) = (40.0 + 120.0 * i as f64, HEIGHT - 12.0);
            if canvas.is_black_and_white() {
                let (left, top, bottom) = (x - 18.0, y - 5.0, y + 5.0);
                canvas.area(
                    &[(left, top), (x, top), (x, bottom), (left, bottom)],
                    &fill,
                    palette::plain("ink"),
                );
            } else {
                canvas.dot((x, y), &fill);
            }
            canvas.text(48.0 + 120.0 * i as f64, HEIGHT - 8.0, "start", name);
        }
        let mut plot = canvas.finish(&self.name, Numbers::Surface(self.clone()));
        if let Some((width, height)) = room {
            let size = format!("width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox");
            plot.svg = plot.svg.replacen(&size, &format!("width=\"{width}\" height=\"{height}\" viewBox"), 1);
        }
        plot
    }

    pub(super) fn least_room(&self) -> (f64, f64) {
        (LEAST_PART * WIDTH, LEAST_PART * HEIGHT)
    }

    fn z_axis(&self) -> Axis {
        let all = || self.sheets.iter().flat_map(|sheet| sheet.heights.iter().flatten());
        let (from, to) = (all().copied().fold(0.0, f64::min), all().copied().fold(0.0, f64::max));
        Axis { from, to, start: 0.0, end: 1.0, log: false }
    }

    fn frame(&self, canvas: &mut Canvas, z: Axis) {
        for tick in z.ticks() {
            let at = z.place(tick);
            canvas.line(project(0.0, 1.0, at), project(1.0, 1.0, at), palette::plain("grid"));
            canvas.line(project(0.0, 0.0, at), project(0.0, 1.0, at), palette::plain("grid"));
            let (x, y) = project(0.0, 0.0, at);
            canvas.text(x - 5.0, y + 4.0, "end", &label(tick));
        }
        for (i, value) in self.x.values.iter().enumerate() {
            let (x, y) = project(part(i, self.x.values.len()), 0.0, 0.0);
            canvas.text(x, y + 14.0, "middle", &label(*value));
        }
        for (i, value) in self.y.values.iter().enumerate() {
            let (x, y) = project(1.0, part(i, self.y.values.len()), 0.0);
            canvas.text(x + 8.0, y + 4.0, "start", &label(*value));
        }
        let (x, y) = project(0.5, 0.0, 0.0);
        canvas.text(x, y + 30.0, "middle", &self.x.name);
        let (x, y) = project(1.0, 0.5, 0.0);
        canvas.text(x + 45.0, y + 24.0, "start", &self.y.name);
        canvas.text(16.0, HEIGHT * 0.55, "middle", &format!("{}|up", self.z));
    }
}

fn part(i: usize, n: usize) -> f64 {
    if n < 2 { 0.0 } else { i as f64 / (n - 1) as f64 }
}
