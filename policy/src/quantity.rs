//! Times, ratios and counts as people write them, to and from the raw integers that policies take.
//!
//! Everything here is exact integer arithmetic: `0.4` is the same raw ratio on every machine, and
//! what [`format()`] prints, [`parse`] reads back to the same raw value.

use crate::units::{parse_duration_ns, show_duration};
use crate::{ParamKind, RATIO_INF, RATIO_ONE};

/// More digits than this are a mistake or an attack: 2^63 nanoseconds have 19.
const MAX_DIGITS: usize = 24;

/// Why a text is not the quantity that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a decimal number at all.
    #[error("expected {0}")]
    Malformed(&'static str),
    /// No time, in the words of [`parse_duration_ns`].
    #[error("{0}")]
    Time(String),
    /// Does not fit 64 bits.
    #[error("too large")]
    TooLarge,
}

/// Reads a value of the given kind as its raw integer.
///
/// # Errors
/// When the text is not of that kind, too fine or too large; the range of a parameter is the caller's to check.
pub fn parse(kind: ParamKind, text: &str) -> Result<i64, QuantityError> {
    match kind {
        ParamKind::Time => parse_time_ns(text),
        ParamKind::Ratio => parse_ratio(text),
        ParamKind::Integer => text.parse().map_err(|_| QuantityError::Malformed("a whole number, as in `4`")),
        ParamKind::Switch => match text {
            "on" | "true" | "yes" | "1" => Ok(1),
            "off" | "false" | "no" | "0" => Ok(0),
            _ => Err(QuantityError::Malformed("`on` or `off`")),
        },
    }
}

/// Prints a raw value so that [`parse`] reads the same one back.
#[must_use]
pub fn format(kind: ParamKind, raw: i64) -> String {
    match kind {
        ParamKind::Time => format_time_ns(raw),
        ParamKind::Ratio => format_ratio(raw),
        ParamKind::Integer => raw.to_string(),
        ParamKind::Switch => (if raw == 0 { "off" } else { "on" }).to_owned(),
    }
}

/// Reads a time such as `2ms`, `-1.5s` or a bare `0` in nanoseconds, exactly.
///
/// # Errors
/// When what follows the sign is no duration: see [`parse_duration_ns`].
pub fn parse_time_ns(text: &str) -> Result<i64, QuantityError> {
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, text),
    };
    if size == "0" {
        return Ok(0);
    }
    let ns = parse_duration_ns(size).map_err(QuantityError::Time)?;
    i64::try_from(ns).map(|ns| sign * ns).map_err(|_| QuantityError::TooLarge)
}

/// The negative ratio next to 0, written `-0`: a limit from below.
const MINUS_ZERO: i64 = -1;

/// Reads a decimal ratio such as `0.4`, `-3`, `inf` or `-inf` as its nearest raw value. `-0` is the negative one
/// next to 0.
///
/// # Errors
/// When it is not a decimal, or its raw value does not fit 64 bits.
pub fn parse_ratio(text: &str) -> Result<i64, QuantityError> {
    match text {
        "inf" | "+inf" => return Ok(RATIO_INF),
        "-inf" => return Ok(-RATIO_INF),
        "-0" => return Ok(MINUS_ZERO),
        _ => {}
    }
    let number =
        Decimal::parse(text).ok_or(QuantityError::Malformed("a decimal number or `inf`, as in `0.5`"))?;
    let scaled = number.digits.checked_mul(i128::from(RATIO_ONE)).ok_or(QuantityError::TooLarge)?;
    match i64::try_from(divide_to_nearest(scaled, number.divisor)) {
        Ok(raw) if raw.unsigned_abs() < RATIO_INF.unsigned_abs() => Ok(raw),
        _ => Err(QuantityError::TooLarge),
    }
}

/// Prints nanoseconds as [`show_duration`] does, with a sign: `1.5ms`, `-20us`, `0s`.
#[must_use]
pub fn format_time_ns(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", show_duration(ns.unsigned_abs()))
}

