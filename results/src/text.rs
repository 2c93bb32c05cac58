//! Text from outside, made safe to print; and numbers, made short.

use unicode_width::UnicodeWidthStr;

/// Names longer than this are cut before anything else looks at them.
const LONGEST_NAME: usize = 256;

/// The name on one line, with nothing in it that a terminal would obey: control characters,
/// line separators and invisible formatting (which can reverse or hide text) are escaped.
pub fn escape(name: &str) -> String {
    let mut safe = String::with_capacity(name.len().min(LONGEST_NAME));
    for (index, c) in name.chars().enumerate() {
        if index == LONGEST_NAME {
            safe.push('…');
            break;
        }
        if is_obeyed(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// `2 CPUs`
pub fn cpus(count: u32) -> String {
    format!("{count} CPU{}", if count == 1 { "" } else { "s" })
}

/// Whether a terminal would do something else than show it.
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// Line separators, zero-width characters, and direction marks.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Columns that the text takes on a terminal.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text, cut with `…` if it is wider than `columns`.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if width(&cut) + 1 > columns {
            cut.pop();
            break;
        }
    }
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// The words of `text` on lines of at most `columns`; the first keeps its indentation, the others get `indent`.
pub fn wrap(text: &str, columns: usize, indent: usize) -> String {
    let words = text.trim_start_matches(' ');
    let mut used = text.len() - words.len();
    let mut lines = " ".repeat(used);
    for (index, word) in words.split(' ').enumerate() {
        let wide = width(word);
        if index > 0 && used + 1 + wide > columns {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            used = indent;
        } else if index > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += wide;
    }
    lines
}

/// A policy's spec as lines of a head: broken before `:` and `+` where it is wide, a part that is wider still is cut.
pub fn spec_lines(spec: &str) -> Vec<String> {
    const COLUMNS: usize = 16;
    let mut lines = vec![String::new()];
    let mut rest = spec;
    while !rest.is_empty() {
        let next = rest.char_indices().skip(1).find(|(_, c)| matches!(c, ':' | '+'));
        let end = next.map_or(rest.len(), |(at, _)| at);
        let part = fit(&rest[..end], COLUMNS);
        match lines.last_mut() {
            Some(line) if line.is_empty() || width(line) + width(&part) <= COLUMNS => line.push_str(&part),
            _ => lines.push(part),
        }
        rest = &rest[end..];
    }
    lines
}

/// A time with three digits and its unit: `4.00ms`, `-12.5us`, `0`.
pub fn time(ns: f64) -> String {
    const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    if ns == 0.0 {
        return "0".to_owned();
    }
    let (unit, unit_ns) =
        UNITS.into_iter().find(|(_, unit_ns)| ns.abs() / unit_ns < 999.5).unwrap_or(UNITS[3]);
    let value = ns / unit_ns;
    if unit == "ns" && value.fract() == 0.0 {
        return format!("{value}ns");
    }
    format!("{}{unit}", three_digits(value))
}

/// A count: whole up to 9999, then `12.3k`, `4.56M`.
pub fn count(n: f64) -> String {
    if n.abs() < 9999.5 {
        return format!("{n:.0}");
    }
    let scales = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
    let (suffix, scale) = scales.into_iter().find(|(_, scale)| n.abs() / scale < 999.5).unwrap_or(scales[3]);
    format!("{}{suffix}", three_digits(n / scale))
}

/// A share of one as a percentage with `places` decimals.
pub fn percent(share: f64, places: usize) -> String {
    format!("{:.places$}%", share * 100.0)
}

/// Half of an interval, as a share of its middle, in percent with one place. A width that is not 0 never prints as `0.0%`.
pub fn half_width(share: f64) -> String {
    if share > 0.0 && share < 0.0005 { "<0.1%".to_owned() } else { percent(share, 1) }
}

/// An index that is at most 1, cut (not rounded) to four decimals: only a perfect one prints as `1`.
pub fn index(value: f64) -> String {
    if value >= 1.0 {
        return "1".to_owned();
    }
    format!("{:.4}", (value * 1e4).floor() / 1e4)
}

/// A weight or another plain number: whole when it is, else three digits.
pub fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { three_digits(value) }
}

fn three_digits(value: f64) -> String {
    let size = value.abs();
    let places = match size {
        _ if size < 9.995 => 2,
        _ if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_with_a_width_never_prints_as_zero() {
        assert_eq!([0.0, 0.000_01, 0.000_6, 0.077].map(half_width), ["0.0%", "<0.1%", "0.1%", "7.7%"]);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        assert_eq!(escape("a\nb\t\x1b[2J"), "a\\nb\\t\\u{1b}[2J");
        assert_eq!(escape("evil\u{202e}txt"), "evil\\u{202e}txt");
        assert_eq!(escape("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(escape("日本語 ok"), "日本語 ok");
        assert!(escape(&"x".repeat(1_000_000)).len() < 300);
    }

    #[test]
    fn wide_characters_are_cut_by_columns_not_characters() {
        assert_eq!(fit("日本語テスト", 12), "日本語テスト");
        assert_eq!(fit("日本語テスト", 7), "日本語…");
        assert_eq!(fit("日本語テスト", 6), "日本…");
        assert_eq!(fit("abc", 2), "a…");
        assert_eq!(fit("abc", 0), "");
        for columns in 0..14 {
            assert!(width(&fit("a日b本c語de\u{301}f", columns)) <= columns);
        }
    }

    #[test]
    fn numbers_keep_three_digits() {
        for (ns, text) in [
            (0.0, "0"),
            (7.0, "7ns"),
            (7.25, "7.25ns"),
            (999.0, "999ns"),
            (999.6, "1.00us"),
            (4_000_000.0, "4.00ms"),
            (-12_500.0, "-12.5us"),
            (999_950_000.0, "1.00s"),
            (90e9, "90.0s"),
            (5_000e9, "5000s"),
        ] {
            assert_eq!(time(ns), text);
        }
        assert_eq!(count(9999.0), "9999");
        assert_eq!(count(12_345.0), "12.3k");
        assert_eq!(count(4.56e6), "4.56M");
        assert_eq!(index(0.99999), "0.9999");
        assert_eq!(index(1.0), "1");
        assert_eq!(percent(0.33333, 2), "33.33%");
        assert_eq!(plain(1024.0), "1024");
        assert_eq!(plain(0.5), "0.50");
    }

    #[test]
    fn specs_break_before_their_parts() {
        assert_eq!(spec_lines("gr3"), ["gr3"]);
        assert_eq!(spec_lines("pbs:alpha=2"), ["pbs:alpha=2"]);
        assert_eq!(
            spec_lines("pbs:quantum=1.234567891ms:alpha=2+procfair"),
            ["pbs", ":quantum=1.2345…", ":alpha=2", "+procfair"]
        );
        assert_eq!(spec_lines("日本語日本語日本語:x"), ["日本語日本語日…", ":x"]);
    }

    #[test]
    fn wraps_at_words() {
        assert_eq!(wrap("C1 C1 C2 C1 C3", 8, 2), "C1 C1 C2\n  C1 C3");
        assert_eq!(wrap("verylongword x", 4, 2), "verylongword\n  x");
        assert_eq!(wrap("  a b c", 5, 4), "  a b\n    c");
    }
}
