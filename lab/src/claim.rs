//! One number (or sequence) of a paper beside the measured one.

use std::fmt;

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
pub(crate) fn number_text(number: f64) -> String {
    let places = match number.abs() {
        _ if number.fract() == 0.0 => 0,
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{number:.places$}")
}

/// A value that a paper prints.
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// A number, or one read off a plot.
    Number(f64),
    /// A sequence.
    Text(String),
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// From the first to the second.
    Between(f64, f64),
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Printed::Number(number) => f.write_str(&number_text(*number)),
            Printed::Text(text) => f.write_str(text),
            Printed::AtMost(most) => write!(f, "<= {}", number_text(*most)),
            Printed::AtLeast(least) => write!(f, ">= {}", number_text(*least)),
            Printed::Between(least, most) => write!(f, "{} to {}", number_text(*least), number_text(*most)),
        }
    }
}

/// The tolerance of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Equal.
    Exact,
    /// In the unit of the number.
    Absolute(f64),
    /// As a part of the paper's number.
    Relative(f64),
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Exact => f.write_str("exact"),
            Tolerance::Absolute(by) => write!(f, "±{by}"),
            Tolerance::Relative(part) => write!(f, "±{}%", number_text(part * 100.0)),
        }
    }
}

impl Tolerance {
    fn of(self, number: f64) -> f64 {
        match self {
            Tolerance::Exact => 0.0,
            Tolerance::Absolute(by) => by,
            Tolerance::Relative(part) => part * number.abs(),
        }
    }
}

/// Whether the measured value agrees with the paper's within the tolerance.
#[must_use]
pub fn meets(measured: &Value, printed: &Printed, tolerance: Tolerance) -> bool {
    match (measured, printed) {
        (Value::Number(is), Printed::Number(p)) => (is - p).abs() <= tolerance.of(*p),
        (Value::Number(is), Printed::AtMost(p)) => *is <= p + tolerance.of(*p),
        (Value::Number(is), Printed::AtLeast(p)) => *is >= p - tolerance.of(*p),
        (Value::Number(is), Printed::Between(a, b)) => {
            *is >= a - tolerance.of(*a) && *is <= b + tolerance.of(*b)
        }
        (Value::Text(is), Printed::Text(p)) => is == p,
        _ => false,
    }
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the tolerance.
    Reproduced,
    /// Not within it.
    NotReproduced,
    /// A policy that it needs is not in this build.
    Missing,
    /// Only the full version can tell: the small one has too few samples.
    NotJudged,
}

impl Verdict {
    /// Whether it counts as a claim that is not met.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Verdict::NotReproduced | Verdict::Missing)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Reproduced => "ok",
            Verdict::NotReproduced => "NOT MET",
            Verdict::Missing => "MISSING",
            Verdict::NotJudged => "full only",
        })
    }
}

/// A claim and its verdict.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The measured quantity, with its unit.
    pub name: String,
    /// The paper's value.
    pub printed: Printed,
    /// The measured value.
    pub measured: Value,
    /// The tolerance of a claim.
    pub tolerance: Tolerance,
    /// The comparison.
    pub verdict: Verdict,
    /// The verdict that its table foresees.
    pub foreseen: bool,
    /// The reason of the verdict, if it needs one.
    pub analysis: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_enough_is_no_nearer_and_no_farther() {
        let is = |x: f64, p: &Printed, t| meets(&Value::Number(x), p, t);
        assert!(is(2.05, &Printed::Number(2.0), Tolerance::Absolute(0.0501)));
        assert!(!is(2.06, &Printed::Number(2.0), Tolerance::Absolute(0.05)));
        assert!(is(-11_961.0, &Printed::Number(-12_067.0), Tolerance::Relative(0.01)));
        assert!(!is(-11_900.0, &Printed::Number(-12_067.0), Tolerance::Relative(0.01)));
        assert!(is(7.0, &Printed::AtMost(7.0), Tolerance::Exact));
        assert!(!is(8.0, &Printed::AtMost(7.0), Tolerance::Exact));
        assert!(!is(6.0, &Printed::AtLeast(7.0), Tolerance::Exact));
        assert!(is(1.3, &Printed::Between(1.0, 1.3), Tolerance::Exact));
        assert!(!is(0.9, &Printed::Between(1.0, 1.3), Tolerance::Exact));
        assert!(!meets(&Value::Missing("x".to_owned()), &Printed::AtMost(7.0), Tolerance::Exact));
        assert!(!meets(&Value::Number(f64::NAN), &Printed::Number(7.0), Tolerance::Relative(0.5)));
    }

    #[test]
    fn numbers_have_four_digits() {
        let texts = [23_592.64, 819.15, 12.345, 2.5, 0.0, -0.344].map(number_text);
        assert_eq!(texts, ["23593", "819.1", "12.35", "2.500", "0", "-0.344"]);
    }
}