/// Prints the shortest decimal whose nearest raw value this is.
fn format_ratio(raw: i64) -> String {
    const MINUS_INF: i64 = -RATIO_INF;
    match raw {
        RATIO_INF => return "inf".to_owned(),
        ..=MINUS_INF => return "-inf".to_owned(),
        MINUS_ZERO => return "-0".to_owned(),
        _ => {}
    }
    let size = i128::from(raw).abs();
    let one = i128::from(RATIO_ONE);
    // Neighbouring raw values lie 1.5e-5 apart, so five places always tell them apart.
    for places in 0..5 {
        let text = decimal_text(raw < 0, divide_to_nearest(size * 10_i128.pow(places), one), places);
        if parse_ratio(&text) == Ok(raw) {
            return text;
        }
    }
    decimal_text(raw < 0, divide_to_nearest(size * 100_000, one), 5)
}

/// `digits` / 10^`places` in decimal.
fn decimal_text(negative: bool, digits: i128, places: u32) -> String {
    let unit = 10_i128.pow(places);
    let sign = if negative { "-" } else { "" };
    let whole = digits / unit;
    match places {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{:0width$}", digits % unit, width = places as usize),
    }
}

/// `a / b` for `b > 0`, rounded to nearest, halves away from zero.
fn divide_to_nearest(a: i128, b: i128) -> i128 {
    let (quotient, rest) = (a / b, a % b);
    if rest.abs() >= b - rest.abs() { quotient + rest.signum() } else { quotient }
}

/// `digits / divisor`, exactly as written.
struct Decimal {
    digits: i128,
    divisor: i128,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let size: i128 = digits.parse().ok()?;
        Some(Self {
            digits: if negative { -size } else { size },
            divisor: 10_i128.pow(u32::try_from(fraction.len()).ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_have_a_sign_and_zero_needs_no_unit() {
        for (text, ns) in [("1.5us", 1_500), ("-3ms", -3_000_000), ("0", 0), ("-0", 0)] {
            assert_eq!(parse_time_ns(text), Ok(ns), "{text}");
        }
        for text in ["2", "--2s", "", "-"] {
            assert!(matches!(parse_time_ns(text), Err(QuantityError::Time(_))), "{text}");
        }
    }

    #[test]
    fn ratios_round_to_the_nearest_raw_value() {
        for (text, raw) in [
            ("1", 65_536),
            ("0.5", 32_768),
            ("-3", -196_608),
            // 0.4 * 65536 = 26214.4 and 0.1 * 65536 = 6553.6
            ("0.4", 26_214),
            ("0.1", 6_554),
            ("-0.1", -6_554),
            // Half of a raw step goes away from zero.
            ("0.00000762939453125", 1),
            ("-0", -1),
            ("inf", i64::MAX),
            ("-inf", -i64::MAX),
        ] {
            assert_eq!(parse_ratio(text), Ok(raw), "{text}");
        }
        assert_eq!(parse_ratio("140737488355328"), Err(QuantityError::TooLarge));
        assert!(parse_ratio("1e3").is_err());
        assert!(parse_ratio("nan").is_err());
    }

    #[test]
    fn prints_as_people_write() {
        assert_eq!(format_time_ns(1_500_000), "1.5ms");
        assert_eq!(format_time_ns(-20_000), "-20us");
        assert_eq!(format_time_ns(0), "0s");
        assert_eq!(format_time_ns(90_000_000_000), "90s");
        assert_eq!(format_time_ns(i64::MIN), "-9223372036.854775808s");
        assert_eq!(format_ratio(26_214), "0.4");
        assert_eq!(format_ratio(-196_608), "-3");
        assert_eq!(format_ratio(1), "0.00002");
        assert_eq!(format_ratio(-1), "-0");
        assert_eq!(format(ParamKind::Switch, 1), "on");
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(raw in any::<i64>(), small in -200_000_i64..200_000) {
            for raw in [raw.max(-i64::MAX), small] {
                for kind in [ParamKind::Ratio, ParamKind::Integer] {
                    prop_assert_eq!(parse(kind, &format(kind, raw)), Ok(raw));
                }
            }
            let ns = raw >> 3;
            prop_assert_eq!(parse_time_ns(&format_time_ns(ns)), Ok(ns));
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            for kind in [ParamKind::Time, ParamKind::Ratio, ParamKind::Integer, ParamKind::Switch] {
                let _ = parse(kind, &text);
            }
        }
    }
}
