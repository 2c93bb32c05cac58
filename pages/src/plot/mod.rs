//! Plots as SVG, drawn as the papers draw theirs: axes with units, nothing that moves.

mod axis;
mod chart;
mod gantt;
mod hatch;
mod intervals;
mod look;
mod series;
mod surface;

use serde::Serialize;

use crate::palette;

pub use chart::{Chart, Kind};
pub use gantt::{Bar, Gantt, Line};
pub use look::{LARGEST_MM, Look, TooSmall};
pub use series::{Interval, Point, Series};
pub use surface::{Sheet, Sides, Surface};

/// A finished drawing.
#[derive(Clone, Debug)]
pub struct Plot {
    /// File name without its ending.
    pub name: String,
    /// The file.
    pub svg: String,
    /// The numbers that are drawn.
    pub numbers: Numbers,
}

/// The numbers of a drawing, with the names and units of its axes.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "figure", rename_all = "snake_case")]
pub enum Numbers {
    /// Curves or bands.
    Chart(Chart),
    /// Bars of tasks, a line a CPU.
    Gantt(Gantt),
    /// Heights over two axes.
    Surface(Surface),
}

impl Numbers {
    /// Draws them, in this room if it is given.
    fn draw(&self, look: &Look, room: Option<(f64, f64)>) -> Plot {
        match self {
            Numbers::Chart(chart) => chart.draw_in(look, room),
            Numbers::Gantt(gantt) => gantt.draw_in(look, room),
            Numbers::Surface(surface) => surface.draw_in(look, room),
        }
    }

    /// The least room that this drawing needs, if it may have this width.
    fn least_room(&self, width: f64) -> (f64, f64) {
        match self {
            Numbers::Chart(chart) => chart.least_room(width),
            Numbers::Gantt(gantt) => gantt.least_room(width),
            Numbers::Surface(surface) => surface.least_room(),
        }
    }
}

/// Drawings under each other, as one SVG; with a size on paper, if it is given.
fn join(plots: &[Plot], size_mm: Option<(f64, f64)>) -> String {
    let sizes: Vec<(f64, f64)> = plots.iter().map(|plot| size(&plot.svg).unwrap_or_default()).collect();
    let width = sizes.iter().map(|size| size.0).fold(0.0, f64::max);
    let height: f64 = sizes.iter().map(|size| size.1).sum();
    let (shown_width, shown_height) = size_mm
        .map_or((width.to_string(), height.to_string()), |(width, height)| {
            (format!("{width}mm"), format!("{height}mm"))
        });
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{shown_width}\" height=\"{shown_height}\" \
         viewBox=\"0 0 {width} {height}\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"{ground}\"/>\n",
        ground = palette::plain("ground")
    );
    let body: String = plots.iter().map(|plot| plot.svg.as_str()).collect();
    svg.push_str(&hatch::definitions(&body));
    let mut top = 0.0;
    for (plot, size) in plots.iter().zip(&sizes) {
        svg.push_str(&plot.svg.replacen("<svg ", &format!("<svg y=\"{top}\" "), 1));
        top += size.1;
    }
    svg.push_str("</svg>\n");
    svg
}

/// Width and height of a drawing, as its own text gives them.
fn size(svg: &str) -> Option<(f64, f64)> {
    let of = |key: &str| {
        let (_, rest) = svg.split_once(&format!(" {key}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    };
    Some((of("width")?, of("height")?))
}

/// The colour of the i-th of several things: eight hues, then the same lighter, twice.
pub(crate) fn colour(i: usize) -> String {
    let hue = palette::LIGHT[i % palette::LIGHT.len()];
    match i / palette::LIGHT.len() % 3 {
        0 => hue.to_owned(),
        lighter => mixed(hue, [0.0, 0.45, 0.7][lighter]),
    }
}

/// Towards white.
fn mixed(colour: &str, part: f64) -> String {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap_or(0));
        (value + (255.0 - value) * part).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(1), channel(3), channel(5))
}

/// The colour of text on this one.
pub(crate) fn ink_on(colour: &str) -> &'static str {
    let channel = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap_or(0));
    let light = 0.299 * channel(1) + 0.587 * channel(3) + 0.114 * channel(5);
    if light > 140.0 { "#000000" } else { "#fefefe" }
}

/// A drawing in progress.
pub(crate) struct Canvas {
    body: String,
    width: f64,
    height: f64,
    look: Look,
}

