//! The pictures of the examples are what the commands beside them draw. `DIVVY_DRAW=1` draws them anew.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A picture that is larger is no drawing for a page of text.
const MOST_BYTES: usize = 40_000;

fn examples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples"))
}

/// The commands of the page that draw, as words.
fn commands(page: &str) -> Vec<Vec<&str>> {
    let commands = page.lines().filter_map(|line| line.strip_prefix("divvy "));
    commands.map(|line| line.split(' ').collect()).filter(|words: &Vec<&str>| words.contains(&"-o")).collect()
}

#[test]
fn pictures_are_what_their_commands_draw() {
    let page = fs::read_to_string(examples().join("README.md")).expect("a page");
    let commands = commands(&page);
    assert!(commands.len() >= 8, "{} commands", commands.len());
    for words in commands {
        let (name, arguments) = words.split_last().expect("words");
        assert!(page.contains(&format!("]({name})")), "{name} is drawn and not shown");
        let drawn = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
        let output = command.args(arguments).arg(&drawn).current_dir(examples()).output().expect("it runs");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let (picture, kept) = (fs::read_to_string(&drawn).expect("a picture"), examples().join(name));
        if std::env::var_os("DIVVY_DRAW").is_some() {
            fs::write(&kept, &picture).expect("written");
        }
        assert!(picture.len() < MOST_BYTES, "{name}: {} bytes", picture.len());
        let kept = fs::read_to_string(&kept).unwrap_or_default();
        assert!(
            kept == picture,
            "{name} is not what `divvy {}` draws; DIVVY_DRAW=1 draws it",
            words.join(" ")
        );
    }
}

/// Pictures say themselves what they are on: a dark page shows through nothing.
#[test]
fn pictures_have_a_ground_of_their_own() {
    for entry in fs::read_dir(examples()).expect("examples") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|ending| ending == "svg") {
            let svg = fs::read_to_string(&path).expect("a picture");
            let (_, after) = svg.split_once('\n').expect("lines");
            assert!(after.starts_with("<rect ") && !svg.contains("<script"), "{}", path.display());
        }
    }
}

// ---- Figures of the papers

/// The value of an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

/// From pixels back to values, by the labels of an axis: of its first and its last tick.
struct Scale {
    from: (f64, f64),
    to: (f64, f64),
    is_log: bool,
}

impl Scale {
    /// `place` gives the pixel of a label, if it is one of this axis.
    fn of(svg: &str, is_log: bool, place: impl Fn(&str) -> Option<f64>) -> Scale {
        let labels = svg.lines().filter(|line| line.starts_with("<text")).filter_map(|line| {
            let text = line.split_once('>')?.1.split_once('<')?.0;
            Some((place(line)?, text.parse::<f64>().ok()?))
        });
        let labels: Vec<(f64, f64)> = labels.collect();
        let (from, to) = (labels[0], labels[labels.len() - 1]);
        assert!(labels.len() > 1 && from.0 != to.0, "{labels:?}");
        let scaled = |(pixel, value): (f64, f64)| (pixel, if is_log { value.ln() } else { value });
        Scale { from: scaled(from), to: scaled(to), is_log }
    }

    fn value(&self, pixel: f64) -> f64 {
        let part = (pixel - self.from.0) / (self.to.0 - self.from.0);
        let value = self.from.1 + part * (self.to.1 - self.from.1);
        if self.is_log { value.exp() } else { value }
    }

    /// Whether a pixel shows this value, which may be a hundredth of a pixel away.
    fn shows(&self, pixel: f64, value: f64) -> bool {
        let [low, high] = [-0.02, 0.02].map(|by| self.value(pixel + by));
        (low.min(high)..=low.max(high)).contains(&value)
    }
}

fn pairs(points: &str) -> Vec<(f64, f64)> {
    let pair = |text: &str| {
        let (x, y) = text.split_once(',').expect("x,y");
        (number(x), number(y))
    };
    points.split(' ').map(pair).collect()
}

/// Every point of a curve and every end of a bar in the SVG is a number of the JSON. The axes are read by their labels, so this
/// shares nothing with what draws.
#[test]
fn every_number_of_a_papers_figure_is_in_its_json() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plots");
    for id in ["sfs-6a", "sfs-6b", "sfs-5", "flow-6"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
        let output = command
            .args(["paper", id, "--small", "--format", "json", "-o"])
            .arg(&dir)
            .output()
            .expect("it runs");
        let figure: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let drawings = figure["drawings"].as_array().expect("drawings");
        assert!(!drawings.is_empty(), "{id}");
        for drawing in drawings {
            let name = drawing["name"].as_str().expect("a name");
            let svg = fs::read_to_string(dir.join(format!("{name}.svg"))).expect("a picture");
            is_drawn(drawing, &svg);
        }
        let has_intervals = svg_has_intervals(drawings);
        assert_eq!(has_intervals, id.starts_with("sfs-6"), "{id}: intervals where there are repetitions");
    }
}

fn svg_has_intervals(drawings: &[serde_json::Value]) -> bool {
    let series = drawings.iter().flat_map(|drawing| drawing["series"].as_array().expect("series"));
    series.into_iter().any(|series| series["intervals"].is_array())
}

