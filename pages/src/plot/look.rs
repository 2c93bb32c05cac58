//! How a figure looks where a paper has rules for it: its size, its letters, and whether it has colours.

use divvy_policy::{Failure, FailureKind};

use super::{LETTERS, Plot, join};

/// A point, the unit of letters, in mm.
const PT_MM: f64 = 25.4 / 72.0;

/// How a figure looks. The default is that of pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Width and height of the whole figure.
    pub size_mm: Option<(f64, f64)>,
    /// The family of its letters.
    pub font: String,
    /// Size of its letters; that of the title is a quarter more.
    pub font_pt: f64,
    /// Black lines with dashes and marks, and hatches instead of colours.
    pub is_black_and_white: bool,
}

impl Default for Look {
    fn default() -> Self {
        Look { size_mm: None, font: "sans-serif".to_owned(), font_pt: 8.0, is_black_and_white: false }
    }
}

/// A figure does not fit its size.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "the figure {name} does not fit {}x{}mm with letters of {font_pt} pt: it needs {}x{}mm; {}",
    mm(size_mm.0), mm(size_mm.1), needed_mm.0, needed_mm.1, advice(*needed_mm)
)]
pub struct TooSmall {
    name: String,
    size_mm: (f64, f64),
    font_pt: f64,
    needed_mm: (f64, f64),
}

/// No figure is wider or higher, in mm.
pub const LARGEST_MM: f64 = 2000.0;

/// To a tenth: an inch is 25.4 mm, which leaves many digits of some sizes.
fn mm(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}

fn advice((width, height): (f64, f64)) -> &'static str {
    match width.max(height) <= LARGEST_MM {
        true => "give a larger --size or a smaller --font-size",
        false => "no figure is larger than 2 m: show less, or give a smaller --font-size",
    }
}

