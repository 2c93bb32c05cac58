//! Shares as bars: how long they are, and a mark where they should end.

use crate::view::table::Bar;

/// The legend under a table with bars.
pub const MEANING: &str = "bars: CPU time; the mark is what the task was entitled to";

/// A wider bar shows no more.
const WIDEST: usize = 16;
/// A narrower bar shows nothing.
const NARROWEST: usize = 6;

/// The width of each bar in the room that is left, with a space beside it; 0 if the room is too small.
pub fn width(room: usize, bars: usize) -> usize {
    let width = room.checked_div(bars).unwrap_or(0).saturating_sub(1).min(WIDEST);
    if width < NARROWEST { 0 } else { width }
}

/// Draws in ASCII unless the output is a terminal.
pub fn draw(bar: Bar, width: usize, styled: bool) -> String {
    let (full, mark, mark_inside) = if styled { ('━', '╷', '┿') } else { ('=', '|', '|') };
    let cell = |part: f64| (part.clamp(0.0, 1.0) * width as f64).round() as usize;
    let (length, marked) = (cell(bar.length), cell(bar.mark).clamp(1, width) - 1);
    let character = |index: usize| match (index == marked, index < length) {
        (true, true) => mark_inside,
        (true, false) => mark,
        (false, true) => full,
        (false, false) => ' ',
    };
    (0..width).map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_where_the_bar_should_end() {
        let draw = |length, mark| draw(Bar { length, mark }, 8, false);
        assert_eq!(draw(1.0, 0.5), "===|====");
        assert_eq!(draw(0.25, 1.0), "==     |");
        assert_eq!(draw(0.5, 0.5), "===|    ");
        assert_eq!(draw(0.0, 0.0), "|       ");
        assert_eq!(draw(f64::NAN, 9.0), "       |");
    }

    #[test]
    fn no_bar_is_too_narrow_to_see() {
        assert_eq!([width(0, 3), width(20, 3), width(21, 3), width(500, 3), width(9, 0)], [0, 0, 6, 16, 0]);
    }
}
