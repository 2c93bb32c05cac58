//! Pictures beside numbers: bars of shares, with a mark where they should end, and histograms.

use divvy_results::text;

/// A picture beside a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// As wide as there is room.
    Bar(Bar),
    /// A histogram in block characters, the same width in every row.
    Histogram(String),
}

/// A share and what it should be, as parts of the whole bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// How long it is, from 0 to 1.
    pub length: f64,
    /// Where the mark is, from 0 to 1.
    pub mark: f64,
}

/// The legend under a table with bars.
pub const BARS_MEANING: &str = "bars: CPU time; the mark is what the task was entitled to";

/// A wider bar shows no more.
const WIDEST: usize = 16;
/// A narrower bar shows nothing.
const NARROWEST: usize = 6;

/// Heights of a histogram in block characters; the lowest is visible.
pub const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same levels in ASCII.
const ASCII_LEVELS: [char; 8] = ['.', ':', '-', '=', '+', '*', '#', '@'];

impl Picture {
    /// The width of each of `count` such pictures in the room that is left, with a space beside it; 0 if the room is too
    /// small.
    pub fn width(&self, room: usize, count: usize) -> usize {
        match self {
            Picture::Bar(_) => Bar::width(room, count),
            Picture::Histogram(drawn) => {
                let width = text::width(drawn);
                if (width + 1) * count <= room { width } else { 0 }
            }
        }
    }

    /// Draws in ASCII unless the output is a terminal.
    pub fn draw(&self, width: usize, styled: bool) -> String {
        match self {
            Picture::Bar(bar) => bar.draw(width, styled),
            Picture::Histogram(drawn) => histogram(drawn, styled),
        }
    }
}

impl Bar {
    /// The width of each of `count` bars in the room that is left, with a space beside it; 0 if the room is too small.
    pub fn width(room: usize, count: usize) -> usize {
        let width = room.checked_div(count).unwrap_or(0).saturating_sub(1).min(WIDEST);
        if width < NARROWEST { 0 } else { width }
    }

    /// Draws in ASCII unless the output is a terminal.
    pub fn draw(self, width: usize, styled: bool) -> String {
        let (full, mark, mark_inside) = if styled { ('━', '╷', '┿') } else { ('=', '|', '|') };
        let cell = |part: f64| (part.clamp(0.0, 1.0) * width as f64).round() as usize;
        let (length, marked) = (cell(self.length), cell(self.mark).clamp(1, width) - 1);
        let character = |index: usize| match (index == marked, index < length) {
            (true, true) => mark_inside,
            (true, false) => mark,
            (false, true) => full,
            (false, false) => ' ',
        };
        (0..width).map(character).collect()
    }
}

/// A histogram in block characters, in ASCII unless the output is a terminal.
pub fn histogram(drawn: &str, styled: bool) -> String {
    let plain = |c: char| LEVELS.iter().position(|level| *level == c).map_or(c, |level| ASCII_LEVELS[level]);
    if styled { drawn.to_owned() } else { drawn.chars().map(plain).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_where_the_bar_should_end() {
        let draw = |length, mark| Bar { length, mark }.draw(8, false);
        assert_eq!(draw(1.0, 0.5), "===|====");
        assert_eq!(draw(0.25, 1.0), "==     |");
        assert_eq!(draw(0.5, 0.5), "===|    ");
        assert_eq!(draw(0.0, 0.0), "|       ");
        assert_eq!(draw(f64::NAN, 9.0), "       |");
    }

    #[test]
    fn no_bar_is_too_narrow_to_see() {
        let width = Bar::width;
        assert_eq!([width(0, 3), width(20, 3), width(21, 3), width(500, 3), width(9, 0)], [0, 0, 6, 16, 0]);
    }

    #[test]
    fn a_histogram_has_its_own_width_or_none() {
        let picture = Picture::Histogram(" ▁█".to_owned());
        assert_eq!([picture.width(8, 2), picture.width(7, 2)], [3, 0]);
        assert_eq!((picture.draw(3, false), picture.draw(3, true)), (" .@".to_owned(), " ▁█".to_owned()));
    }
}