impl Canvas {
    pub fn new(look: &Look, width: f64, height: f64, title: &str) -> Canvas {
        let mut canvas = Canvas { body: String::new(), width, height, look: look.clone() };
        canvas.text(width / 2.0, 20.0, "middle", &format!("{title}|title"));
        canvas
    }

    /// Whether texts are made to fit: they have less room than on a page.
    pub fn is_sized(&self) -> bool {
        self.look.size_mm.is_some()
    }

    pub fn is_black_and_white(&self) -> bool {
        self.look.is_black_and_white
    }

    /// The colour of the i-th line and its mark.
    pub fn colour(&self, i: usize) -> String {
        if self.is_black_and_white() { palette::plain("ink").to_owned() } else { colour(i) }
    }

    /// The fill of the i-th area.
    pub fn fill(&self, i: usize) -> String {
        if self.is_black_and_white() { hatch::fill(i) } else { colour(i) }
    }

    /// The edge of areas: the ground between colours, ink around hatches.
    pub fn edge(&self) -> &'static str {
        palette::plain(if self.is_black_and_white() { "ink" } else { "ground" })
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str) {
        let (a, b) = (point(from), point(to));
        self.add(&format!("<path d=\"M{a} L{b}\" stroke=\"{colour}\" fill=\"none\"/>"));
    }

    /// The i-th of several lines, in its colour and dashes.
    pub fn path(&mut self, points: &[(f64, f64)], i: usize) {
        let points: Vec<String> = points.iter().map(|&p| point(p)).collect();
        let (colour, dashes) = (self.colour(i), palette::dashes(i));
        let dashes = if dashes == "none" { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
        self.add(&format!(
            "<polyline points=\"{}\" stroke=\"{colour}\" stroke-width=\"1.6\"{dashes} fill=\"none\"/>",
            points.join(" ")
        ));
    }

    pub fn area(&mut self, points: &[(f64, f64)], fill: &str, edge: &str) {
        let points: Vec<String> = points.iter().map(|&p| point(p)).collect();
        self.add(&format!(
            "<polygon points=\"{}\" fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"0.5\"/>",
            points.join(" ")
        ));
    }

    /// An area that lets through what is behind it; `opacity` is from 0 to 1. The colour stays one of the palette's, so that a
    /// page can give it its theme's.
    pub fn veil(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64, edge: &str) {
        let points: Vec<String> = points.iter().map(|&p| point(p)).collect();
        self.add(&format!(
            "<polygon points=\"{}\" fill=\"{fill}\" fill-opacity=\"{opacity}\" stroke=\"{edge}\" stroke-width=\"0.5\"/>",
            points.join(" ")
        ));
    }

    pub fn dot(&mut self, at: (f64, f64), colour: &str) {
        let (x, y) = (number(at.0), number(at.1));
        self.add(&format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"2.5\" fill=\"{colour}\"/>"));
    }

    /// The mark of the i-th of several series: eight shapes.
    pub fn mark(&mut self, (x, y): (f64, f64), i: usize) {
        const SHAPES: [&str; 7] = [
            "M-2.5,-2.5h5v5h-5z",
            "M0,-3.4L3.2,2.4H-3.2z",
            "M0,-3.6L3.6,0L0,3.6L-3.6,0z",
            "M0,3.4L3.2,-2.4H-3.2z",
            "M-1,-3h2v2h2v2h-2v2h-2v-2h-2v-2h2z",
            "M-3.4,-1.2h6.8v2.4h-6.8z",
            "M-1.2,-3.4h2.4v6.8h-2.4z",
        ];
        let colour = self.colour(i);
        match i % 8 {
            0 => self.dot((x, y), &colour),
            shape => self.add(&format!(
                "<path d=\"{}\" transform=\"translate({} {})\" fill=\"{colour}\"/>",
                SHAPES[shape - 1],
                number(x),
                number(y)
            )),
        }
    }

    /// The label of a tick at this place below an axis. In a figure with a size it is left out where it would touch the one before it,
    /// which ends at `labelled`.
    pub fn tick_label(&mut self, (x, y): (f64, f64), tick: f64, labelled: &mut f64) {
        let text = axis::label(tick);
        let half = text_width(&text, LETTERS) / 2.0;
        if !self.is_sized() || x - half > *labelled {
            self.text(x, y, "middle", &text);
            *labelled = x + half + 3.0;
        }
    }

    /// In the ink of the drawing; see [`Canvas::text_in`].
    pub fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        self.text_in(palette::plain("ink"), x, y, anchor, text);
    }

    /// A faint remark that ends at x.
    pub fn note(&mut self, text: &str, x: f64, y: f64) {
        self.text_in(palette::plain("faint"), x, y, "end", text);
    }

    /// `anchor` is start, middle or end. A text that ends in `|title` is set larger, one in `|up` upwards.
    pub fn text_in(&mut self, colour: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let (text, style) = text.split_once('|').unwrap_or((text, ""));
        let letters = if style == "title" { TITLE_LETTERS } else { LETTERS };
        let (fitted, letters) = match self.is_sized() {
            true => fitted(text, letters, self.room(x, y, anchor, style == "up")),
            false => (text.to_owned(), letters),
        };
        let mut style = match style {
            "title" => format!("font-size=\"{}\"", short(letters)),
            "up" => format!("transform=\"rotate(-90 {} {})\"", number(x), number(y)),
            _ => String::new(),
        };
        if !style.starts_with("font") && letters < LETTERS {
            style = format!("font-size=\"{}\" {style}", short(letters)).trim_end().to_owned();
        }
        let (x, y) = (number(x), number(y));
        self.add(&format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{colour}\" {style}>{}</text>",
            escape(&fitted)
        ));
    }

    /// The room for a text at this place, within the drawing.
    fn room(&self, x: f64, y: f64, anchor: &str, is_upwards: bool) -> f64 {
        let (at, length) = if is_upwards { (y, self.height) } else { (x, self.width) };
        match anchor {
            "middle" => 2.0 * at.min(length - at),
            "end" => at,
            _ => length - at,
        }
    }

    fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    pub fn finish(self, name: &str, numbers: Numbers) -> Plot {
        let (width, height) = (self.width, self.height);
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{family}\" font-size=\"11\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{}</svg>\n",
            palette::plain("ground"),
            self.body,
            family = escape(&self.look.font)
        );
        Plot { name: name.to_owned(), svg, numbers }
    }
}