fn is_drawn(drawing: &serde_json::Value, svg: &str) {
    let name = &drawing["name"];
    let x = Scale::of(svg, drawing["log_x"] == true, |label| {
        let is_tick =
            attribute(label, "text-anchor") == Some("middle") && attribute(label, "y") == Some("360.00");
        is_tick.then(|| number(attribute(label, "x").expect("x")))
    });
    let y = Scale::of(svg, drawing["log_y"] == true, |label| {
        let is_tick =
            attribute(label, "text-anchor") == Some("end") && attribute(label, "x") == Some("65.00");
        is_tick.then(|| number(attribute(label, "y").expect("y")) - 4.0)
    });
    let curves: Vec<&str> = svg.lines().filter(|line| line.starts_with("<polyline")).collect();
    for (series, curve) in drawing["series"].as_array().expect("series").iter().zip(curves) {
        let drawn = pairs(attribute(curve, "points").expect("points"));
        let points = series["points"].as_array().expect("points");
        assert_eq!(drawn.len(), points.len(), "{name}");
        for ((px, py), point) in drawn.iter().zip(points) {
            let (at, value) = (point[0].as_f64().expect("x"), point[1].as_f64().expect("y"));
            assert!(
                x.shows(*px, at) && y.shows(*py, value),
                "{name}: {point} is drawn at {} {}",
                x.value(*px),
                y.value(*py)
            );
        }
        let stroke = attribute(curve, "stroke");
        let lines =
            svg.lines().filter(|line| line.starts_with("<path d=\"M") && attribute(line, "stroke") == stroke);
        let ends = lines.map(|line| pairs(&attribute(line, "d").expect("d")[1..].replace(" L", " ")));
        let bars: Vec<_> = ends.filter(|ends| ends[0].0 == ends[1].0).collect();
        let intervals = series["intervals"].as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(bars.len(), intervals.len(), "{name}: {}", series["name"]);
        // A bar that goes on beyond the axis ends there: from 35 to 345 pixels.
        let shows = |pixel: f64, value: f64| y.shows(pixel, value) || [35.0, 345.0].contains(&pixel);
        for (bar, interval) in bars.iter().zip(intervals) {
            let of = |key: &str| interval[key].as_f64().expect("a number");
            assert!(
                x.shows(bar[0].0, of("x")) && shows(bar[0].1, of("low")) && shows(bar[1].1, of("high")),
                "{name}: {interval} is drawn as {bar:?}"
            );
        }
    }
}

fn divvy(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_divvy")).args(arguments).output().expect("it runs")
}

/// Whatever names are, a parser of XML that is not ours reads the figure, and it has the size that was asked for.
#[test]
fn figures_for_papers_are_xml_of_their_size() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (workload, figure) = (scratch.join("names.toml"), scratch.join("names.svg"));
    let task = |name: &str| {
        format!(
            "[[task]]\nname = '{name}'\narrivals = {{ closed = \"5ms\" }}\nprogram = [ {{ run = \"3ms\" }} ]\n"
        )
    };
    let names = [
        "a<b>&c",
        "]]>\u{fffd}\"",
        "a very long name of a task that no narrow figure has room for \u{7d04}\u{675f}",
    ];
    let text: String = names.iter().map(|name| task(name)).collect();
    fs::write(&workload, format!("duration = \"1s\"\n{text}")).expect("writable");
    let [workload, figure] = [&workload, &figure].map(|path| path.to_str().expect("UTF-8"));
    for kind in ["share", "error", "response", "wait", "timeline"] {
        let look = ["--size", "170x240mm", "--bw", "--font", "\"Times\" & <New>", "--font-size", "7"];
        let output =
            divvy(&[&["sim", workload, "-p", "rr,sfq", "--figure", kind, "-o", figure], &look[..]].concat());
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stderr));
        let script = "import sys, xml.etree.ElementTree as e; r = e.parse(sys.argv[1]).getroot(); print(r.get('width'), r.get('height'), len(list(r.iter())))";
        let parsed = Command::new("python3").args(["-c", script, figure]).output().expect("python3");
        let said = String::from_utf8_lossy(&parsed.stdout).into_owned();
        assert!(
            said.starts_with("170mm 240mm ") && said.trim().ends_with(char::is_numeric),
            "{kind}: {said}{}",
            String::from_utf8_lossy(&parsed.stderr)
        );
    }
}

#[test]
fn a_look_that_cannot_be_is_a_usage_error() {
    for (arguments, part) in [
        (&["-o", "x.svg", "--size", "20x20mm"][..], "does not fit 20x20mm with letters of 8 pt: it needs"),
        (&["--size", "85x60mm"], "are the look of svg"),
        (&["-o", "x.html", "--bw"], "are the look of svg"),
        (&["-o", "x.svg", "--size", "85x60"], "in mm or inches"),
    ] {
        let output = divvy(&[&["sim", "../examples/mix.toml", "-p", "rr"], arguments].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(part), "{arguments:?}: {error}");
    }
    let output = divvy(&["paper", "gr3-1", "--bw"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
