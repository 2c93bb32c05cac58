//! Measured values, and what is known of how they vary.

use std::fmt;

use divvy_pages::plot::Point;
use divvy_results::stats::{ConfidenceInterval, interval95};

/// A measured value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// In the unit that the claim's name says.
    Number(f64),
    /// A sequence, as in `C1 C1 C2`.
    Text(String),
    /// It could not be measured: this policy or modifier is not in this build.
    Missing(String),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => f.write_str(&number_text(*number)),
            Value::Text(text) => f.write_str(text),
            Value::Missing(policy) => write!(f, "no policy {policy}"),
        }
    }
}

/// A number with four significant digits; a large one is whole.
#[must_use]
pub fn number_text(number: f64) -> String {
    let places = match number.abs() {
        _ if number.fract() == 0.0 => 0,
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{number:.places$}")
}

/// Half of an interval: a small one has a digit all the same.
fn half_width_text(half: f64) -> String {
    match half {
        half if half <= 0.0 || half >= 1e-3 => number_text(half),
        half if half >= 1e-5 => format!("{half:.*}", -half.log10().floor() as usize),
        half => format!("{half:.0e}"),
    }
}

/// How a measured number varies when it is measured again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Neither a random number nor a clock is in it: it is the same each time. A test compares two seeds.
    Deterministic,
    /// It lies between these with 95 % confidence.
    Interval {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// It varies, and was measured once: nothing follows from it.
    Once,
}

/// A value, and how it varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The value.
    pub value: Value,
    /// Its variation.
    pub spread: Spread,
}

impl<T: Into<Value>> From<T> for Measured {
    fn from(value: T) -> Self {
        Measured { value: value.into(), spread: Spread::Deterministic }
    }
}

impl From<ConfidenceInterval> for Measured {
    fn from(ConfidenceInterval { mean, half_width }: ConfidenceInterval) -> Self {
        Measured::between(mean, mean - half_width, mean + half_width)
    }
}

impl Measured {
    /// A number with its 95 % interval.
    pub(crate) fn between(value: f64, low: f64, high: f64) -> Measured {
        let spread =
            if low.is_finite() && high.is_finite() { Spread::Interval { low, high } } else { Spread::Once };
        Measured { value: Value::Number(value), spread }
    }

    /// The mean of repetitions, with its interval.
    pub(crate) fn mean(values: &[f64]) -> Measured {
        let once = || ConfidenceInterval {
            mean: values.first().copied().unwrap_or(f64::NAN),
            half_width: f64::INFINITY,
        };
        interval95(values).unwrap_or_else(once).into()
    }

    /// As a point of a curve.
    pub(crate) fn at(&self, x: f64) -> Point {
        let Value::Number(y) = self.value else { return Point { x, y: f64::NAN, interval: None } };
        let interval = match self.spread {
            Spread::Interval { low, high } => Some((low, high)),
            Spread::Deterministic | Spread::Once => None,
        };
        Point { x, y, interval }
    }

    /// The number; a sequence is none.
    pub(crate) fn number(&self) -> f64 {
        if let Value::Number(number) = self.value { number } else { f64::NAN }
    }

    /// The least and the greatest number that it may be.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        let Value::Number(number) = self.value else { return None };
        Some(match self.spread {
            Spread::Deterministic => (number, number),
            Spread::Interval { low, high } => (low, high),
            Spread::Once => (f64::NEG_INFINITY, f64::INFINITY),
        })
    }
}

/// One interval for each unit of another, of values that are independent and above 0 (Gauss's rule of relative errors).
pub(crate) fn ratio(a: ConfidenceInterval, b: ConfidenceInterval) -> ConfidenceInterval {
    let mean = a.mean / b.mean;
    let part = |of: ConfidenceInterval| of.half_width / of.mean;
    ConfidenceInterval { mean, half_width: (mean * part(a).hypot(part(b))).abs() }
}

/// The difference of two independent values.
pub(crate) fn difference(a: ConfidenceInterval, b: ConfidenceInterval) -> ConfidenceInterval {
    ConfidenceInterval { mean: a.mean - b.mean, half_width: a.half_width.hypot(b.half_width) }
}

/// As in `53.24 ±90.56`; of a whole interval that is not around the number, `100 (99.9 to 100)`.
impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value)?;
        let Value::Number(number) = self.value else { return Ok(()) };
        match self.spread {
            Spread::Deterministic => Ok(()),
            Spread::Once => f.write_str(" ±?"),
            Spread::Interval { low, high }
                if (high - number - (number - low)).abs() <= 1e-9 * number.abs() =>
            {
                write!(f, " ±{}", half_width_text(high - number))
            }
            Spread::Interval { low, high } => write!(f, " ({} to {})", number_text(low), number_text(high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let texts = [23_592.64, 819.15, 12.345, 2.5, 0.0, -0.344].map(number_text);
        assert_eq!(texts, ["23593", "819.1", "12.35", "2.500", "0", "-0.344"]);
    }

    #[test]
    fn variation_is_shown() {
        let of = |mean, half_width| Measured::from(ConfidenceInterval { mean, half_width }).to_string();
        assert_eq!(of(53.2356, 90.56), "53.24 ±90.56");
        assert_eq!(
            (of(0.995, 0.000_21), of(0.5, 2e-8)),
            ("0.995 ±0.0002".to_owned(), "0.500 ±2e-8".to_owned())
        );
        assert_eq!(of(53.2356, f64::INFINITY), "53.24 ±?");
        assert_eq!(Measured::from(2.5).to_string(), "2.500");
        assert_eq!(Measured::between(100.0, 99.9, 100.0).to_string(), "100 (99.90 to 100)");
        assert_eq!(Measured::mean(&[1.0]).spread, Spread::Once);
    }

    /// 10 ±1 for each of 5 ±1: 2, and relative errors of 10 % and 20 % are 22.4 %.
    #[test]
    fn errors_of_a_ratio_and_a_difference() {
        let of = |mean, half_width| ConfidenceInterval { mean, half_width };
        let of_ratio = ratio(of(10.0, 1.0), of(5.0, 1.0));
        assert!(
            (of_ratio.mean - 2.0).abs() < 1e-12
                && (of_ratio.half_width - 2.0 * 0.05_f64.sqrt()).abs() < 1e-12
        );
        assert_eq!(difference(of(10.0, 3.0), of(5.0, 4.0)), of(5.0, 5.0));
    }
}