/// Letters of drawings without a look, in the unit of a drawing. All distances of a drawing suit letters of this size.
const LETTERS: f64 = 11.0;
/// Letters of a title.
const TITLE_LETTERS: f64 = 14.0;
/// Letters are not made smaller than this part of theirs.
const LEAST_LETTERS: f64 = 0.7;

/// The width of a text, in a family of wide letters.
pub(crate) fn text_width(text: &str, letters: f64) -> f64 {
    0.6 * letters * divvy_results::text::width(text) as f64
}

/// The text in smaller letters, and if need be cut, so that it fits.
fn fitted(text: &str, letters: f64, room: f64) -> (String, f64) {
    let width = text_width(text, letters);
    if width <= room {
        return (text.to_owned(), letters);
    }
    let letters = letters * (room / width).max(LEAST_LETTERS);
    let columns = (room / text_width("0", letters) + 1e-9).floor() as usize;
    (divvy_results::text::fit(text, columns), letters)
}

/// One decimal, if it says something.
fn short(letters: f64) -> String {
    // Down, so that it fits.
    format!("{}", (letters * 10.0).floor() / 10.0)
}

fn point((x, y): (f64, f64)) -> String {
    format!("{},{}", number(x), number(y))
}

/// Two decimals are finer than any screen, and the same on every machine.
fn number(x: f64) -> String {
    format!("{x:.2}")
}

/// A text as XML and HTML have it, between elements or as an attribute.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_are_under_each_other() {
        let numbers = || Numbers::Chart(Chart::lines("n", "t", "x", "y"));
        let plot = |width, height| Canvas::new(&Look::default(), width, height, "t").finish("n", numbers());
        let all = join(&[plot(100.0, 50.0), plot(80.0, 70.0)], None);
        assert!(all.contains("viewBox=\"0 0 100 120\""), "{all}");
        assert!(all.contains("<svg y=\"0\" ") && all.contains("<svg y=\"50\" "), "{all}");
        assert_eq!(all.matches("<svg ").count(), all.matches("</svg>").count());
    }

    #[test]
    fn what_xml_means_by_itself_is_escaped() {
        let mut canvas = Canvas::new(&Look::default(), 10.0, 10.0, "a < b & c");
        canvas.text(1.0, 2.0, "start", "x > y|up");
        let svg = canvas.finish("n", Numbers::Chart(Chart::lines("n", "t", "x", "y"))).svg;
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("x &gt; y</text>"));
        assert!(svg.contains("rotate(-90 1.00 2.00)"));
    }
}
