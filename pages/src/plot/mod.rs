//! Plots as SVG, drawn as the papers draw theirs: axes with units, nothing that moves.

mod axis;
mod chart;
mod gantt;
mod surface;

pub use chart::{Chart, Kind, Series};
pub use gantt::{Bar, Gantt};
pub use surface::Surface;

/// A finished drawing.
#[derive(Clone, Debug)]
pub struct Plot {
    /// File name without its ending.
    pub name: String,
    /// The file.
    pub svg: String,
}

/// Drawings under each other, as one.
#[must_use]
pub fn under_each_other(name: &str, plots: &[Plot]) -> Plot {
    let sizes: Vec<(f64, f64)> = plots.iter().map(|plot| size(&plot.svg).unwrap_or_default()).collect();
    let width = sizes.iter().map(|size| size.0).fold(0.0, f64::max);
    let height: f64 = sizes.iter().map(|size| size.1).sum();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let mut top = 0.0;
    for (plot, size) in plots.iter().zip(&sizes) {
        svg.push_str(&plot.svg.replacen("<svg ", &format!("<svg y=\"{top}\" "), 1));
        top += size.1;
    }
    svg.push_str("</svg>\n");
    Plot { name: name.to_owned(), svg }
}

/// Width and height of a drawing, as its own text gives them.
fn size(svg: &str) -> Option<(f64, f64)> {
    let of = |key: &str| {
        let (_, rest) = svg.split_once(&format!(" {key}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    };
    Some((of("width")?, of("height")?))
}

/// Told apart with and without colour vision (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

pub(crate) fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

/// A drawing in progress.
pub(crate) struct Canvas {
    body: String,
    width: f64,
    height: f64,
}

impl Canvas {
    pub fn new(width: f64, height: f64, title: &str) -> Canvas {
        let mut canvas = Canvas { body: String::new(), width, height };
        canvas.text(width / 2.0, 20.0, "middle", &format!("{title}|title"));
        canvas
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str) {
        let (a, b) = (point(from), point(to));
        self.add(&format!("<path d=\"M{a} L{b}\" stroke=\"{colour}\" fill=\"none\"/>"));
    }

    pub fn path(&mut self, points: &[(f64, f64)], colour: &str) {
        let points: Vec<String> = points.iter().map(|&p| point(p)).collect();
        self.add(&format!(
            "<polyline points=\"{}\" stroke=\"{colour}\" stroke-width=\"1.5\" fill=\"none\"/>",
            points.join(" ")
        ));
    }

    /// `fill` is a colour, with an opacity (`8c` is 0.55) if it has eight digits.
    pub fn area(&mut self, points: &[(f64, f64)], fill: &str, edge: &str) {
        let points: Vec<String> = points.iter().map(|&p| point(p)).collect();
        self.add(&format!(
            "<polygon points=\"{}\" fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"0.5\"/>",
            points.join(" ")
        ));
    }

    pub fn dot(&mut self, at: (f64, f64), colour: &str) {
        let (x, y) = (number(at.0), number(at.1));
        self.add(&format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"2.5\" fill=\"{colour}\"/>"));
    }

    /// `anchor` is start, middle or end. A text that ends in `|title` is set larger, one in `|up` upwards.
    pub fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let (text, style) = text.split_once('|').unwrap_or((text, ""));
        let style = match style {
            "title" => "font-size=\"14\"".to_owned(),
            "up" => format!("transform=\"rotate(-90 {} {})\"", number(x), number(y)),
            _ => String::new(),
        };
        let (x, y) = (number(x), number(y));
        self.add(&format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" {style}>{}</text>",
            escape(text)
        ));
    }

    fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    pub fn finish(self, name: &str) -> Plot {
        let (width, height) = (self.width, self.height);
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        );
        Plot { name: name.to_owned(), svg }
    }
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
        let plot = |width, height| Canvas::new(width, height, "t").finish("n");
        let all = under_each_other("all", &[plot(100.0, 50.0), plot(80.0, 70.0)]);
        assert!(all.svg.contains("viewBox=\"0 0 100 120\""), "{}", all.svg);
        assert!(all.svg.contains("<svg y=\"0\" ") && all.svg.contains("<svg y=\"50\" "), "{}", all.svg);
        assert_eq!(all.svg.matches("<svg ").count(), all.svg.matches("</svg>").count());
    }

    #[test]
    fn what_xml_means_by_itself_is_escaped() {
        let mut canvas = Canvas::new(10.0, 10.0, "a < b & c");
        canvas.text(1.0, 2.0, "start", "x > y|up");
        let svg = canvas.finish("n").svg;
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("x &gt; y</text>"));
        assert!(svg.contains("rotate(-90 1.00 2.00)"));
    }
}