impl Failure for TooSmall {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

impl Look {
    /// Drawings under each other as one SVG, of this size in all.
    ///
    /// # Errors
    /// If they do not fit.
    pub fn figure(&self, plots: &[Plot]) -> Result<String, TooSmall> {
        let unit_mm = self.font_pt * PT_MM / LETTERS;
        let room =
            self.size_mm.map(|(width, height)| (width / unit_mm, height / unit_mm / plots.len() as f64));
        if let (Some(size_mm), Some(room)) = (self.size_mm, room) {
            let needs: Vec<_> = plots.iter().map(|plot| plot.numbers.least_room(room.0)).collect();
            let too_large = needs.iter().position(|needed| room.0 < needed.0 || room.1 < needed.1);
            if let Some(first) = too_large {
                // All have the same room.
                let most = needs
                    .iter()
                    .fold((0.0_f64, 0.0_f64), |most, need| (most.0.max(need.0), most.1.max(need.1)));
                return Err(TooSmall {
                    name: plots[first].name.clone(),
                    size_mm,
                    font_pt: self.font_pt,
                    needed_mm: (
                        (most.0 * unit_mm).max(size_mm.0).ceil(),
                        (most.1 * unit_mm * plots.len() as f64).max(size_mm.1).ceil(),
                    ),
                });
            }
        }
        let drawn: Vec<Plot> = plots.iter().map(|plot| plot.numbers.draw(self, room)).collect();
        Ok(join(&drawn, self.size_mm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette;
    use crate::plot::{Bar, Chart, Gantt, Kind, Line, Point, text_width};

    fn sized(width: f64, height: f64) -> Look {
        Look { size_mm: Some((width, height)), ..Look::default() }
    }

    fn chart(kind: Kind, series: usize, points: usize) -> Chart {
        let mut chart =
            Chart::lines("c", "a title that is longer than a narrow figure is wide", "time (s)", "");
        chart.y = "jobs that took at least so long (%), of all jobs".to_owned();
        chart.kind = kind;
        for i in 0..series {
            let y = |x: usize| (x as f64 * 1e4, (i + x % 3 + 1) as f64 * 1e5);
            let points: Vec<(f64, f64)> = (0..points).map(y).collect();
            let name = format!("policy-{i}+with+modifiers:and=parameters:that=are:not=short");
            match kind {
                Kind::Lines => {
                    let measured =
                        points.iter().map(|&(x, y)| Point { x, y, interval: Some((y / 2.0, y * 2.0)) });
                    chart.add_measured(name, &measured.collect::<Vec<_>>());
                }
                _ => chart.add(name, points),
            }
        }
        chart
    }

    fn gantt() -> Gantt {
        let bar = |i: u32| Bar {
            task: format!("worker/{i}"),
            from: f64::from(i) * 1e5,
            to: f64::from(i) * 1e5 + 9e4,
        };
        let line = |cpu: u32| Line { name: format!("processor {cpu}"), bars: (0..9).map(bar).collect() };
        let (name, title, x) = ("g".to_owned(), "sfq".to_owned(), "time (ms)".to_owned());
        Gantt { name, title, x, from: 0.0, lines: (0..3).map(line).collect() }
    }

    fn attribute<'a>(element: &'a str, key: &str) -> Option<&'a str> {
        element.split_once(&format!(" {key}=\""))?.1.split_once('"').map(|found| found.0)
    }

    /// For each series, the dashes and the mark of its key in the legend.
    fn keys(svg: &str) -> Vec<(String, String)> {
        let (mut dashes, mut mark, mut found) = (String::new(), String::new(), Vec::new());
        for element in svg.lines() {
            if element.starts_with("<polyline") {
                dashes = attribute(element, "stroke-dasharray").unwrap_or("none").to_owned();
            } else if element.starts_with("<circle") || element.contains(" transform=\"translate") {
                mark = attribute(element, "d").unwrap_or("circle").to_owned();
            } else if element.starts_with("<text") && element.contains(">policy-") {
                found.push((std::mem::take(&mut dashes), std::mem::take(&mut mark)));
            }
        }
        found
    }

    #[test]
    fn no_two_lines_have_the_same_dashes_and_marks_in_black_and_white() {
        for (kind, points) in [(Kind::Lines, 5), (Kind::Lines, 100), (Kind::Steps, 100)] {
            let look = Look { is_black_and_white: true, ..Look::default() };
            let svg = look.figure(&[chart(kind, 64, points).draw()]).expect("it has room");
            let keys = keys(&svg);
            assert!(
                keys.len() == 64 && keys.iter().all(|(dashes, mark)| !dashes.is_empty() && !mark.is_empty())
            );
            assert_eq!(keys.iter().collect::<std::collections::BTreeSet<_>>().len(), 64, "{keys:?}");
            assert!(palette::LIGHT.iter().all(|hue| !svg.contains(hue)), "a colour");
            // Each line has a mark beside the one of its key.
            assert!(svg.matches("transform=\"translate").count() >= 2 * 56, "{kind:?}");
        }
    }

    #[test]
    fn no_two_areas_have_the_same_hatch() {
        let look = Look { is_black_and_white: true, ..Look::default() };
        let svg = look.figure(&[chart(Kind::Stacked, 32, 3).draw(), gantt().draw()]).expect("it has room");
        let patterns: Vec<&str> = svg.lines().filter(|line| line.contains("<pattern id=")).collect();
        let bodies = patterns.iter().map(|pattern| pattern.split_once('>').expect("an element").1);
        assert_eq!((patterns.len(), bodies.collect::<std::collections::BTreeSet<_>>().len()), (32, 32));
        assert!((0..32).all(|i| svg.contains(&format!("fill=\"url(#hatch{i})\""))));
        assert!(palette::LIGHT.iter().all(|hue| !svg.contains(hue)), "a colour");
    }

    /// Ends of a text along its direction, and across it, with the length of the figure in both.
    fn extents(element: &str, (width, height): (f64, f64)) -> [(f64, f64, f64); 2] {
        let number = |key: &str| attribute(element, key).and_then(|text| text.parse::<f64>().ok());
        let (x, y) = (number("x").expect("x"), number("y").expect("y"));
        let letters = number("font-size").unwrap_or(LETTERS);
        let text = element.split_once('>').expect("a text").1.trim_end_matches("</text>");
        let length = text_width(text, letters);
        let is_up = element.contains("rotate(-90");
        let (along, across) = if is_up { (y, x) } else { (x, y) };
        let (long, thick) = if is_up { (height, width) } else { (width, height) };
        let begin = match attribute(element, "text-anchor") {
            Some("middle") => along - length / 2.0,
            Some("end") => along - length,
            _ => along,
        };
        [(begin, begin + length, long), (across - 0.75 * letters, across + 0.25 * letters, thick)]
    }

    #[test]
    fn no_text_leaves_a_figure_of_the_least_size() {
        let plots = [
            chart(Kind::Lines, 3, 5).draw(),
            chart(Kind::Steps, 9, 90).draw(),
            chart(Kind::Stacked, 2, 9).draw(),
            gantt().draw(),
        ];
        for plot in plots {
            let TooSmall { needed_mm, .. } =
                sized(1.0, 1.0).figure(std::slice::from_ref(&plot)).expect_err("1 mm");
            let svg = sized(needed_mm.0, needed_mm.1)
                .figure(std::slice::from_ref(&plot))
                .expect("the size that was said");
            let size = format!("width=\"{}mm\" height=\"{}mm\"", needed_mm.0, needed_mm.1);
            assert!(svg.starts_with("<svg ") && svg.contains(&size), "{}", &svg[..200]);
            let texts: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text")).collect();
            assert!(texts.len() > 8, "{}", texts.len());
            let panel = svg.lines().find(|line| line.starts_with("<svg y=")).expect("a panel");
            let number = |key| attribute(panel, key).expect("a size").parse::<f64>().expect("a number");
            for text in texts {
                for (from, to, length) in extents(text, (number("width"), number("height"))) {
                    assert!(from >= -0.1 && to <= length + 0.1, "{from} to {to} of {length}: {text}");
                }
            }
        }
    }

    #[test]
    fn several_drawings_share_the_size() {
        let plots = [chart(Kind::Lines, 1, 5).draw(), gantt().draw()];
        let svg = sized(170.0, 120.0).figure(&plots).expect("it has room");
        let heights = svg.lines().filter(|line| line.starts_with("<svg y="));
        let heights: Vec<f64> =
            heights.map(|line| attribute(line, "height").expect("one").parse().expect("a number")).collect();
        assert!(heights.len() == 2 && (heights[0] - heights[1]).abs() < 1e-6, "{heights:?}");
        let error = sized(170.0, 40.0).figure(&plots).expect_err("too low").to_string();
        assert!(
            error.starts_with("the figure c does not fit 170x40mm with letters of 8 pt: it needs 170x"),
            "{error}"
        );
    }

    /// Several drawings share a size, so it must be enough for the largest.
    #[test]
    fn the_size_that_is_said_is_enough_for_all() {
        let plots = [gantt().draw(), chart(Kind::Lines, 9, 5).draw()];
        for (width, height) in [(3.5 * 25.4, 1.0 * 25.4), (25.4, 300.0), (1.0 / 3.0, 1.0)] {
            let error = sized(width, height).figure(&plots).expect_err("too small");
            sized(error.needed_mm.0, error.needed_mm.1).figure(&plots).expect("the size that was said");
            let said = error.to_string();
            assert!(said.ends_with("; give a larger --size or a smaller --font-size"), "{said}");
            assert!(!said.contains("999") && !said.contains("333"), "{said}");
        }
        let many = vec![gantt().draw(); 200];
        let said = sized(100.0, 100.0).figure(&many).expect_err("too small").to_string();
        assert!(
            said.ends_with("; no figure is larger than 2 m: show less, or give a smaller --font-size"),
            "{said}"
        );
    }

    #[test]
    fn without_a_look_nothing_changes() {
        let plot = chart(Kind::Lines, 3, 5).draw();
        assert!(
            Look::default().figure(std::slice::from_ref(&plot)).expect("any size").contains(&plot.svg[5..])
        );
        let look = Look { font: "Times \"New\" & <old>".to_owned(), ..Look::default() };
        let svg = look.figure(&[plot]).expect("any size");
        assert!(svg.contains("font-family=\"Times &quot;New&quot; &amp; &lt;old&gt;\""));
    }
}
