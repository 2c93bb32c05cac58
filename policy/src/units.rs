//! Durations as people write them, in exact nanoseconds.

/// Longest duration and latest moment of a workload: 2^60 ns, 36 years. Sums of several stay within an `i64`.
pub const MAX_NS: u64 = 1 << 60;

/// Nanoseconds per unit, longest first.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Reads a duration such as `75ms`, `1.5s` or `250 us` as nanoseconds, without rounding.
///
/// # Errors
/// A sentence that says what is wrong and what is right: not a number, no unit or an unknown one, finer than a
/// nanosecond, or longer than [`MAX_NS`].
pub fn parse_duration_ns(text: &str) -> Result<u64, String> {
    const EXAMPLES: &str = "write a number and a unit, as in \"75ms\", \"1.5s\", \"250us\", \"20min\"";
    let text = text.trim();
    let number_len = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..number_len], text[number_len..].trim_start());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if number.starts_with('.') || number.ends_with('.') || number.is_empty() || fraction.contains('.') {
        return Err(format!("`{text}` is not a duration: {EXAMPLES}"));
    }
    let Some(&(_, unit_ns)) = UNITS.iter().find(|(name, _)| *name == unit || (*name == "us" && unit == "µs"))
    else {
        let problem =
            if unit.is_empty() { "has no unit".to_owned() } else { format!("has the unknown unit `{unit}`") };
        return Err(format!(
            "`{text}` {problem}: the units are ns, us, ms, s, min, h, as in \"75ms\" or \"1.5s\""
        ));
    };
    let too_long = || format!("`{text}` is too long: the most is 2^60 ns (36 years)");
    let whole_ns = digits(whole).and_then(|w| w.checked_mul(u128::from(unit_ns))).ok_or_else(too_long)?;
    let fraction = fraction.trim_end_matches('0');
    let too_fine = || format!("`{text}` is finer than a nanosecond: leave out some decimals");
    let scale =
        u32::try_from(fraction.len()).ok().and_then(|n| 10_u128.checked_pow(n)).ok_or_else(too_fine)?;
    let scaled = digits(fraction).and_then(|f| f.checked_mul(u128::from(unit_ns))).ok_or_else(too_fine)?;
    if !scaled.is_multiple_of(scale) {
        return Err(too_fine());
    }
    let ns = whole_ns.checked_add(scaled / scale).ok_or_else(too_long)?;
    u64::try_from(ns).ok().filter(|&ns| ns <= MAX_NS).ok_or_else(too_long)
}

/// The value of ASCII digits, 0 of none; `None` if it overflows.
fn digits(text: &str) -> Option<u128> {
    text.bytes().try_fold(0_u128, |n, digit| n.checked_mul(10)?.checked_add(u128::from(digit - b'0')))
}

/// Writes nanoseconds exactly, in the longest unit up to seconds that they reach: `90s`, `1.5ms`, `0s`.
#[must_use]
pub fn show_duration(ns: u64) -> String {
    const SECOND: (&str, u64) = ("s", 1_000_000_000);
    let unit = UNITS.into_iter().find(|&(_, unit_ns)| unit_ns <= SECOND.1.min(ns));
    let (unit, unit_ns) = unit.unwrap_or(SECOND);
    let fraction = match ns % unit_ns {
        0 => String::new(),
        rest => {
            let places = unit_ns.ilog10() as usize;
            format!(".{}", format!("{rest:0places$}").trim_end_matches('0'))
        }
    };
    format!("{}{fraction}{unit}", ns / unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_values() {
        for (text, ns) in [
            ("0s", 0),
            ("1ns", 1),
            ("75ms", 75_000_000),
            ("1.5s", 1_500_000_000),
            ("0.1us", 100),
            ("250 us", 250_000),
            ("3µs", 3_000),
            ("20min", 1_200_000_000_000),
            ("1.000000001s", 1_000_000_001),
            ("0.300000000000000000s", 300_000_000),
            ("0.5min", 30_000_000_000),
            ("0.00000000025h", 900),
            ("1152921504606846976ns", MAX_NS),
            (" 2h ", 7_200_000_000_000),
        ] {
            assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn refusals_say_why() {
        for (text, part) in [
            ("", "as in"),
            ("75", "has no unit"),
            ("ms", "is not a duration"),
            (".5s", "is not a duration"),
            ("5.s", "is not a duration"),
            ("1.2.3s", "is not a duration"),
            ("-1s", "is not a duration"),
            ("1e3s", "unknown unit"),
            ("7 days", "unknown unit `days`"),
            ("0.5ns", "finer than a nanosecond"),
            ("1.0000000001s", "finer than a nanosecond"),
            ("1152921504606846977ns", "too long"),
            ("99999999999999999999999999999999999999999999h", "too long"),
            ("0.00000000000000000000000000000000000000000000001h", "finer"),
        ] {
            let message = parse_duration_ns(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn shown_durations_read_back() {
        for (ns, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_001, "1.001us"),
            (1_500_000, "1.5ms"),
            (90_000_000_000, "90s"),
            (3_600_000_000_000, "3600s"),
            (MAX_NS, "1152921504.606846976s"),
        ] {
            assert_eq!(show_duration(ns), text);
            assert_eq!(parse_duration_ns(text), Ok(ns));
        }
    }
}
